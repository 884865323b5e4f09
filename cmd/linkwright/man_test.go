package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// Every command has a manual page with all of its help and flags, and the pages of one version are the same bytes each time.
func TestManualPages(t *testing.T) {
	var twice [2]map[string]string
	for i := range twice {
		dir := t.TempDir()
		var out bytes.Buffer
		if code := run(t.Context(), []string{"man", "--write", dir}, &out, &out); code != cli.ExitDone {
			t.Fatalf("man --write: exit code %d: %s", code, &out)
		}
		twice[i] = contents(t, filepath.Join(dir, "*"))
		t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	}
	if diff := cmp.Diff(twice[0], twice[1]); diff != "" {
		t.Errorf("the pages of one version differ: -first +second\n%s", diff)
	}
	for _, c := range commands(newRoot()) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page := twice[0][name]
		if c.IsAvailableCommand() && (!strings.Contains(page, `.SH OPTIONS`) || !strings.Contains(page, `" "1" "" "linkwright `) || strings.Contains(page, "1970")) {
			t.Errorf("%s: no page, or one with a date:\n%s", name, page)
		}
	}
	for name, page := range twice[0] {
		if !strings.Contains(page, "$XDG_CONFIG_HOME/") {
			t.Errorf("%s: the text of a flag of all commands is not as it is written:\n%s", name, page)
		}
	}
	if page := twice[0]["linkwright-rbac.1"]; !strings.Contains(page, "<name>-mirrors") {
		t.Errorf("help in angle brackets is lost:\n%s", page)
	}
}

// The page of a command is printed for man(1); an unknown command is wrong usage.
func TestManualPage(t *testing.T) {
	var out, stderr bytes.Buffer
	if code := run(t.Context(), []string{"man", "cluster", "add"}, &out, &stderr); code != cli.ExitDone || !strings.Contains(out.String(), `.TH "LINKWRIGHT-CLUSTER-ADD" "1" ""`) {
		t.Errorf("man cluster add: exit code %d\n%s%s", code, &stderr, &out)
	}
	for _, args := range [][]string{{"man", "clutser"}, {"man", "sync", "--write", "x"}, {"man", "--write", ""}} {
		if code := run(t.Context(), args, &out, &stderr); code != cli.ExitUsage {
			t.Errorf("%q: exit code %d, want %d", args, code, cli.ExitUsage)
		}
	}
}
