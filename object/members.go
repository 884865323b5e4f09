package object

import "encoding/base64"

// Members is JSON under way: what is added is a member of the object opened last, byte for byte as encoding/json writes
// it, but without reflection. It is for what is written for each link in each plan.
type Members []byte

// Open begins an object; without a name it is no member.
func (m *Members) Open(name string) {
	if name != "" {
		m.name(name)
	}
	*m = append(*m, '{')
}

// Close ends what was opened last.
func (m *Members) Close() { *m = append(*m, '}') }

// Text adds a string.
func (m *Members) Text(name, value string) {
	m.name(name)
	*m = appendString(*m, value)
}

// Some adds a string, unless it is empty.
func (m *Members) Some(name, value string) {
	if value != "" {
		m.Text(name, value)
	}
}

// Texts adds a list of strings, unless it is empty.
func (m *Members) Texts(name string, values []string) {
	for i, value := range values {
		if i == 0 {
			m.name(name)
			*m = append(*m, '[')
		} else {
			*m = append(*m, ',')
		}
		*m = appendString(*m, value)
	}
	if len(values) > 0 {
		*m = append(*m, ']')
	}
}

// Base64 adds bytes.
func (m *Members) Base64(name string, value []byte) {
	m.name(name)
	*m = append(base64.StdEncoding.AppendEncode(append(*m, '"'), value), '"')
}

// Raw adds what is JSON already.
func (m *Members) Raw(name string, value []byte) {
	m.name(name)
	*m = append(*m, value...)
}

// name begins a member, behind a comma where it is not the first.
func (m *Members) name(name string) {
	if last := len(*m) - 1; (*m)[last] != '{' {
		*m = append(*m, ',')
	}
	*m = append(appendString(*m, name), ':')
}
