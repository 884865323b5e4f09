package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report"
)

// TestRolloutShow: the exit code says whether all is current, and a cluster that was not read is an error beside the rows of the others.
func TestRolloutShow(t *testing.T) {
	current := report.Workload{Cluster: "east", Kind: "Deployment", Namespace: "shop", Name: "web", Pods: 1}
	outdated, unknown, bare := current, current, current
	outdated.Name, outdated.Outdated, outdated.Differences = "db", 1, []string{"trust anchors"}
	unknown.Name, unknown.Unknown = "cart", object.Because(reason.Forbidden, "no")
	bare.Kind, bare.Unknown = podKind, object.Because(reason.NotCompared, "bare")
	dead := errors.New("cluster west was not read")
	for name, c := range map[string]struct {
		all    []report.Workload
		unread []error
		flag   bool
		code   int
		rows   string
	}{
		"nothing":                     {code: cli.ExitDone},
		"all current":                 {all: []report.Workload{current}, code: cli.ExitDone},
		"all current, all shown":      {all: []report.Workload{current}, flag: true, code: cli.ExitDone, rows: "Deployment/web"},
		"one outdated":                {all: []report.Workload{current, outdated}, code: cli.ExitPartial, rows: "Deployment/db"},
		"one unknown":                 {all: []report.Workload{current, unknown}, code: cli.ExitPartial, rows: "Deployment/cart"},
		"a bare pod":                  {all: []report.Workload{current, bare}, code: cli.ExitDone, rows: "Pod/web"},
		"one of two clusters is dead": {all: []report.Workload{current, bare}, unread: []error{dead}, code: cli.ExitPartial, rows: "Pod/web"},
		"both are read in part":       {all: []report.Workload{current, bare}, unread: []error{partlyRead{dead}, partlyRead{dead}}, code: cli.ExitPartial, rows: "Pod/web"},
		"all are dead":                {unread: []error{dead, dead}, code: cli.ExitError},
	} {
		c2 := rolloutStatus()
		var out, stderr bytes.Buffer
		c2.SetOut(&out)
		c2.SetErr(&stderr)
		f := rolloutFlags{logins: logins{contexts: []string{"east", "west"}}, all: c.flag}
		f.out.Format = report.Text
		code := cli.ExitDone
		if exit, ok := errors.AsType[cli.Exit](f.show(c2, c.all, c.unread)); ok {
			code = exit.Code
		}
		if shown := out.Len() > 0; code != c.code || shown != (c.rows != "") || !strings.Contains(out.String(), c.rows) {
			t.Errorf("%s: exit code %d, want %d, and %q in:\n%s", name, code, c.code, c.rows, &out)
		}
	}
}
