package object

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
)

const redacted = "redacted"

// Secret redacts itself however it is printed, logged or encoded; only Bytes gives it away.
type Secret struct{ value []byte }

// NewSecret takes the value over: the caller must not change it.
func NewSecret(value []byte) Secret { return Secret{value} }

// Bytes is the value itself.
func (s Secret) Bytes() []byte { return s.value }

// IsZero says that there is no value.
func (s Secret) IsZero() bool { return len(s.value) == 0 }

// Print is a short keyed hash that shows that a value changed and nothing else:
// HMAC-SHA-256, 12 hex digits. The key is the uid of the source's kube-system namespace.
func (s Secret) Print(key string) string {
	m := hmac.New(sha256.New, []byte(key))
	m.Write(s.value)
	return hex.EncodeToString(m.Sum(nil))[:12]
}

func (Secret) String() string               { return redacted }
func (Secret) GoString() string             { return redacted }
func (Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// Body is the JSON of an object. It may hold a secret and redacts itself like Secret; only Bytes gives it away.
type Body struct{ json []byte }

// NewBody takes the bytes over: the caller must not change them.
func NewBody(json []byte) Body { return Body{json} }

// Bytes is the JSON itself.
func (b Body) Bytes() []byte { return b.json }

func (Body) String() string               { return redacted }
func (Body) GoString() string             { return redacted }
func (Body) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (Body) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
