package values

import (
	"encoding/json"
	"errors"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// entry is one entry of a mapping; without a key, it is where a new entry of that mapping belongs.
type entry struct {
	mapping    *yaml3.Node
	key, value *yaml3.Node
	limit      int // the line at which what comes after the entry begins, from 0
}

var errStyle = errors.New("its line is not a key and a value")

// find follows a path as far as the document has it in block style. It returns the entry of the last key that it found, or the mapping that lacks
// the next one, and the index of that key in the path.
func (d Document) find(keys []string) (entry, int) {
	p := entry{mapping: d.root, limit: len(d.lines())}
	for i := 0; ; i++ {
		next := p.below(keys[i])
		if next.key == nil {
			return next, i
		}
		p = next
		if i == len(keys)-1 || p.value.Kind != yaml3.MappingNode || p.value.Style&yaml3.FlowStyle != 0 || len(p.value.Content) == 0 {
			return p, i
		}
		p.mapping = p.value
	}
}

// below finds a key of the entry's mapping.
func (p entry) below(key string) entry {
	content := p.mapping.Content
	for i := 0; i+1 < len(content); i += 2 {
		if content[i].Value != key {
			continue
		}
		at := entry{mapping: p.mapping, key: content[i], value: content[i+1], limit: p.limit}
		if i+2 < len(content) {
			at.limit = content[i+2].Line - 1
		}
		return at
	}
	return entry{mapping: p.mapping, limit: p.limit}
}

// lines returns the lines of the text with their ends.
func (d Document) lines() []string {
	lines := strings.SplitAfter(d.text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// end returns the line after the entry. Blank lines and comments before the next entry are not part of it.
func (p entry) end(lines []string) int {
	end := p.limit
	literal := p.value.Style&(yaml3.LiteralStyle|yaml3.FoldedStyle) != 0
	for ; end > p.key.Line; end-- {
		line := strings.TrimSpace(lines[end-1])
		inLiteral := literal && indentOf(lines[end-1]) >= p.key.Column
		if line != "" && line != "..." && (!strings.HasPrefix(line, "#") || inLiteral) {
			break
		}
	}
	return end
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// replace returns the text with another value in an entry. A comment in the line of the key stays.
func (d Document) replace(p entry, v any) (string, error) {
	lines := d.lines()
	at := p.key.Line - 1
	line := lines[at]
	head, ok := keyPart(line, p.key)
	if !ok {
		return "", errStyle
	}
	text := written(strings.TrimSpace(head), p.key.Column-1, v, trailing(line, p), lineEnd(line))
	return strings.Join(lines[:at], "") + text + strings.Join(lines[p.end(lines):], ""), nil
}

// insert returns the text with another entry at the end of a mapping.
func (d Document) insert(p entry, key string, v any) (string, error) {
	content := p.mapping.Content
	last := entry{mapping: p.mapping, key: content[len(content)-2], value: content[len(content)-1], limit: p.limit}
	lines := d.lines()
	if _, ok := keyPart(lines[last.key.Line-1], last.key); !ok {
		return "", errStyle
	}
	end := lineEnd(lines[last.key.Line-1])
	at := last.end(lines)
	before := strings.Join(lines[:at], "")
	if !strings.HasSuffix(before, "\n") {
		before += end
	}
	return before + written(key+":", last.key.Column-1, v, "", end) + strings.Join(lines[at:], ""), nil
}

// keyPart returns the beginning of a line up to the colon after its key; false: the key is not the first of the line.
func keyPart(line string, key *yaml3.Node) (string, bool) {
	from := key.Column - 1
	if from > len(line) || strings.TrimLeft(line[:from], " ") != "" {
		return "", false
	}
	quote := 0
	if key.Style&(yaml3.DoubleQuotedStyle|yaml3.SingleQuotedStyle) != 0 {
		quote = 1
	}
	to := from + len(key.Value) + 2*quote
	if to > len(line) || line[from+quote:to-quote] != key.Value {
		return "", false
	}
	rest := strings.TrimLeft(line[to:], " ")
	if !strings.HasPrefix(rest, ":") {
		return "", false
	}
	return line[:len(line)-len(rest)+1], true
}

// trailing returns the comment in the line of a key, with the space before it.
func trailing(line string, p entry) string {
	comment := p.key.LineComment
	if comment == "" && p.value.Line == p.key.Line {
		comment = p.value.LineComment
	}
	at := strings.LastIndex(line, comment)
	if comment == "" || at < 0 {
		return ""
	}
	before := strings.TrimRight(line[:at], " \t")
	return line[len(before) : at+len(comment)]
}

func lineEnd(line string) string {
	if strings.HasSuffix(line, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// written returns the lines of an entry: in one line, or as a block below its key.
func written(key string, indent int, v any, comment, end string) string {
	margin := strings.Repeat(" ", indent)
	text, block := inYAML(v)
	if !block {
		return margin + key + " " + text + comment + end
	}
	if _, isMap := v.(map[string]any); isMap {
		indent += 2
	}
	var b strings.Builder
	b.WriteString(margin + key + comment + end)
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.Repeat(" ", indent) + line + end)
	}
	return b.String()
}

// inYAML returns a value as Kubernetes writes it, and whether it takes several lines.
func inYAML(v any) (text string, block bool) {
	out, err := yaml.Marshal(v)
	text = strings.TrimSuffix(string(out), "\n")
	if s, isText := v.(string); err != nil || isText && strings.ContainsAny(s, "\n\r") {
		quoted, _ := json.Marshal(s) //nolint:errchkjson // a string encodes
		return string(quoted), false
	}
	switch of := v.(type) {
	case map[string]any:
		return text, len(of) > 0
	case []any:
		return text, len(of) > 0
	}
	return text, false
}
