package main

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/report/output"
)

// dryRuns runs a command both ways without writing: it says all the words, and no object of the link changes.
func (l *lab) dryRuns(words []string, args ...string) {
	l.t.Helper()
	version := func(o *unstructured.Unstructured) string { return o.GetResourceVersion() }
	before := l.inLink("west")
	for mode, ended := range map[string]string{
		"client": "Nothing was written (client dry run): no write was sent.", "server": "Nothing was written (server dry run): the API servers checked each write.",
	} {
		l.must(cli.ExitDone, append(words, ended), append(args, "--dry-run="+mode)...)
	}
	kind := output.KindDiff
	if args[0] == "rotate" {
		kind = output.KindRotationList
	}
	l.answers(answered{strings.Join(args, " ") + " REPO --dry-run=server", cli.ExitDone, kind})
	l.same(strings.Join(args, " ")+" as a dry run", before, l.inLink("west"), version, "leases", "links")
}

// What a dry run of a sync shows has every format that the flag takes.
func TestDryRunFormats(t *testing.T) {
	for _, as := range append(report.Formats(), "jsonpath={.kind}", "custom-columns=KIND:.kind") {
		var out strings.Builder
		if as == report.JSONPath || as == report.CustomColumns {
			continue // without the argument that it needs
		}
		if err := (difference{}).write(&out, as); err != nil || out.Len() == 0 {
			t.Errorf("-o %s: %v, %q", as, err, out.String())
		}
	}
}

// A dry run fails only by what would make the write fail, too.
func TestHarmless(t *testing.T) {
	for _, tt := range []struct {
		action object.Action
		code   reason.Code
		want   bool
	}{
		{object.Create, reason.NotFound, true},
		{object.Delete, reason.Conflict, true},
		{object.Update, reason.Conflict, false},
		{object.Delete, reason.Forbidden, false},
	} {
		if got := harmless(object.Change{Action: tt.action}, tt.code); got != tt.want {
			t.Errorf("%s, %s: %t", tt.action, tt.code, got)
		}
	}
}
