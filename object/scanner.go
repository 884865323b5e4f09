package object

import (
	"bytes"
	"encoding/json"
	"strings"
)

// scanner steps through JSON value by value, without decoding it. Invalid JSON sets invalid.
type scanner struct {
	json    []byte
	at      int
	invalid bool
}

// peek is the next byte that is no white space; 0 at the end, and in invalid JSON.
func (w *scanner) peek() byte {
	for ; w.at < len(w.json) && !w.invalid; w.at++ {
		switch c := w.json[w.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	w.invalid = true
	return 0
}

// enter steps into an object or a list; false: the next value is none.
func (w *scanner) enter(open byte) bool {
	if w.peek() != open {
		return false
	}
	w.at++
	return true
}

// more reports whether another member or item follows; if not, the end is stepped over.
func (w *scanner) more(end byte) bool {
	c := w.peek()
	if c == ',' {
		w.at++
		c = w.peek()
	}
	if c == end {
		w.at++
	}
	return c != end && !w.invalid
}

// memberName steps over the name of a member, to its value.
func (w *scanner) memberName() []byte {
	if name, ok := w.plainName(); ok {
		return name
	}
	raw := w.skip()
	if len(raw) < 2 || raw[0] != '"' || w.peek() != ':' {
		w.invalid = true
		return nil
	}
	w.at++
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var name string
	w.invalid = json.Unmarshal(raw, &name) != nil
	return []byte(name)
}

// plainName is name for one without escapes, behind which its value follows at once; false, and no step: it is another.
func (w *scanner) plainName() ([]byte, bool) {
	if w.peek() != '"' {
		return nil, false
	}
	from := w.at + 1
	for i, c := range w.json[from:] { // short: looking for a quote first would take longer
		if c != '"' && c != '\\' {
			continue
		}
		to := from + i
		if c == '\\' || to+1 == len(w.json) || w.json[to+1] != ':' {
			return nil, false
		}
		w.at = to + len(`":`)
		return w.json[from:to], true
	}
	return nil, false
}

// skip steps over a value, and returns it.
func (w *scanner) skip() []byte {
	c := w.peek()
	from := w.at
	switch c {
	case '"':
		w.skipString()
	case '{', '[':
		w.skipNested()
	default:
		w.skipLiteral()
	}
	return w.json[from:w.at]
}

func (w *scanner) skipString() {
	for w.at++; ; w.at++ {
		i := bytes.IndexByte(w.json[w.at:], '"')
		if i < 0 {
			w.at, w.invalid = len(w.json), true
			return
		}
		before := w.json[w.at : w.at+i]
		w.at += i
		if i == 0 || before[i-1] != '\\' || (i-len(bytes.TrimRight(before, `\`)))%2 == 0 {
			w.at++
			return
		}
	}
}

func (w *scanner) skipNested() {
	for depth := 0; w.at < len(w.json); {
		switch w.json[w.at] {
		case '"':
			w.skipString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if w.at++; depth == 0 {
			return
		}
	}
	w.invalid = true
}

// skipLiteral steps over a number, true, false or null.
func (w *scanner) skipLiteral() {
	from := w.at
	for w.at < len(w.json) && bytes.IndexByte([]byte(",]} \t\r\n"), w.json[w.at]) < 0 {
		w.at++
	}
	w.invalid = w.invalid || w.at == from
}

// Text finds a string by the path of its fields, without decoding the rest; false: there is none, or the caller must decode
// all to find it.
func (b Body) Text(path ...string) (string, bool) {
	w := scanner{json: b.Bytes()}
	for _, name := range path {
		if !w.seek(name) {
			return "", false
		}
	}
	raw := w.skip()
	if w.invalid || len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return unquote(raw)
}

// unquote decodes a JSON string. Only strings with \u escapes, which are rare, need encoding/json.
func unquote(raw []byte) (string, bool) {
	var out strings.Builder
	out.Grow(len(raw))
	for rest := raw[1 : len(raw)-1]; ; {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 {
			out.Write(rest)
			return out.String(), true
		}
		c := unescape(rest[at+1])
		if c == 0 {
			var s string
			err := json.Unmarshal(raw, &s)
			return s, err == nil
		}
		out.Write(rest[:at])
		out.WriteByte(c)
		rest = rest[at+2:]
	}
}

// unescape is the character of an escape with one letter; 0: it is another escape.
func unescape(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'n':
		return '\n'
	case 't':
		return '\t'
	}
	return 0
}

// seek steps into an object, to the value of a member; false: there is none.
func (w *scanner) seek(name string) bool {
	if !w.enter('{') {
		return false
	}
	for w.more('}') {
		if string(w.memberName()) == name {
			return true
		}
		w.skip()
	}
	return false
}
