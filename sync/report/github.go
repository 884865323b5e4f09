package report

import (
	"fmt"
	"strings"
	"unicode"
)

// github gives workflow commands, which GitHub shows beside the lines they are about, and the last line of the text. A
// line that begins with a command is searched for no other, and nothing in it ends it: see property.
func (d problemsDoc) github() string {
	var b strings.Builder
	for _, f := range d.findings() {
		fmt.Fprintf(&b, "::%s %s::%s\n", f.Severity, strings.Join(f.properties(), ","), escapeData(f.message()))
	}
	return b.String() + d.sum() + "\n"
}

// properties say where a command belongs, leaving out what is unknown.
func (f findingDoc) properties() []string {
	var out []string
	if f.File != "" {
		out = append(out, "file="+property(f.File))
	}
	if f.Line > 0 {
		out = append(out, fmt.Sprintf("line=%d", f.Line))
	}
	if f.Column > 0 {
		out = append(out, fmt.Sprintf("col=%d", f.Column))
	}
	return append(out, "title="+property("linkwright: "+f.rule()))
}

// escapeData is what GitHub's runner unescapes in a message.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// property is escaped further. What can be neither escaped nor printed is replaced: a terminal may read along.
func property(s string) string {
	s = strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeData(s))
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
