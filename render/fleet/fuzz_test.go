package fleet

import (
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// Load is total and deterministic: any text gives a fleet or an error, never both, never a panic, the same one twice,
// and every problem of a file has a line in it.
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
			if p.Message == "" || p.Code == "" && (p.Pos.Line < 1 || p.Pos.Line > lines(data)+1) {
				t.Errorf("problem %+v has no message or no place in %d lines", p, lines(data))
			}
		}
		if diff := cmp.Diff(summary(fleet, problems), summary(Load("", tree))); diff != "" {
			t.Errorf("second Load: -first +second\n%s", diff)
		}
	})
}
