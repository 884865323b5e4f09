package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// TestSchemasAreCurrent: what docs/schema holds of declarations is what the program writes, no more and no less.
func TestSchemasAreCurrent(t *testing.T) {
	dir := t.TempDir()
	var stderr bytes.Buffer
	if code := run(t.Context(), []string{"schema", "--write", dir}, &stderr, &stderr); code != cli.ExitDone {
		t.Fatalf("schema --write: exit code %d: %s", code, &stderr)
	}
	want, got := contents(t, filepath.Join(dir, "*.json")), contents(t, "../../docs/schema/*.json")
	if len(want) != 7 {
		t.Errorf("schema --write wrote %d files", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/schema is not current; make generate writes it: -want +got\n%s", diff)
	}
}

func contents(t *testing.T, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = string(b)
	}
	return out
}

// The fields below a field are listed with their defaults.
func TestExplainShowsDefaults(t *testing.T) {
	var out, stderr bytes.Buffer
	code := run(t.Context(), []string{"explain", "SyncPolicy.spec.prune"}, &out, &stderr)
	for _, want := range []string{"maxClusters", ", default 1 ", ", default 30% ", ", default 50% "} {
		if code != cli.ExitDone || !strings.Contains(out.String(), want) {
			t.Errorf("exit code %d, no %q:\n%s%s", code, want, &out, &stderr)
		}
	}
}

func TestUnknownWordsAreWrongUsage(t *testing.T) {
	for _, tt := range []struct{ line, says string }{
		{"schema clutser", "Cluster"},
		{"schema link --write x", ""},
		{"explain clutser", "did you mean Cluster?"},
		{"explain link.spce", "did you mean spec?"},
		{"explain ", "there is no kind"},
		{"explain Foo", `there is no kind, reason or status "Foo": use one of Cluster, Link, Mesh, ProxyConfig, SyncPolicy, or a reason or status that an output shows`},
		{"explain Observd", "did you mean Observed?"},
	} {
		var out, stderr bytes.Buffer
		args := strings.Split(tt.line, " ")
		if code := run(t.Context(), args, &out, &stderr); code != cli.ExitUsage || out.Len() > 0 || stderr.Len() == 0 || !strings.Contains(stderr.String(), tt.says) {
			t.Errorf("run(%q): exit code %d, want %d: %s%s", args, code, cli.ExitUsage, &out, &stderr)
		}
	}
}
