package main

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
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
	l.same(strings.Join(args, " ")+" as a dry run", before, l.inLink("west"), version, "leases", "links")
}
