package prune

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// A release takes every mark of ours off, and says whose the object is from then on, where it is somebody's.
func TestRelease(t *testing.T) {
	k := object.Key{Group: "apps", Kind: "Deployment", Namespace: "mc", Name: "controller-east"}
	was := object.Record{UID: "u", ResourceVersion: "7", Mark: object.Ours}
	for _, tt := range []struct {
		name string
		to   linkerd.Helm
		want string
	}{
		{"nobody's", linkerd.Helm{}, `{"metadata":{` +
			`"labels":{"linkwright.dev/owner":null,"velero.io/exclude-from-backup":null},` +
			`"annotations":{"linkwright.dev/digest":null,"linkwright.dev/prune":null},"managedFields":[{}]}}`},
		{"Helm's", linkerd.Helm{Name: "mc", Namespace: "ops"}, `{"metadata":{` +
			`"labels":{"app.kubernetes.io/managed-by":"Helm","linkwright.dev/owner":null,"velero.io/exclude-from-backup":null},` +
			`"annotations":{"helm.sh/resource-policy":null,"linkwright.dev/digest":null,"linkwright.dev/prune":null,` +
			`"meta.helm.sh/release-name":"mc","meta.helm.sh/release-namespace":"ops"},"managedFields":[{}]}}`},
	} {
		c := Release(object.Change{Action: object.Delete, Key: k, Was: was}, tt.to)
		if got := string(c.Object.Body.Bytes()); got != tt.want {
			t.Errorf("%s: %s", tt.name, cmp.Diff(tt.want, got))
		}
		if c.Action != object.Release || !c.Fenced || c.Was != was || c.Object.Key != k || c.Takes() {
			t.Errorf("%s: got %+v", tt.name, c)
		}
	}
}
