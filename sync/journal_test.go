package sync

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"unique"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/report"
)

// That values of somebody's are taken back is told once, and again when they are another's.
func TestTakeoverIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	j := journal{log: slog.New(slog.NewTextHandler(&out, nil))}
	taken := func(rivals string) report.Report {
		c := write(at("east"), "probe", 1)
		c.Why = object.Reason{Code: "Drift", Message: "changed"}
		c.Was = object.Record{UID: "1", Rivals: unique.Make(rivals)}
		return report.Report{Clusters: []report.Cluster{{Name: "west", Outcomes: []object.Outcome{{Change: c}}}}}
	}
	for _, rivals := range []string{"argocd", "argocd", "helm", "argocd"} {
		j.tell(taken(rivals), nil)
	}
	if n := strings.Count(out.String(), "taken back"); n != 2 {
		t.Errorf("told %d times, want once of each:\n%s", n, out.String())
	}
}
