package object

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
)

// Body is the JSON of an object. It may hold a secret and redacts itself like Secret; only Bytes gives it away.
type Body struct{ at **kept } // twice, as of hidden

// kept is how a body is kept: as it is, or as what it differs in from another one, which is kept as it is.
type kept struct {
	json []byte
	like *kept
}

// NewBody takes the bytes over: the caller must not change them.
func NewBody(json []byte) Body {
	if json == nil {
		return Body{}
	}
	return keep(kept{json: json})
}

func keep(k kept) Body {
	var box struct { // one piece of memory, not two
		at *kept
		kept
	}
	box.kept = k
	box.at = &box.kept
	return Body{&box.at}
}

// Bytes is the JSON itself. That of a body made by Like is put together anew each time.
func (b Body) Bytes() []byte {
	switch {
	case b.at == nil:
		return nil
	case (*b.at).like == nil:
		return (*b.at).json
	}
	return unpack((*b.at).like.json, (*b.at).json)
}

// IsZero says that there is no JSON.
func (b Body) IsZero() bool { return b.at == nil || len((*b.at).json) == 0 }

// Like gives the same JSON, kept as what it differs in from another body, if that takes much less memory; false: it does
// not, and the body is given as it is. It is for what is kept long and seldom looked at.
func (b Body) Like(o Body) (Body, bool) {
	if b.IsZero() || o.IsZero() || (*b.at).like != nil || (*o.at).like != nil {
		return b, false
	}
	packed, ok := pack((*o.at).json, (*b.at).json)
	if !ok {
		return b, false
	}
	return keep(kept{json: packed, like: *o.at}), true
}

// Equal says that the JSON is the same, byte for byte.
func (b Body) Equal(o Body) bool {
	switch {
	case b.IsZero() || o.IsZero():
		return b.IsZero() == o.IsZero()
	case b == o:
		return true
	case (*b.at).like == (*o.at).like: // of the same, or of none
		return bytes.Equal((*b.at).json, (*o.at).json)
	}
	return bytes.Equal(b.Bytes(), o.Bytes())
}

// Format writes the same for every verb.
func (Body) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, redacted) }

// String gives no value away.
func (Body) String() string { return redacted }

// GoString is as String.
func (Body) GoString() string { return redacted }

// LogValue is as String.
func (Body) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON is as String.
func (Body) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
