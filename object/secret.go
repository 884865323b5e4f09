package object

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
)

const redacted = "redacted"

// opaque keeps bytes from fmt, which asks no methods of what it finds in an unexported field. It
// follows one pointer there, for a verb that does not fit, and prints the second one's address.
type opaque struct{ box **[]byte }

func newOpaque(b []byte) opaque {
	if b == nil {
		return opaque{}
	}
	var box struct { // one piece of memory, not two
		at    *[]byte
		value []byte
	}
	box.value = b
	box.at = &box.value
	return opaque{&box.at}
}

func (h opaque) bytes() []byte {
	if h.box == nil {
		return nil
	}
	return **h.box
}

// Secret redacts itself however it is printed, logged or encoded; only Bytes gives it away.
type Secret struct{ value opaque }

// NewSecret takes the value over: the caller must not change it.
func NewSecret(value []byte) Secret { return Secret{newOpaque(value)} }

// Bytes is the value itself.
func (s Secret) Bytes() []byte { return s.value.bytes() }

// IsZero reports whether there is no value.
func (s Secret) IsZero() bool { return len(s.value.bytes()) == 0 }

// Print is a short keyed hash that shows that a value changed and nothing else:
// HMAC-SHA-256, 12 hex digits. The key is the uid of the source's kube-system namespace. What is used beside the value and is
// none itself may count, too.
func (s Secret) Print(key string, beside ...string) string {
	m := hmac.New(sha256.New, []byte(key))
	m.Write(s.value.bytes())
	for _, part := range beside {
		m.Write([]byte("\n" + part))
	}
	return hex.EncodeToString(m.Sum(nil))[:12]
}

// Format writes the same for every verb.
func (Secret) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, redacted) }

// String gives no value away.
func (Secret) String() string { return redacted }

// GoString is as String.
func (Secret) GoString() string { return redacted }

// LogValue is as String.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON is as String.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
