package fleet

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/linkwright/linkwright/api"
)

// Bounds of what is read as declarations. Whatever a tree holds, Load takes less than two seconds and 256 MiB with them. They are far
// above what people write: 20,000 Links with all fields fit in.
const (
	// MaxFileBytes bounds one file: 10,000 clusters or as many links fit in.
	MaxFileBytes = 4 << 20
	// MaxTreeBytes bounds all files that are read as declarations.
	MaxTreeBytes = 16 << 20
	// MaxDocuments bounds the documents of all files.
	MaxDocuments = 30_000
	// MaxDepth bounds the nesting of values, as far as brackets and indentation show it; declarations need
	// eight levels.
	MaxDepth = 1_000
	// MaxMarks bounds the characters , [ { : ? # and dashes that begin an item, in all files. The parser makes at most two
	// nodes of each, and a node costs half a microsecond and 200 bytes, whatever it holds. A plain Link has nine.
	MaxMarks = 600_000
	// MaxDocumentMarks bounds them in one document, all of which is in memory at once.
	MaxDocumentMarks = 80_000
	// MaxProblems bounds the errors, and the warnings, that are reported for one file: more are probably one mistake made many times.
	MaxProblems = 100
	// MaxProblemsInTotal bounds both for all files together.
	MaxProblemsInTotal = 2_000
)

// extent estimates the size of a parsed text. It never counts less than the parser does: a mark in a comment or a quoted string
// counts, too.
type extent struct {
	documents, marks int
	over             int // the line in which a document exceeds MaxDocumentMarks, or 0
}

func (e *extent) add(f extent) {
	e.documents += f.documents
	e.marks += f.marks
}

// measure counts in one cheap scan, before anything is parsed.
func measure(data []byte) extent {
	e := extent{documents: 1}
	current, number := 0, 0
	for line := range bytes.Lines(data) {
		if isSeparator(line) {
			e.documents++
			current = 0
		}
		number++
		n := countMarks(line)
		e.marks += n
		if current += n; current > MaxDocumentMarks && e.over == 0 {
			e.over = number
		}
	}
	return e
}

// isSeparator reports whether a line begins a new document.
func isSeparator(line []byte) bool {
	return bytes.HasPrefix(line, []byte("---")) && (len(line) == 3 || bytes.IndexByte([]byte(" \t\r\n"), line[3]) >= 0)
}

func countMarks(line []byte) int {
	n := 0
	for i, c := range line {
		switch c {
		case ',', '[', '{', ':', '?', '#':
			n++
		case '-':
			if i+1 == len(line) || bytes.IndexByte([]byte(" \t\r\n"), line[i+1]) >= 0 {
				n++
			}
		}
	}
	return n
}

// fault is why a text is not parsed, or cannot be; a line or column of 0 is unknown.
type fault struct {
	line, col     int
	message, hint string
}

// exceedsBounds finds input that no parser should get: binary data, and nesting that is too deep.
func exceedsBounds(data []byte) *fault {
	if f := notText(data); f != nil {
		return f
	}
	depth, number := 0, 0
	for line := range bytes.Lines(data) {
		number++
		if bytes.HasPrefix(line, []byte("%TAG")) {
			return &fault{number, 1, "tag directives are not allowed: " + short(string(bytes.TrimSpace(line))), "remove the line"}
		}
		if isSeparator(line) {
			depth = 0
		}
		if col := tooDeep(line, &depth); col > 0 {
			return &fault{number, col, fmt.Sprintf("nested deeper than %d levels", MaxDepth), "a dozen levels are enough for any declaration"}
		}
	}
	return nil
}

// tooDeep returns the column in which a line goes too deep, or 0: by its indentation and the items it begins, or by brackets.
func tooDeep(line []byte, brackets *int) int {
	if indent(line) > MaxDepth {
		return MaxDepth + 1
	}
	for i, c := range line {
		switch c {
		case '[', '{':
			*brackets++
		case ']', '}':
			*brackets = max(0, *brackets-1)
		}
		if *brackets > MaxDepth {
			return i + 1
		}
	}
	return 0
}

// indent counts what stands before a line's first text: blanks, and the marks of items. Blanks alone are none.
func indent(line []byte) int {
	items := false
	for i, c := range line {
		item := (c == '-' || c == '?') && i+1 < len(line) && line[i+1] == ' '
		switch {
		case item:
			items = true
		case c != ' ' && (c != '\n' || items):
			return i
		case c != ' ':
			return 0
		}
	}
	if items {
		return len(line)
	}
	return 0
}

// notText finds the first byte that YAML does not allow.
func notText(data []byte) *fault {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")):
		return &fault{1, 1, "the file is UTF-16", "save it as UTF-8"}
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return &fault{1, 1, "the file begins with a byte order mark", "save it as UTF-8 without one"}
	}
	for i := 0; i < len(data); {
		if c := data[i]; c < utf8.RuneSelf {
			if forbidden(c) && !bytes.HasPrefix(data[i:], []byte("\r\n")) {
				return faultAt(data, i, "the file contains "+control(c), "remove it")
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return faultAt(data, i, fmt.Sprintf("byte 0x%02x is not UTF-8", data[i]), "save the file as UTF-8")
		case r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == '\ufffe' || r == '\uffff':
			return faultAt(data, i, fmt.Sprintf("the file contains the invisible character %U", r), "remove it")
		}
		i += size
	}
	return nil
}

func forbidden(c byte) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }

func control(c byte) string {
	if c == '\r' {
		return "a carriage return that does not end a line"
	}
	return fmt.Sprintf("the control character U+%04X", c)
}

func faultAt(data []byte, i int, message, hint string) *fault {
	line := bytes.LastIndexByte(data[:i], '\n') + 1
	return &fault{1 + bytes.Count(data[:i], []byte("\n")), 1 + utf8.RuneCount(data[line:i]), message, hint}
}

// pos is the position of a fault in a file.
func (f fault) pos(file string) api.Pos { return api.Pos{File: file, Line: f.line, Col: f.col} }
