package object

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
)

// Body is the JSON of an object. It may hold a secret and redacts itself like Secret; only Bytes returns it.
type Body struct{ value opaque }

// NewBody keeps the bytes: the caller must not change them.
func NewBody(json []byte) Body { return Body{newOpaque(json)} }

// Bytes is the JSON itself.
func (b Body) Bytes() []byte { return b.value.bytes() }

// IsZero reports whether there is no JSON.
func (b Body) IsZero() bool { return len(b.Bytes()) == 0 }

// Equal reports whether the JSON is the same, byte for byte.
func (b Body) Equal(o Body) bool { return b == o || bytes.Equal(b.Bytes(), o.Bytes()) }

// Format writes the same for every verb.
func (Body) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, redacted) }

// String returns a placeholder.
func (Body) String() string { return redacted }

// GoString returns a placeholder.
func (Body) GoString() string { return redacted }

// LogValue returns a placeholder.
func (Body) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON returns a placeholder.
func (Body) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
