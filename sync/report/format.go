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
	"unicode/utf8"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Format is the form of an answer.
type Format string

// Formats.
const (
	Text     Format = "text"     // for people at a terminal
	Wide     Format = "wide"     // text with more columns
	Markdown Format = "markdown" // for a comment on a pull request
	JSON     Format = "json"     // for programs: see package output
	YAML     Format = "yaml"     // the same document as JSON
	SARIF    Format = "sarif"    // SARIF 2.1.0: for code scanning and editors
	GitHub   Format = "github"   // workflow commands: for annotations of a pull request
	Name     Format = "name"     // kind/name, a line for each
	// JSONPath and CustomColumns choose fields of the JSON document, as kubectl's do: jsonpath=TEMPLATE, custom-columns=HEADER:PATH,…
	JSONPath      Format = "jsonpath"
	CustomColumns Format = "custom-columns"
)

// withPrograms adds the formats for programs that every answer has.
func withPrograms(texts ...Format) []Format {
	return append(texts, JSON, YAML, JSONPath, CustomColumns)
}

// Formats are those of most answers, the first being the default.
func Formats() []Format { return withPrograms(Text, Markdown) }

// StatusFormats are those of status, the first being the default.
func StatusFormats() []Format { return withPrograms(Text, Wide, Markdown) }

// DescribeFormats are those of describe, the first being the default.
func DescribeFormats() []Format { return withPrograms(Text) }

// ListFormats are those of lists, the first being the default.
func ListFormats() []Format { return withPrograms(Text, Wide, Name) }

// EventFormats are those of events, the first being the default.
func EventFormats() []Format { return withPrograms(Text) }

// ProblemFormats are those of Problems, the first being the default.
func ProblemFormats() []Format { return withPrograms(Text, SARIF, GitHub) }

// Enumerate names formats in a sentence: "text, markdown or json".
func Enumerate(formats []Format) string {
	words := make([]string, len(formats))
	for i, f := range formats {
		words[i] = string(f)
		switch f {
		case JSONPath:
			words[i] += "=TEMPLATE"
		case CustomColumns:
			words[i] += "=HEADER:PATH,…"
		}
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// ParseFormat reads the word that a user gives; empty: the first of among.
func ParseFormat(word string, among []Format) (Format, error) {
	if word == "" {
		return among[0], nil
	}
	if f := Format(word); slices.Contains(among, f.Kind()) && f.complete() {
		return f, nil
	}
	return "", fmt.Errorf("format %q: want %s", word, Enumerate(among))
}

// Kind is the format without its argument.
func (f Format) Kind() Format {
	kind, _, _ := strings.Cut(string(f), "=")
	return Format(kind)
}

// Argument is what follows "=".
func (f Format) Argument() string {
	_, argument, _ := strings.Cut(string(f), "=")
	return argument
}

// complete says that a format has an argument if it needs one, and else has none.
func (f Format) complete() bool {
	needs := f.Kind() == JSONPath || f.Kind() == CustomColumns
	return needs == (f.Argument() != "") && (needs || f == f.Kind())
}

func encoded(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
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

// First is the first error among problems, with where it is, how many more there are, and what shows them; empty: there is none.
func First(problems []api.Problem) string {
	errs := slices.DeleteFunc(slices.Clone(problems), func(p api.Problem) bool { return p.Warning })
	switch n := len(errs); n {
	case 0:
		return ""
	case 1:
		return Line(errs[0])
	default:
		return fmt.Sprintf("%s (and %s: run linkwright validate --repo URL)", Line(errs[0]), object.Count(n-1, "more error"))
	}
}

// Printable is a text of several lines, such as an error, of which others may have written a part.
func Printable(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		indent := len(l) - len(strings.TrimLeft(l, " \t"))
		b.WriteString(l[:indent] + line(l) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Inert is a text of which others wrote a part, with its spaces, tabs and ends of lines. A terminal or a runner of CI acts on nothing in it.
func Inert(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		l = strings.Map(func(r rune) rune {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
				return -1
			}
			return r
		}, l)
		if begin := len(l) - len(strings.TrimLeft(l, " \t")); strings.HasPrefix(l[begin:], "::") {
			l = l[:begin] + ": " + l[begin+1:]
		}
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(l, "##", "# #"), "##", "# #"))
	}
	return b.String()
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
