package report

import (
	"slices"
	"testing"

	"github.com/linkwright/linkwright/object/reason"
)

// Every word that a row shows as its status is explained.
func TestWords(t *testing.T) {
	known := append(reason.All(), Words()...)
	for _, s := range append(Statuses(), ClusterStatuses()...) {
		if n := len(slices.DeleteFunc(slices.Clone(known), func(e reason.Entry) bool { return e.Code != reason.Code(s) })); n != 1 {
			t.Errorf("%d explanations of status %s", n, s)
		}
	}
}
