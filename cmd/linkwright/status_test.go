package main

import (
	"errors"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/report"
)

// What a look at the repository adds to what the record remembers: a newer revision, and why it is not applied.
func TestObservedNow(t *testing.T) {
	long := time.Date(2026, 11, 25, 1, 2, 3, 0, time.UTC)
	applied := report.Revision{Applied: "a", Observed: "a", Since: long}
	rejected := report.Revision{Applied: "a", Observed: "b", Since: long, Why: object.Because(reason.InvalidDeclarations, "a.yaml:1:1: x")}
	invalid := report.Report{Head: "b", Problems: []api.Problem{{Pos: api.Pos{File: "a.yaml", Line: 1, Col: 1}, Message: "x"}}}
	tests := []struct {
		name   string
		known  report.Revision
		seen   report.Report
		failed error
		want   string
		since  bool
	}{
		{"applied", applied, report.Report{Head: "a"}, nil, "", false},
		{"newer, and nobody has synced since", applied, report.Report{Head: "b"}, nil, "NotAppliedYet", false},
		{"newer, and invalid", applied, invalid, sync.ErrInvalid, "InvalidDeclarations", false},
		{"known to be invalid", rejected, invalid, sync.ErrInvalid, "InvalidDeclarations", true},
		{"another process does not apply it", rejected, report.Report{Head: "b"}, nil, "InvalidDeclarations", true},
		{"history went back", applied, report.Report{Head: "b"}, sync.DeniedRevision{}, "NonFastForward", false},
		{"no repository", applied, report.Report{}, errors.New("no route"), "RepositoryNotRead", false},
		{"no tree", applied, report.Report{Head: "b"}, errors.New("no route"), "RevisionNotRead", false},
		{"nobody noted anything", report.Revision{}, report.Report{Head: "b"}, nil, "", false},
	}
	for _, tt := range tests {
		if tt.name == "history went back" {
			tt.failed = errors.Join(tt.failed, errors.New("behind"))
		}
		got, code := observedNow(tt.known, tt.seen, tt.failed), ""
		if got.Why != nil {
			code = string(got.Why.Code)
		}
		if code != tt.want || got.Since.Equal(long) != tt.since || tt.seen.Head != "" && tt.known.Applied != "" && got.Observed != tt.seen.Head {
			t.Errorf("%s: %+v %v", tt.name, got, got.Why)
		}
	}
}
