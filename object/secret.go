package object

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

const redacted = "redacted"

// opaque hides bytes from fmt, which does not call methods of unexported fields. fmt follows
// one pointer for a verb that does not fit, and prints the address of the second one.
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

// Secret redacts itself however it is printed, logged or encoded; only Bytes returns it.
type Secret struct{ value opaque }

// NewSecret keeps the value: the caller must not change it.
func NewSecret(value []byte) Secret { return Secret{newOpaque(value)} }

// Bytes is the value itself.
func (s Secret) Bytes() []byte { return s.value.bytes() }

// IsZero reports whether there is no value.
func (s Secret) IsZero() bool { return len(s.value.bytes()) == 0 }

// Claims decodes what a JSON Web Token says of itself (RFC 7519), unverified; false: it is none.
func (s Secret) Claims(into any) bool {
	parts := strings.Split(string(s.value.bytes()), ".")
	if len(parts) != 3 {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	return err == nil && json.Unmarshal(raw, into) == nil
}

// Fingerprint is the fingerprint of a secret: HMAC-SHA-256 in 12 hex digits, which shows only whether the value changed. The key is the uid
// of the source's kube-system namespace. Values that belong to the secret and are not secret can be part of it (beside).
func (s Secret) Fingerprint(key string, beside ...string) string {
	m := hmac.New(sha256.New, []byte(key))
	m.Write(s.value.bytes())
	for _, part := range beside {
		m.Write([]byte("\n" + part))
	}
	return hex.EncodeToString(m.Sum(nil))[:12]
}

// Format writes the same for every verb.
func (Secret) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, redacted) }

// String returns a placeholder.
func (Secret) String() string { return redacted }

// GoString returns a placeholder.
func (Secret) GoString() string { return redacted }

// LogValue returns a placeholder.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON returns a placeholder.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
