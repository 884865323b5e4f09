package forge

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a credential that redacts itself however it is printed, logged or encoded, also inside a field that is not
// exported: fmt, which asks no methods there, finds a function. Only Reveal gives it away. The zero value is none.
type Secret struct{ value func() string }

// NewSecret keeps a text from being shown.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{func() string { return text }}
}

// Reveal returns the text itself; empty where there is none.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return s.value()
}

// IsZero reports whether there is none.
func (s Secret) IsZero() bool { return s.value == nil }

// Format writes the same for every verb.
func (Secret) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, redacted) }

// String reveals nothing.
func (Secret) String() string { return redacted }

// GoString is as String.
func (Secret) GoString() string { return redacted }

// LogValue is as String.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON is as String.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
