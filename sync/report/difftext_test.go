package report

import (
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

// A cluster that was not read says nothing about the others: the summary says of both what is known.
func TestDiffSumOfUnread(t *testing.T) {
	unread := clusterDiffDoc{ClusterDiff: output.ClusterDiff{Name: "west", Status: string(Unknown), Reason: object.Because(reason.Unreachable, "no route")}}
	same := clusterDiffDoc{ClusterDiff: output.ClusterDiff{Name: "east", Status: "Ready"}}
	for want, clusters := range map[string][]clusterDiffDoc{
		"no difference": {same},
		"nothing to write in 2 clusters; 1 cluster unknown, so it is not known what is to be written there": {same, same, unread},
		"nothing can be written; 1 cluster unknown, so it is not known what is to be written there":         {unread},
	} {
		if got := (diffDoc{clusters: clusters}).sum(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
