package report

import (
	"slices"
	"testing"

	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

// Every word that a row shows as its status is explained.
func TestWords(t *testing.T) {
	known := append(reason.All(), Words()...)
	for _, s := range slices.Concat(Statuses(), ClusterStatuses(), []Status{output.Applied, output.Observed, output.Superseded}) {
		if n := len(slices.DeleteFunc(slices.Clone(known), func(e reason.Entry) bool { return e.Code != reason.Code(s) })); n != 1 {
			t.Errorf("%d explanations of status %s", n, s)
		}
	}
}
