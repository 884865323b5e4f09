package fleet

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/linkwright/linkwright/api"
)

// Load is total and deterministic: any text gives a fleet or an error, never both, never a panic, the same one twice,
// every problem of a file has a line in it, and every warning a code of the rules.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			f.Add(part.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree := fstest.MapFS{"a.yaml": {Data: data}}
		fleet, problems := Load("", tree)
		if fleet == nil != slices.ContainsFunc(problems, isError) {
			t.Errorf("fleet %v with problems %v", fleet, problems)
		}
		for _, p := range problems {
			checkProblem(t, p, lines(data))
		}
		if diff := cmp.Diff(summary(fleet, problems), summary(Load("", tree))); diff != "" {
			t.Errorf("second Load: -first +second\n%s", diff)
		}
	})
}

func checkProblem(t *testing.T, p api.Problem, lines int) {
	t.Helper()
	if strings.HasPrefix(p.Message, "and ") { // how many are not told
		return
	}
	noPlace := p.Code == EmptyTree || p.Code == NoCluster
	if p.Message == "" || !noPlace && (p.Pos.Line < 1 || p.Pos.Line > lines+1) {
		t.Errorf("problem %+v has no message or no place in %d lines", p, lines)
	}
	if p.Warning != slices.ContainsFunc(Rules(), func(r Rule) bool { return r.Code == p.Code }) {
		t.Errorf("problem %+v: a warning has a code of the rules, and nothing else has", p)
	}
}
