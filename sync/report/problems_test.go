package report

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/report/output"
)

func found(file string, line, col int, message string) api.Problem {
	return api.Problem{Pos: api.Pos{File: file, Line: line, Col: col}, Message: message}
}

// several are problems of every kind of position.
func several() Problems {
	typo := found("fleet/east.yaml", 4, 35, "spec.apiserver: unknown field")
	typo.Hint, typo.Code = "did you mean apiServer?", "UnknownField"
	again := typo
	again.Pos.Line = 12
	twice := found("fleet/west.yaml", 3, 18, "Cluster east is declared twice")
	twice.See = api.Pos{File: "fleet/east.yaml", Line: 3, Col: 18}
	warning := found("fleet/mesh.yaml", 3, 0, "Mesh prod: selects one cluster: 100% of the fleet")
	warning.Warning, warning.Code = true, "Lonely"
	return Problems{
		Found:   []api.Problem{found("", 0, 0, "there is no Cluster"), typo, again, found("fleet/größe 1.yaml", 0, 0, "cannot be read"), twice, warning},
		Rules:   []Rule{{"UnknownField", "A field is misspelled. Strictly decoded, it is refused."}, {"Lonely", "A mesh selects fewer than two clusters."}},
		Version: "v1.2.3",
	}
}

// valid is a fleet with a warning only.
func valid() Problems {
	p := several()
	p.Declared, p.Found = &Declared{5, 1}, p.Found[len(p.Found)-1:]
	return p
}

func TestProblems(t *testing.T) {
	strict := valid()
	strict.Strict = true
	for name, p := range map[string]Problems{
		"problems": several(), "problems-valid": valid(), "problems-strict": strict, "problems-none": {Declared: &Declared{2, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, ProblemFormats(), func(b *strings.Builder, f Format) error { return p.Write(b, f) })
		})
	}
	if err := several().Write(nil, Markdown); err == nil || !strings.Contains(err.Error(), "want github, sarif, text, json or yaml") {
		t.Errorf("Write(markdown): %v", err)
	}
}

// TestWarningsBeside: a warning that is true for long stands on the answer of a sync, and on no other answer as text; an error brings it back.
func TestWarningsBeside(t *testing.T) {
	warnings, all := valid().Found, several().Found
	for name, tt := range map[string]struct {
		answer Answer
		want   bool
	}{
		"sync":            {Report{Problems: warnings}.Answer(), true},
		"status":          {Report{Problems: warnings, ReadOnly: true}.Answer(), false},
		"status, invalid": {Report{Problems: all, ReadOnly: true}.Answer(), true},
		"diff":            {Diff{Problems: warnings}.Answer(nil), false},
		"diff, invalid":   {Diff{Problems: all}.Answer(nil), true},
	} {
		for _, f := range []Format{Text, Markdown, JSON} {
			var b strings.Builder
			if err := tt.answer.Write(&b, f); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(b.String(), "selects one cluster"); got != (tt.want || f == JSON) {
				t.Errorf("%s as %s shows the warning: %t\n%s", name, f, got, b.String())
			}
		}
	}
}

// forged are names and words that others choose.
func forged() []string {
	return []string{
		"a\x1b[31m.yaml", "b\r\n::error::forged", "::warning file=x::forged", " ::add-mask::x", "\u200b::error::x", "###[error]x", "##vso[x]",
		"c\u202e.yaml", "d\u009b31m.yaml", "e,line=7:8::%0A%.yaml", "f\t\"g\".yaml", "h\xff.yaml", "\u2028::error::x", "größe 日本.yaml", "i\U000e0041.yaml",
	}
}

// TestHostile: whatever is in names and messages, no format lets a control character through, or a command of theirs
// begin; and machines get every name as it is.
func TestHostile(t *testing.T) {
	var p Problems
	for i, word := range forged() {
		p.Found = append(p.Found, api.Problem{
			Pos: api.Pos{File: word, Line: i % 2, Col: i % 2}, See: api.Pos{File: word, Line: 1}, Message: word, Hint: word, Code: "Code", Warning: i%2 == 0,
		})
	}
	for _, f := range own(ProblemFormats()) {
		var out strings.Builder
		if err := p.Write(&out, f); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(out.String()) {
			inoffensive(t, f, strings.TrimSuffix(l, "\n"))
		}
	}
	if got, want := read[output.ProblemList](t, p, JSON).Items, p.Found; len(got) != len(want) {
		t.Fatalf("JSON tells %d problems of %d", len(got), len(want))
	}
	for i, f := range read[output.ProblemList](t, p, JSON).Items {
		if want := strings.ToValidUTF8(forged()[i], "\ufffd"); f.File != want || f.See.File != want || f.Message != want {
			t.Errorf("JSON(%q): file %q, see %q, message %q", want, f.File, f.See.File, f.Message)
		}
	}
}

func inoffensive(t *testing.T, f Format, l string) {
	t.Helper()
	if i := strings.IndexFunc(l, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("%s: %q lets a control character through", f, l)
	}
	ours := f == GitHub && (strings.HasPrefix(l, "::error ") || strings.HasPrefix(l, "::warning "))
	if !ours && (strings.HasPrefix(strings.TrimSpace(l), "::") || strings.Contains(l, "##")) {
		t.Errorf("%s: %q is a command", f, l)
	}
}

func read[T any](t *testing.T, p Problems, f Format) T {
	t.Helper()
	var out strings.Builder
	var doc T
	if err := p.Write(&out, f); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
		t.Fatalf("%s is no JSON: %v", f, err)
	}
	return doc
}

// TestGitHub reads the commands as GitHub's runner does: up to the next "::", separated by commas, unescaped.
func TestGitHub(t *testing.T) {
	unescape := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
	for _, word := range []string{"e,line=7:8::%0A%.yaml", "a b.yaml", "b\r\n::error::forged.yaml", "größe.yaml"} {
		var out strings.Builder
		if err := (Problems{Found: []api.Problem{found(word, 3, 4, "100% of "+word)}}).Write(&out, GitHub); err != nil {
			t.Fatal(err)
		}
		lines := slices.Collect(strings.Lines(out.String()))
		if len(lines) != 2 {
			t.Fatalf("GitHub(%q) has %d lines: %q", word, len(lines), out.String())
		}
		head, message, _ := strings.Cut(strings.TrimPrefix(lines[0], "::"), "::")
		command, properties, _ := strings.Cut(head, " ")
		got := map[string]string{}
		for p := range strings.SplitSeq(properties, ",") {
			key, value, _ := strings.Cut(p, "=")
			got[key] = unescape.Replace(value)
		}
		want := map[string]string{"file": word, "line": "3", "col": "4", "title": "linkwright: InvalidDeclarations"}
		if diff := cmp.Diff(want, got); diff != "" || command != "error" {
			t.Errorf("GitHub(%q): command %q, properties -want +got\n%s", word, command, diff)
		}
		if want := "100% of " + line(word) + "\n"; unescape.Replace(message) != want {
			t.Errorf("GitHub(%q): message %q, want %q", word, message, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		"read x: no such file":             "read x: no such file",
		"unknown flag\nSee: x --help":      "unknown flag\nSee: x --help",
		"one\r\n\ttwo\n":                   "one\n\ttwo",
		"a\x1b[2J\n::error::x\n  ::x\n##[": "a[2J\n: :error::x\n  : :x\n# #[",
	} {
		if diff := cmp.Diff(want, Printable(in)); diff != "" {
			t.Errorf("Printable(%q): -want +got\n%s", in, diff)
		}
	}
}
