package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/report"
)

// TestDescribeUnread: if no revision could be compared and no cluster could be read, describe says both, and the exit code is that of the first.
func TestDescribeUnread(t *testing.T) {
	o := report.Overview{Clusters: []report.RecordedCluster{{Name: "east", Why: object.Because(reason.Timeout, "")}}}
	d := described{overview: func(report.Overview, string) (report.Answer, bool) { return report.Answer{}, false }}
	for failed, want := range map[error]int{
		sync.ErrInterrupted:                         cli.ExitPartial,
		errors.New("the repository cannot be read"): cli.ExitError,
	} {
		err := d.showLastKnown(o, describeLinkCommand(), "west/east", report.Text, verdictOn(o, report.Report{}, failed))
		exit, ok := errors.AsType[cli.Exit](err)
		if !ok || exit.Code != want || !strings.Contains(exit.Err.Error(), failed.Error()) || !strings.Contains(exit.Err.Error(), "cluster east could not be read") {
			t.Errorf("exit code %d, %v; want %d, %v and that east could not be read", exit.Code, err, want, failed)
		}
	}
}
