package object

import (
	"bytes"
	"encoding/json"
	"strings"
)

// walk steps through JSON of our own, value by value, without decoding it. What is not JSON breaks it.
type walk struct {
	json   []byte
	at     int
	broken bool
}

// next is the next byte that is no white space; 0 at the end, and once it is broken.
func (w *walk) next() byte {
	for ; w.at < len(w.json) && !w.broken; w.at++ {
		switch c := w.json[w.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	w.broken = true
	return 0
}

// enter steps into an object or a list; false: what comes next is none.
func (w *walk) enter(open byte) bool {
	if w.next() != open {
		return false
	}
	w.at++
	return true
}

// more says whether another member or item follows; if not, the end is stepped over.
func (w *walk) more(end byte) bool {
	c := w.next()
	if c == ',' {
		w.at++
		c = w.next()
	}
	if c == end {
		w.at++
	}
	return c != end && !w.broken
}

// name steps over the name of a member, to its value.
func (w *walk) name() []byte {
	if name, ok := w.plainName(); ok {
		return name
	}
	raw := w.skip()
	if len(raw) < 2 || raw[0] != '"' || w.next() != ':' {
		w.broken = true
		return nil
	}
	w.at++
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var name string
	w.broken = json.Unmarshal(raw, &name) != nil
	return []byte(name)
}

// plainName is name for one without escapes, behind which its value follows at once; false, and no step: it is another.
func (w *walk) plainName() ([]byte, bool) {
	if w.next() != '"' {
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

// skip steps over a value, and gives it.
func (w *walk) skip() []byte {
	c := w.next()
	from := w.at
	switch c {
	case '"':
		w.text()
	case '{', '[':
		w.nested()
	default:
		w.word()
	}
	return w.json[from:w.at]
}

func (w *walk) text() {
	for w.at++; ; w.at++ {
		i := bytes.IndexByte(w.json[w.at:], '"')
		if i < 0 {
			w.at, w.broken = len(w.json), true
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

func (w *walk) nested() {
	for depth := 0; w.at < len(w.json); {
		switch w.json[w.at] {
		case '"':
			w.text()
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
	w.broken = true
}

// word steps over a number, true, false or null.
func (w *walk) word() {
	from := w.at
	for w.at < len(w.json) && bytes.IndexByte([]byte(",]} \t\r\n"), w.json[w.at]) < 0 {
		w.at++
	}
	w.broken = w.broken || w.at == from
}

// Text finds a string in the JSON by the names of the fields that lead to it, without decoding the rest; false: there is
// none, or it has to be looked for by decoding all.
func (b Body) Text(path ...string) (string, bool) {
	w := walk{json: b.Bytes()}
	for _, name := range path {
		if !w.find(name) {
			return "", false
		}
	}
	raw := w.skip()
	if w.broken || len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return unquoted(raw)
}

// unquoted is what a string in JSON says. What is no letter by a number is taken over here; the rest, which is rare in what is
// written to be read, is decoded.
func unquoted(raw []byte) (string, bool) {
	var out strings.Builder
	out.Grow(len(raw))
	for rest := raw[1 : len(raw)-1]; ; {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 {
			out.Write(rest)
			return out.String(), true
		}
		c := escape(rest[at+1])
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

// escape is what a letter stands for behind a backslash; 0: something that takes more than that letter.
func escape(c byte) byte {
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

// find steps into an object, to the value of a member.
func (w *walk) find(name string) bool {
	if !w.enter('{') {
		return false
	}
	for w.more('}') {
		if string(w.name()) == name {
			return true
		}
		w.skip()
	}
	return false
}
