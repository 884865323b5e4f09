package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// An interrupted sync says where it left something to do, and which command does it.
func TestResumable(t *testing.T) {
	clusters := func(phases ...plan.Phase) (r report.Report) {
		for i, p := range phases {
			name := api.ClusterName("c" + strconv.Itoa(i))
			r.Clusters = append(r.Clusters, report.Cluster{Name: name, Step: plan.Step{Cluster: name, Rows: []plan.Row{{End: object.End{Cluster: name}, Phase: p}}}})
		}
		return r
	}
	stopped, stop := context.WithCancelCause(t.Context())
	stop(live.Stopped{Signal: os.Interrupt})
	err := unfinished(stopped, context.Canceled, object.Installation{Owner: "blue"})
	if got := err.Error(); got != "interrupted before the end: interrupt signal received; run linkwright sync --repo URL --owner blue again" {
		t.Errorf("before the Lease is taken: %s", got)
	}
	if err := unfinished(t.Context(), sync.ErrInvalid, object.Installation{}); err != sync.ErrInvalid { //nolint:errorlint // it is the same
		t.Errorf("without a signal: %v", err)
	}
	unread := clusters(plan.Ready)
	unread.Clusters = append(unread.Clusters, report.Cluster{Name: "down"})
	for want, r := range map[string]report.Report{
		"; run linkwright sync --repo URL again":                                                    clusters(plan.Ready, plan.Suspended, plan.Blocked),
		"; there may be more to do in c1, c2: run linkwright sync --repo URL again":                 clusters(plan.Ready, plan.Changing, plan.Waiting),
		"; there may be more to do in down: run linkwright sync --repo URL again":                   unread,
		"; there may be more to do in c0, c1, c2, and 1 more: run linkwright sync --repo URL again": clusters(plan.Changing, plan.Changing, plan.Changing, plan.Changing),
	} {
		if got := resumable(sync.ErrInterrupted, r, object.Installation{}); got.Error() != "interrupted before the end"+want || !errors.Is(got, sync.ErrInterrupted) {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}
