package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/linkwright/linkwright/object"
)

// noVersion is a resourceVersion that no object ever has. An apply that names it is refused with 409
// where an object exists; where none does, the server creates without looking at it (apiserver
// registry/generic/registry/store.go, Update). So one apply says "must not exist".
const noVersion = "1"

// guard puts preconditions into the metadata of an object or patch; every other byte stays.
// An empty one is left out; both empty is the body as it is.
func guard(body []byte, uid, version string) ([]byte, error) {
	if uid == "" && version == "" {
		return body, nil
	}
	at, open, err := metadata(body)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(struct {
		UID             string `json:"uid,omitempty"`
		ResourceVersion string `json:"resourceVersion,omitempty"`
	}{uid, version})
	if err != nil {
		return nil, err
	}
	text = text[1 : len(text)-1]
	if !open {
		text = slices.Concat([]byte(`"metadata":{`), text, []byte(`}`))
	}
	if !closes(body[at:]) {
		text = append(text, ',')
	}
	return slices.Concat(body[:at], text, body[at:]), nil
}

// errNoMetadata does not quote: the body may hold a secret.
var errNoMetadata = errors.New("put preconditions: the body is not a JSON object, or its metadata has them already")

// metadata returns the offset after the brace that opens the top-level metadata, and true, or after the one that opens the body. Metadata may have
// no precondition of its own yet.
func metadata(body []byte) (at int, open bool, err error) {
	m, ok := object.Member(body, "metadata")
	if !ok {
		return 0, false, errNoMetadata
	}
	if m.To == 0 {
		return bytes.IndexByte(body, '{') + 1, false, nil
	}
	for _, taken := range []string{"uid", "resourceVersion"} {
		if p, ok := object.Member(body[m.From:m.To], taken); !ok || p.To > 0 {
			return 0, false, errNoMetadata
		}
	}
	return m.From + 1, true, nil
}

// closes reports whether an object ends before its first key.
func closes(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == '}'
}
