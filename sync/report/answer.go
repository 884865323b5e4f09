package report

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/linkwright/linkwright/sync/report/output"
)

// Answer is what a command answers: a document for programs, and texts for people. Neither holds anything that may not be shown: what is
// secret is masked when an answer is made, so that no format can forget to.
type Answer struct {
	Document  any  // of package output
	NoHeaders bool // its tables begin with their first row
	texts     map[Format]func() string
}

// Write writes the answer in one of its formats: one of its texts, JSON or YAML.
func (a Answer) Write(w io.Writer, f Format) error {
	if f == JSON {
		return output.WriteJSON(w, a.Document)
	}
	out, err := a.in(f)
	if err != nil {
		return err
	}
	if a.texts[f] != nil && f != Markdown {
		out = painted(w, out)
	}
	_, err = io.WriteString(w, out)
	return err
}

func (a Answer) in(f Format) (string, error) {
	if text, ok := a.texts[f]; ok {
		return text(), nil
	}
	if f == YAML {
		return output.YAML(a.Document)
	}
	return "", fmt.Errorf("format %q: want %s", f, Enumerate(append(slices.Sorted(maps.Keys(a.texts)), JSON, YAML)))
}

// documented is an answer that has a text for people and one for Markdown.
func documented(document any, text, markdown func() string) Answer {
	return Answer{Document: document, texts: map[Format]func() string{Text: text, Markdown: markdown}}
}

// Plain is an answer with one text.
func Plain(document any, text string) Answer {
	return Answer{Document: document, texts: map[Format]func() string{Text: func() string { return text }}}
}
