package fleet

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// row is a line of YAML in block style.
type row struct {
	line, indent int
	text         string // without the indentation and the line's end
}

var (
	keyed    = regexp.MustCompile(`^(- +)*[\w./-]+:( |$)`)
	unspaced = regexp.MustCompile(`^([A-Za-z]+):([^\s/:]\S*)$`)
	twoColon = regexp.MustCompile(`^(- +)*[\w./-]+: +([^\s"'{\[|>#&*!][^"#]*:( .*)?)$`)
)

// indentationFault finds the mistake in a text that is no valid YAML, from the first line on: the parser's message often names
// only a consequence. If it finds none, the parser's message is used.
func indentationFault(data []byte) *fault {
	var open []int // indentations that are open here, the innermost last
	before, deeper := row{}, false
	var flow unclosed
	for r := range rows(data) {
		if f := flow.next(r); f != nil {
			return f
		}
		if f := misspelled(r); f != nil {
			return f
		}
		if strings.HasPrefix(r.text, "---") || strings.ContainsAny(r.text, "{}[]") && !keyed.MatchString(r.text) {
			open, before, deeper = nil, r, true
			continue
		}
		if f := misindented(r, before, &open, deeper); f != nil {
			return f
		}
		before, deeper = r, opens(r.text)
	}
	return flow.end()
}

// opens reports whether a line may be followed by a deeper one.
func opens(text string) bool {
	text, _, _ = strings.Cut(text, " #")
	text = strings.TrimRight(text, " ")
	return strings.HasSuffix(text, ":") || strings.HasPrefix(text, "- ") || text == "-" || !keyed.MatchString(text)
}

func misindented(r, before row, open *[]int, deeper bool) *fault {
	if !keyed.MatchString(r.text) {
		return nil
	}
	stack := *open
	for len(stack) > 0 && stack[len(stack)-1] > r.indent {
		stack = stack[:len(stack)-1]
	}
	switch known := len(stack) > 0 && stack[len(stack)-1] == r.indent; {
	case known || len(stack) == 0 && before.line == 0:
	case len(stack) == len(*open) && (deeper || len(stack) == 0):
	default:
		return &fault{
			line: r.line, col: r.indent + 1, message: fmt.Sprintf("invalid YAML: this line is indented by %s, which fits no line above it", spaces(r.indent)),
			hint: "indent it by " + nearest(stack, *open),
		}
	}
	if len(stack) == 0 || stack[len(stack)-1] != r.indent {
		stack = append(stack, r.indent)
	}
	*open = stack
	for rest, at := r.text, r.indent; strings.HasPrefix(rest, "- "); { // a key behind a dash opens an indentation of its own
		inner := strings.TrimLeft(rest[1:], " ")
		at += len(rest) - len(inner)
		if keyed.MatchString(inner) {
			*open = append(*open, at)
		}
		rest = inner
	}
	return nil
}

// nearest are the indentations around one that fits none.
func nearest(outer, open []int) string {
	var out []string
	if len(outer) > 0 {
		out = append(out, spaces(outer[len(outer)-1]))
	}
	if len(open) > len(outer) {
		out = append(out, spaces(open[len(outer)]))
	}
	return strings.Join(out, " or ")
}

func spaces(n int) string {
	if n == 1 {
		return "1 space"
	}
	return fmt.Sprintf("%d spaces", n)
}

// misspelled finds a mistake within one line.
func misspelled(r row) *fault {
	say := func(col int, message, hint string) *fault {
		return &fault{line: r.line, col: col, message: "invalid YAML: " + message, hint: hint}
	}
	dashes := strings.TrimRight(r.text, " ")
	switch {
	case strings.HasPrefix(r.text, "\t"):
		return say(r.indent+1, "a tab indents this line", "indent with spaces, because YAML does not allow tabs here")
	case len(dashes) > 1 && strings.Trim(dashes, "-") == "" && (r.indent > 0 || dashes != "---"):
		return say(r.indent+1, fmt.Sprintf("%q does not separate documents", short(dashes)), "write --- at the beginning of the line")
	case unspaced.MatchString(r.text): // no hint quotes the text, which may be a secret
		return say(r.indent+strings.Index(r.text, ":")+1, "a space is missing after this colon", "write KEY: VALUE")
	case twoColon.MatchString(r.text):
		return say(r.indent+1+twoColon.FindStringSubmatchIndex(r.text)[4], "this value contains a colon and is not quoted", "put the value in quotes")
	}
	return nil
}

// rows returns the lines that are neither empty nor comments nor parts of a block of text.
func rows(data []byte) func(func(row) bool) {
	return func(yield func(row) bool) {
		number, block := 0, -1
		for line := range bytes.Lines(data) {
			number++
			text := strings.TrimRight(string(line), "\r\n")
			bare := strings.TrimLeft(text, " ")
			r := row{number, len(text) - len(bare), bare}
			switch {
			case bare == "" || bare[0] == '#' || block >= 0 && r.indent > block:
				continue
			case block >= 0:
				block = -1
			}
			if value := strings.TrimRight(bare, " -+0123456789"); strings.HasSuffix(value, ": |") || strings.HasSuffix(value, ": >") {
				block = r.indent
			}
			if !yield(r) {
				return
			}
		}
	}
}
