package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Format is how something is told.
type Format string

// Formats.
const (
	Text     Format = "text"     // for people at a terminal
	Markdown Format = "markdown" // for a comment on a pull request
	JSON     Format = "json"     // for machines: fields are added, never renamed; no list is null
	SARIF    Format = "sarif"    // SARIF 2.1.0: for code scanning and editors
	GitHub   Format = "github"   // workflow commands: for annotations of a pull request
)

// Formats are those of every document but Problems, the first being the default.
func Formats() []Format { return []Format{Text, Markdown, JSON} }

// ProblemFormats are those of Problems, the first being the default.
func ProblemFormats() []Format { return []Format{Text, JSON, SARIF, GitHub} }

// Enumerate names formats in a sentence: "text, markdown or json".
func Enumerate(formats []Format) string {
	words := make([]string, len(formats))
	for i, f := range formats {
		words[i] = string(f)
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// ParseFormat reads the word that a user gives; empty: the first of among.
func ParseFormat(word string, among []Format) (Format, error) {
	if word == "" {
		return among[0], nil
	}
	if f := Format(word); slices.Contains(among, f) {
		return f, nil
	}
	return "", fmt.Errorf("format %q: want %s", word, Enumerate(among))
}

// teller is a document that is told in every format. Documents hold nothing that may not be shown:
// what is secret is masked when they are made, so that no format can forget to. As JSON it is itself.
type teller interface {
	text() string
	markdown() string
}

func tell(w io.Writer, f Format, t teller) error {
	f, err := ParseFormat(string(f), Formats())
	if err != nil {
		return err
	}
	out := ""
	switch f {
	case Text:
		out = painted(w, t.text())
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

// inert is JSON with everything escaped that a terminal or a runner would act on: values stay what they are.
func inert(v any) (string, error) {
	out, err := encoded(v)
	var b strings.Builder
	for _, r := range strings.ReplaceAll(out, "##", `#\u0023`) {
		if r == '\n' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String(), err
}

// line makes one printable line of what others wrote: servers and users put anything into messages. Runners of CI take
// "::" where a line begins, and "##[" or "##vso[" anywhere, for the beginning of a command.
func line(s string) string {
	s = strings.NewReplacer("\r\n", "; ", "\n", "; ", "\t", " ").Replace(strings.TrimSpace(s))
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	if rest, ok := strings.CutPrefix(strings.TrimLeft(s, " "), "::"); ok {
		s = ": :" + rest
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "##", "# #"), "##", "# #") // three in a row take both
}

// fileName quotes a name that would not be one word of a line.
func fileName(name string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == '"' }
	if strings.ContainsFunc(name, odd) || !utf8.ValidString(name) || line(name) != name {
		return strings.ReplaceAll(strconv.Quote(name), "##", `#\x23`)
	}
	return name
}

// Line is a problem as one printable line, whatever its author put into it: see api.Problem.String.
func Line(p api.Problem) string {
	p.Pos.File, p.See.File = fileName(p.Pos.File), fileName(p.See.File)
	p.Message, p.Hint = line(p.Message), line(p.Hint)
	return p.String()
}

// First is the first error among problems, with where it is, and how many more there are; empty: there is none.
func First(problems []api.Problem) string {
	errs := slices.DeleteFunc(slices.Clone(problems), func(p api.Problem) bool { return p.Warning })
	switch n := len(errs); n {
	case 0:
		return ""
	case 1:
		return Line(errs[0])
	default:
		return fmt.Sprintf("%s (and %s)", Line(errs[0]), count(n-1, "more error"))
	}
}

// Printable is a text of several lines, such as an error, of which a stranger may have written a part.
func Printable(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		indent := len(l) - len(strings.TrimLeft(l, " \t"))
		b.WriteString(l[:indent] + line(l) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// sentence is a reason for people.
func sentence(r *object.Reason) string {
	switch {
	case r == nil || *r == object.Reason{}:
		return ""
	case r.Message == "":
		return string(r.Code)
	}
	return string(r.Code) + ": " + r.Message
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
