package sync

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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

// What is wrong with the head lasts until a pass says otherwise: what is done meanwhile ends nothing.
func TestTroubleOutlastsWhatIsDoneBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logged := journal{log: slog.New(slog.NewTextHandler(&out, nil))}
		tm := newTerm(&Loop{Owner: "linkwright", Clusters: far{}}, 1)
		tm.open = true
		tm.publish = func(r report.Report, err error) { logged.tell(r, err) }
		pass := report.Report{Commit: "a", Head: "b", Clusters: []report.Cluster{{Name: "west"}}}
		between := func() {
			time.Sleep(2 * every)
			tm.news = true
			tm.tell()
		}
		tm.report(pass, errors.New("the history was rewound"))
		between()
		between()
		tm.report(pass, errors.New("the history was rewound"))
		if got := out.String(); strings.Count(got, "between passes") != 2 || strings.Count(got, "head not in force") != 1 || strings.Contains(got, "msg=over") {
			t.Errorf("while the head is refused:\n%s", got)
		}
		tm.report(pass, nil)
		between()
		if got := out.String(); strings.Count(got, "msg=over") != 1 {
			t.Errorf("once it is not:\n%s", got)
		}
	})
}
