package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/linkwright/linkwright/object"
)

// Format is how something is told.
type Format string

// Formats.
const (
	Text     Format = "text"     // for people at a terminal
	Markdown Format = "markdown" // for a comment on a pull request
	JSON     Format = "json"     // for machines: fields are added, never renamed; no list is null
)

// ParseFormat reads the word that a user gives; empty: Text.
func ParseFormat(word string) (Format, error) {
	switch f := Format(word); f {
	case "":
		return Text, nil
	case Text, Markdown, JSON:
		return f, nil
	}
	return "", fmt.Errorf("format %q: want %s, %s or %s", word, Text, Markdown, JSON)
}

// teller is a document that is told in every format. Documents hold nothing that may not be shown:
// what is secret is masked when they are made, so that no format can forget to. As JSON it is itself.
type teller interface {
	text() string
	markdown() string
}

func tell(w io.Writer, f Format, t teller) error {
	f, err := ParseFormat(string(f))
	if err != nil {
		return err
	}
	out := ""
	switch f {
	case Text:
		out = t.text()
	case Markdown:
		out = t.markdown()
	case JSON:
		if out, err = encoded(t); err != nil {
			return fmt.Errorf("encode report: %w", err)
		}
	}
	_, err = io.WriteString(w, out)
	return err
}

func encoded(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.String(), err
}

// line makes one printable line of what others wrote: servers and users put anything into messages.
func line(s string) string {
	s = strings.NewReplacer("\r\n", "; ", "\n", "; ", "\t", " ").Replace(strings.TrimSpace(s))
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
}

// sentence is a reason for people.
func sentence(r *object.Reason) string {
	switch {
	case r == nil || *r == object.Reason{}:
		return ""
	case r.Message == "":
		return r.Code
	}
	return r.Code + ": " + r.Message
}

// columns aligns rows whose cells are separated by tabs, each indented.
func columns(indent string, rows []string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, err := io.WriteString(w, strings.Join(append(rows, ""), "\n"))
	if errors.Join(err, w.Flush()) != nil {
		return strings.Join(rows, "\n") // does not happen: a builder takes everything
	}
	var out strings.Builder
	for l := range strings.Lines(b.String()) {
		out.WriteString(strings.TrimRight(indent+l, " \n") + "\n")
	}
	return out.String()
}

// paragraphs joins blocks, each ending in a line feed, by empty lines.
func paragraphs(blocks ...string) string {
	var full []string
	for _, b := range blocks {
		if b != "" {
			full = append(full, b)
		}
	}
	return strings.Join(full, "\n")
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
