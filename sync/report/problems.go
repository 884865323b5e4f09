package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// Rule is one kind of finding: the Code of its problems, and what it is about, in a sentence or two.
type Rule struct{ Code, Help string }

// Problems are what was found about one tree of declarations, in the order in which it is told.
type Problems struct {
	Found           []api.Problem
	Strict          bool   // warnings count as errors, and are told as errors
	Clusters, Links int    // of the fleet; 0 where there is none
	Rules           []Rule // every kind there is, for SARIF
	Version         string // of the program, for SARIF
}

// Valid says that nothing found is an error.
func (p Problems) Valid() bool { return p.document().Valid }

// Write tells the problems in one of the ProblemFormats. Files, messages and hints are taken for a stranger's: no
// control character of theirs is written as it is, and nothing of theirs becomes a command to who reads the output.
func (p Problems) Write(w io.Writer, f Format) error {
	f, err := ParseFormat(string(f), ProblemFormats())
	if err != nil {
		return err
	}
	out, d := "", p.document()
	switch f {
	case Text:
		out = d.text()
	case GitHub:
		out = d.github()
	case JSON:
		out, err = inert(d)
	case SARIF:
		out, err = inert(d.sarif(p.Rules, p.Version))
	}
	if err != nil {
		return fmt.Errorf("encode problems: %w", err)
	}
	_, err = io.WriteString(w, out)
	return err
}

// Severities of a finding.
const (
	severityError   = "error"
	severityWarning = "warning"
)

// problemsDoc is Problems as JSON. What is unknown is empty or 0.
type problemsDoc struct {
	Valid    bool         `json:"valid"`
	Strict   bool         `json:"strict"`
	Clusters int          `json:"clusters"`
	Links    int          `json:"links"`
	Errors   int          `json:"errors"`
	Warnings int          `json:"warnings"`
	Problems []findingDoc `json:"problems"` // by file, line and column
}

type findingDoc struct {
	Severity string `json:"severity"` // error or warning, as it counts
	placeDoc
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Hint    string    `json:"hint"`
	See     *placeDoc `json:"see,omitempty"` // another place that it is about, as the first of two
}

type placeDoc struct {
	File   string `json:"file"` // as it is called, whatever is in its name
	Line   int    `json:"line"`
	Column int    `json:"column"` // in characters
}

func (p placeDoc) pos() api.Pos { return api.Pos{File: p.File, Line: p.Line, Col: p.Column} }

func (p Problems) document() problemsDoc {
	d := problemsDoc{Strict: p.Strict, Clusters: p.Clusters, Links: p.Links, Problems: []findingDoc{}}
	for _, f := range p.Found {
		doc := findingDoc{
			Severity: severityError, placeDoc: placeDoc{f.Pos.File, f.Pos.Line, f.Pos.Col},
			Code: f.Code, Message: f.Message, Hint: f.Hint,
		}
		if f.See != (api.Pos{}) {
			doc.See = &placeDoc{f.See.File, f.See.Line, f.See.Col}
		}
		if f.Warning && !p.Strict {
			doc.Severity = severityWarning
			d.Warnings++
		} else {
			d.Errors++
		}
		d.Problems = append(d.Problems, doc)
	}
	d.Valid = d.Errors == 0
	return d
}

func (d problemsDoc) text() string {
	var b strings.Builder
	for _, f := range d.Problems {
		fmt.Fprintln(&b, Line(f.problem()))
	}
	return b.String() + d.sum() + "\n"
}

func (f findingDoc) problem() api.Problem {
	p := api.Problem{
		Pos: f.pos(), Warning: f.Severity == severityWarning, Message: f.Message, Hint: f.Hint, Code: f.Code,
	}
	if f.See != nil {
		p.See = f.See.pos()
	}
	return p
}

// sum is the last line: how it ended, and what there is of everything.
func (d problemsDoc) sum() string {
	var parts []string
	verdict := "valid"
	if d.Valid {
		parts = append(parts, count(d.Clusters, "cluster"), count(d.Links, "link"))
	} else {
		verdict = "invalid"
		parts = append(parts, count(d.Errors, "error"))
	}
	if d.Warnings > 0 {
		parts = append(parts, count(d.Warnings, "warning"))
	}
	return verdict + ": " + strings.Join(parts, ", ")
}

// said is all of it but where it is and how bad, as one printable line.
func (f findingDoc) said() string {
	p := f.problem()
	p.Pos, p.Warning = api.Pos{}, false
	return Line(p)
}
