package sync

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/object"
)

// What may go on by itself is read by name where that is little of its kind, and else listed. What is only ever asked for by name is never listed.
func TestRereadsChangingObjects(t *testing.T) {
	named := object.Watch{Version: "v1", Kind: "Secret", Namespace: "linkerd", Names: []string{"a", "b"}}
	listed := object.Watch{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "mc", Health: true}
	for name, tt := range map[string]struct {
		watch        object.Watch
		there, moved int
		want         []string
	}{
		"few of many":     {listed, 11, 2, []string{"o0", "o1"}},
		"many":            {listed, 10, 2, nil},
		"all there is":    {listed, 1, 1, nil},
		"named, and many": {named, 1, 1, []string{"o0"}},
	} {
		var items []object.Item
		var f writeFold
		for i := range tt.there {
			items = append(items, object.Item{Namespace: tt.watch.Namespace, Name: fmt.Sprintf("o%02d", i), Record: object.Record{UID: "u"}})
		}
		for i := range tt.moved {
			key := object.Key{Group: tt.watch.Group, Kind: tt.watch.Kind, Namespace: tt.watch.Namespace, Name: fmt.Sprintf("o%d", i)}
			f.changing = append(f.changing, changingObject{key, tt.watch})
		}
		want := tt.watch
		want.Names = tt.want
		f.before = object.NewObservation(nil, object.Layer{Group: tt.watch.Group, Kind: tt.watch.Kind, Items: items})
		if diff := cmp.Diff([]object.Watch{want}, f.watchesToReread()); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
