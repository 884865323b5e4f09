package notify

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// The record says which revision is applied and which is not, so another process repeats none of it.
func TestRevisionNotices(t *testing.T) {
	one := inventory.Revision{Applied: "1111", Observed: "1111"}
	invalid := inventory.Revision{Applied: "1111", Observed: "2222", Why: object.Because(reason.InvalidDeclarations, "fleet.yaml:1:1: no")}
	other := invalid
	other.Why = object.Because(reason.InvalidDeclarations, "fleet.yaml:2:1: no")
	for name, tt := range map[string]struct {
		was, now inventory.Revision
		want     []string
	}{
		"the first":        {inventory.Revision{}, one, []string{"revision/1111 false Applied: revision/1111 is applied"}},
		"another":          {one, inventory.Revision{Applied: "3333", Observed: "3333"}, []string{"revision/3333 false Applied: revision/3333 is applied, was revision/1111"}},
		"the same":         {one, one, nil},
		"invalid":          {one, invalid, []string{"revision/2222 true InvalidDeclarations: revision/2222 is not applied: fleet.yaml:1:1: no"}},
		"no answer":        {one, inventory.Revision{Applied: "1111", Observed: "1111", Why: object.Because(reason.RepositoryNotRead, "no route")}, []string{" true RepositoryNotRead: the repository cannot be read: no route"}},
		"still invalid":    {invalid, other, nil},
		"taken back":       {invalid, one, []string{"revision/1111 false Applied: revision/1111 is applied and the newest"}},
		"fixed by another": {invalid, inventory.Revision{Applied: "3333", Observed: "3333"}, []string{"revision/3333 false Applied: revision/3333 is applied, was revision/1111"}},
	} {
		var got []string
		for _, n := range revisionNotices(tt.was, tt.now) {
			if _, ok := reason.Find(reason.Code(n.Reason)); !ok {
				t.Errorf("%s: the table has no reason %s", name, n.Reason)
			}
			got = append(got, fmt.Sprintf("%s %t %s: %s", n.Object, n.Warning, n.Reason, n.Message))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// An API server takes 1024 bytes.
func TestNote(t *testing.T) {
	for _, message := range []string{"short", strings.Repeat("a", 2000), "a" + strings.Repeat("→", 700)} {
		got := note(message)
		if len(got) > 1024 || !utf8.ValidString(got) || len(message) < 1000 && got != message {
			t.Errorf("note of %d bytes: %d bytes, %q", len(message), len(got), got[max(0, len(got)-9):])
		}
	}
}
