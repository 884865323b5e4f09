package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/report/output"
)

// Rule is one kind of finding: the Code of its problems, and what it is about, in a sentence or two.
type Rule struct{ Code, Help string }

// Problems are what was found about one tree of declarations, in the order in which they are shown.
type Problems struct {
	Found    []api.Problem
	Strict   bool      // warnings count as errors, and are shown as errors
	Declared *Declared // nil: an error keeps it from being known
	Rules    []Rule    // every kind there is, for SARIF
	Version  string    // of the program, for SARIF
}

// Declared is how much is declared.
type Declared struct{ Clusters, Links int }

// Valid says that nothing found is an error.
func (p Problems) Valid() bool { return p.document().Valid }

// Answer is the problems. Files, messages and hints may be an attacker's: no control character in them is written as it is, and a terminal or a
// runner of CI executes nothing in them.
func (p Problems) Answer() Answer {
	d := p.document()
	return Answer{Document: d.ProblemList, texts: map[Format]func() string{
		Text: d.text, GitHub: d.github,
		SARIF: func() string { return d.sarifText(p.Rules, p.Version) },
	}}
}

// Write writes the problems in a format.
func (p Problems) Write(w io.Writer, f Format) error { return p.Answer().Write(w, f) }

// Severities of a finding.
const (
	severityError   = "error"
	severityWarning = "warning"
)

// problemsDoc is Problems with what texts are made of.
type problemsDoc struct{ output.ProblemList }

// findingDoc is one problem.
type findingDoc struct{ output.Problem }

func (d problemsDoc) findings() []findingDoc {
	out := make([]findingDoc, len(d.Items))
	for i, one := range d.Items {
		out[i] = findingDoc{one}
	}
	return out
}

func place(p api.Pos) output.Place { return output.Place{File: p.File, Line: p.Line, Column: p.Col} }

func pos(p output.Place) api.Pos { return api.Pos{File: p.File, Line: p.Line, Col: p.Column} }

func problemOf(f api.Problem) output.Problem {
	out := output.Problem{Severity: severityError, Place: place(f.Pos), Code: f.Code, Message: f.Message, Hint: f.Hint}
	if f.Warning {
		out.Severity = severityWarning
	} else {
		out.Code = cmp.Or(f.Code, unnamed)
	}
	if f.See != (api.Pos{}) {
		see := place(f.See)
		out.See = &see
	}
	return out
}

// problemsOf are problems that are shown beside something else: without secrets, as lines.
func problemsOf(m mask, problems []api.Problem) []output.Problem {
	out := make([]output.Problem, 0, len(problems))
	for _, p := range problems {
		p.Pos.File, p.See.File, p.Message, p.Hint = m.line(p.Pos.File), m.line(p.See.File), m.line(p.Message), m.line(p.Hint)
		out = append(out, problemOf(p))
	}
	return out
}

// beside are the problems that a text shows beside something else: all if one is an error, else none. A warning may be true for long, and nobody
// reads what stands on every answer; validate and sync show it.
func beside(problems []output.Problem) []output.Problem {
	if slices.ContainsFunc(problems, func(p output.Problem) bool { return p.Severity == severityError }) {
		return problems
	}
	return nil
}

// problemLine is a problem as one printable line.
func problemLine(p output.Problem) string { return Line(findingDoc{p}.problem()) }

func (p Problems) document() problemsDoc {
	d := problemsDoc{output.ProblemList{
		TypeMeta: output.Of(output.KindProblemList), Strict: p.Strict, Items: []output.Problem{},
	}}
	if p.Declared != nil {
		d.Clusters, d.Links = &p.Declared.Clusters, &p.Declared.Links
	}
	for _, f := range p.Found {
		f.Warning = f.Warning && !p.Strict
		if f.Warning {
			d.Warnings++
		} else {
			d.Errors++
		}
		d.Items = append(d.Items, problemOf(f))
	}
	d.Valid = d.Errors == 0
	return d
}

func (d problemsDoc) text() string {
	var b strings.Builder
	for _, f := range d.findings() {
		fmt.Fprintln(&b, Line(f.problem()))
	}
	return b.String() + d.sum() + "\n"
}

func (f findingDoc) problem() api.Problem {
	p := api.Problem{
		Pos: pos(f.Place), Warning: f.Severity == severityWarning, Message: f.Message, Hint: f.Hint, Code: f.Code,
	}
	if f.See != nil {
		p.See = pos(*f.See)
	}
	return p
}

// sum is the last line: how it ended, and what there is of everything.
func (d problemsDoc) sum() string {
	var parts []string
	verdict := "valid"
	if d.Valid {
		if d.Clusters != nil && d.Links != nil {
			parts = append(parts, object.Count(*d.Clusters, "cluster"), object.Count(*d.Links, "link"))
		}
	} else {
		verdict = "invalid"
		parts = append(parts, object.Count(d.Errors, "error"))
	}
	if d.Warnings > 0 {
		parts = append(parts, object.Count(d.Warnings, "warning"))
	}
	return verdict + ": " + strings.Join(parts, ", ")
}

// message is all of it but where it is and how bad, as one printable line.
func (f findingDoc) message() string {
	p := f.problem()
	p.Pos, p.Warning = api.Pos{}, false
	return Line(p)
}
