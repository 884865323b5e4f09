package fleet

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/linkwright/linkwright/api"
)

// Load is total and deterministic: any tree, built by kustomize or not, gives a fleet or an error, never both, never a
// panic, the same one twice, and every problem stands in a file that is there. An input is an archive of files, as the
// goldens are; a text before the first file is a file, too.
func FuzzLoad(f *testing.F) {
	for _, archive := range archives(f) {
		f.Add(txtar.Format(archive))
		for _, part := range archive.Files {
			f.Add(part.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, files := fuzzed(split(data))
		fleet, problems := Load("", tree)
		if fleet == nil != slices.ContainsFunc(problems, isError) {
			t.Errorf("fleet %v with problems %v", fleet, problems)
		}
		for _, p := range problems {
			checkProblem(t, p, files)
		}
		if diff := cmp.Diff(summary(fleet, problems), summary(Load("", tree))); diff != "" {
			t.Errorf("second Load: -first +second\n%s", diff)
		}
	})
}

// split is txtar.Parse for any input: that one panics on a line like "-- --".
func split(data []byte) *txtar.Archive {
	out, text := &txtar.Archive{}, []byte(nil)
	into := &text
	for line := range bytes.Lines(data) {
		name, marked := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("-- "))
		if name, closed := bytes.CutSuffix(name, []byte(" --")); marked && closed {
			out.Files = append(out.Files, txtar.File{Name: string(name)})
			into = &out.Files[len(out.Files)-1].Data
			continue
		}
		*into = append(*into, line...)
	}
	out.Comment = text
	return out
}

func archives(f *testing.F) []*txtar.Archive {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no goldens: %v", err)
	}
	var out []*txtar.Archive
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		archive.Comment = nil
		archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "out" })
		out = append(out, archive)
	}
	return out
}

// fuzzed makes a tree of what can be one: names that no tree has are left out.
func fuzzed(archive *txtar.Archive) (fs.FS, fstest.MapFS) {
	var kept []txtar.File
	for _, f := range append(archive.Files, txtar.File{Name: "comment.yaml", Data: archive.Comment}) {
		other := func(g txtar.File) bool { return within(f.Name, g.Name) || within(g.Name, f.Name) }
		if fs.ValidPath(f.Name) && utf8.ValidString(f.Name) && f.Name != "." && !slices.ContainsFunc(kept, other) {
			kept = append(kept, f)
		}
	}
	tree, _ := treeOf(&txtar.Archive{Files: kept})
	if b, ok := tree.(builtTree); ok {
		return b, b.MapFS
	}
	return tree, tree.(fstest.MapFS)
}

// checkProblem: a problem has words and a place, which is in its file.
func checkProblem(t *testing.T, p api.Problem, files fstest.MapFS) {
	t.Helper()
	const most = 1200 // characters of a message and its hint
	if p.Message == "" || utf8.RuneCountInString(p.Message+p.Hint) > most {
		t.Errorf("problem %+v says nothing, or too much", p)
	}
	if p.Pos.File == "" {
		if p.Pos.Line != 0 || p.Pos.Col != 0 {
			t.Errorf("problem %+v has a line of no file", p)
		}
		return
	}
	file := files[p.Pos.File]
	if file == nil && p.Pos.Line > 0 {
		t.Errorf("problem %+v has a line of a file that is not there", p)
	}
	if file != nil && (p.Pos.Line < 0 || p.Pos.Line > countLines(file.Data)+1) {
		t.Errorf("problem %+v has no place in %d lines", p, countLines(file.Data))
	}
}
