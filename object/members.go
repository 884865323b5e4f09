package object

import "encoding/base64"

// Members encodes a JSON object without reflection: each call adds a member to the last opened object, byte for byte as
// encoding/json does. It is for objects that every plan encodes for each link.
type Members []byte

// Open begins an object; without a name it is the outermost one.
func (m *Members) Open(name string) {
	if name != "" {
		m.name(name)
	}
	*m = append(*m, '{')
}

// Close ends the last opened object.
func (m *Members) Close() { *m = append(*m, '}') }

// Text adds a string.
func (m *Members) Text(name, value string) {
	m.name(name)
	*m = appendString(*m, value)
}

// TextIfSet adds a string, unless it is empty.
func (m *Members) TextIfSet(name, value string) {
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

// Raw adds JSON.
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
