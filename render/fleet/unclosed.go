package fleet

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// Template finds the first {{ of a file that is read before a build; nil: there is none.
func Template(file string, data []byte) *api.Problem {
	f := templated(data)
	if f == nil {
		return nil
	}
	return &api.Problem{Pos: f.pos(file), Message: f.message, Hint: f.hint}
}

// templated finds the first {{ of a text: YAML's errors about a template mislead.
func templated(data []byte) *fault {
	if !bytes.Contains(data, []byte("{{")) {
		return nil
	}
	for r := range rows(data) {
		text, _, _ := strings.Cut(r.text, " #")
		if at := strings.Index(text, "{{"); at >= 0 {
			return &fault{
				line: r.line, col: r.indent + at + 1, message: "this is a template, because it contains {{",
				hint: "linkwright does not render templates: write the value, or commit the output of helm template",
			}
		}
	}
	return nil
}

// bracket is an open bracket.
type bracket struct {
	closer    byte
	line, col int
}

// deepestFlow is the nesting of brackets above which the parser's message is used.
const deepestFlow = 16

// unclosed finds brackets and quotes that are not closed.
type unclosed struct {
	open   []bracket // the outermost first
	indent int       // of the line that opened the outermost
}

// next reads a line. It returns a fault for a quote that its line does not close, and for a bracket that closes nothing or is not closed.
func (u *unclosed) next(r row) *fault {
	if len(u.open) > deepestFlow {
		return nil
	}
	divider := strings.HasPrefix(r.text, "---")
	if len(u.open) > 0 && (divider || r.indent <= u.indent && keyed.MatchString(r.text)) {
		return u.end()
	}
	if divider {
		return nil
	}
	from := 0
	if len(u.open) == 0 {
		u.indent = r.indent
		if from = flowFrom(r.text); from < 0 {
			return nil
		}
	}
	return u.flow(r, from)
}

// end returns the fault if the text ends here.
func (u *unclosed) end() *fault {
	if len(u.open) == 0 || len(u.open) > deepestFlow {
		return nil
	}
	closers := ""
	for _, b := range u.open {
		closers = string(b.closer) + closers
	}
	first := u.open[0]
	opener := map[byte]string{'}': "{", ']': "["}[first.closer]
	return &fault{line: first.line, col: first.col, message: fmt.Sprintf("invalid YAML: this %s is not closed", opener), hint: "write " + closers + " where it ends"}
}

// flowFrom is where the value of a line in block style begins, if it begins with a bracket or a quote; else -1.
func flowFrom(text string) int {
	at := 0
	if key := keyed.FindString(text); key != "" {
		at = len(key)
	}
	for at < len(text) && (text[at] == ' ' || strings.HasPrefix(text[at:], "- ")) {
		at++
	}
	if at < len(text) && strings.IndexByte(`{["'`, text[at]) >= 0 {
		return at
	}
	return -1
}

// flow follows what a line holds from a bracket or a quote on.
func (u *unclosed) flow(r row, from int) *fault {
	for i, begins := from, true; i < len(r.text) && len(u.open) <= deepestFlow; i++ {
		say := func(message, hint string) *fault {
			return &fault{line: r.line, col: r.indent + i + 1, message: "invalid YAML: " + message, hint: hint}
		}
		switch c := r.text[i]; {
		case c == ' ':
			continue
		case c == '#' && i > 0 && r.text[i-1] == ' ', len(u.open) == 0 && i > from:
			return nil // what follows a value is the parser's to judge, but for one bracket too many
		case (c == '"' || c == '\'') && begins:
			end := quoteEnd(r.text, i)
			if end < 0 {
				return say(fmt.Sprintf("the quote %c that begins here is not closed on its line", c), fmt.Sprintf("write %c where the value ends", c))
			}
			i = end
		case c == '{' || c == '[':
			u.open = append(u.open, bracket{closer: c + 2, line: r.line, col: r.indent + i + 1})
		case c == '}' || c == ']':
			last := u.open[len(u.open)-1]
			if last.closer != c {
				return say(fmt.Sprintf("this %c closes nothing: %c comes first", c, last.closer), fmt.Sprintf("write %c instead of %c", last.closer, c))
			}
			u.open = u.open[:len(u.open)-1]
			if rest := strings.TrimLeft(r.text[i+1:], " "); len(u.open) == 0 && rest != "" && strings.IndexByte("}]", rest[0]) >= 0 {
				i += len(r.text[i+1:]) - len(rest) + 1
				return say(fmt.Sprintf("this %c closes nothing", rest[0]), "remove it")
			}
		}
		begins = strings.IndexByte("{[,:", r.text[i]) >= 0
	}
	return nil
}

// quoteEnd is where a quote that begins at a place ends, or -1.
func quoteEnd(text string, from int) int {
	quote := text[from]
	for i := from + 1; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\', quote == '\'' && strings.HasPrefix(text[i:], "''"):
			i++
		case text[i] == quote:
			return i
		}
	}
	return -1
}
