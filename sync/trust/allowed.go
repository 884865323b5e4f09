package trust

import (
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// sshKey is one line: a key, and what it may sign.
type sshKey struct {
	ssh.PublicKey
	identity      string
	namespaces    string    // patterns; empty: any
	after, before time.Time // zero: no bound; both inclusive
}

// minRSABits is what OpenSSH makes at least, since 2018.
const minRSABits = 2048

// line reads a line of authorized_keys or of allowed_signers.
func (k *Keys) line(text string) error {
	first, rest := word(text)
	if isKeyType(first) {
		key, comment, err := publicKey(text)
		if err != nil {
			return err
		}
		k.ssh = append(k.ssh, sshKey{PublicKey: key, identity: comment})
		return nil
	}
	// Of authorized_keys: they say what a login may do, or that it is none.
	if strings.Contains(first, "=") || slices.Contains([]string{"restrict", "cert-authority"}, first) || strings.HasPrefix(first, "no-") {
		return fmt.Errorf("%q is an option, but a key or principals are expected: write allowed_signers (PRINCIPALS namespaces=\"git\" KEY), or the key alone", first)
	}
	out := sshKey{identity: strings.Trim(first, `"`)}
	if options, after := word(rest); !isKeyType(options) {
		if err := out.options(options); err != nil {
			return err
		}
		rest = after
	}
	var err error
	if out.PublicKey, _, err = publicKey(rest); err != nil {
		return err
	}
	k.ssh = append(k.ssh, out)
	return nil
}

// word cuts a text at the first blank that is not quoted.
func word(text string) (first, rest string) {
	quoted := false
	for i, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t'):
			return text[:i], strings.TrimLeft(text[i:], " \t")
		}
	}
	return text, ""
}

// isKeyType also takes those that are refused, for their own reason.
func isKeyType(s string) bool {
	for _, prefix := range []string{"ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"} {
		if strings.HasPrefix(s, prefix) {
			return !strings.ContainsAny(s, "=,\"")
		}
	}
	return false
}

// publicKey reads a type, the key in base64, and a comment.
func publicKey(text string) (ssh.PublicKey, string, error) {
	kind, rest := word(text)
	encoded, comment := word(rest)
	switch {
	case !isKeyType(kind):
		return nil, "", errors.New("this is not an SSH public key: want TYPE BASE64 as in a .pub file, or PRINCIPALS OPTIONS TYPE BASE64")
	case strings.Contains(kind, "-cert-"):
		return nil, "", errors.New("this is a certificate: give the public key itself")
	case kind == "ssh-dss":
		return nil, "", errors.New("DSA is broken: sign with an ed25519 key")
	}
	blob, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, "", fmt.Errorf("the %s key is not base64: it may be cut off", kind)
	}
	key, err := ssh.ParsePublicKey(blob)
	if err != nil || key.Type() != kind {
		return nil, "", fmt.Errorf("this %s key cannot be read: it may be cut off, or of an obsolete kind", kind)
	}
	if bits := rsaBits(key); bits > 0 && bits < minRSABits {
		return nil, "", fmt.Errorf("the RSA key has %d bits: it needs at least %d; better use an ed25519 key", bits, minRSABits)
	}
	return key, strings.TrimSpace(comment), nil
}

// rsaBits is 0 for a key of another kind.
func rsaBits(key ssh.PublicKey) int {
	if c, ok := key.(ssh.CryptoPublicKey); ok {
		if k, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok {
			return k.N.BitLen()
		}
	}
	return 0
}

// options reads what stands between principals and key, divided by commas that are not quoted.
func (s *sshKey) options(text string) error {
	quoted := false
	for _, option := range strings.FieldsFunc(text, func(c rune) bool {
		if c == '"' {
			quoted = !quoted
		}
		return c == ',' && !quoted
	}) {
		name, value, _ := strings.Cut(option, "=")
		value = strings.Trim(value, `"`)
		var err error
		switch strings.ToLower(name) {
		case "namespaces":
			s.namespaces = value
			if value == "" {
				err = errors.New("namespaces is empty: want namespaces=\"git\"")
			}
		case "valid-after":
			s.after, err = date(name, value)
		case "valid-before":
			s.before, err = date(name, value)
		case "cert-authority":
			err = errors.New("cert-authority: linkwright does not support certificates: list the keys themselves")
		default:
			err = fmt.Errorf("%q is neither a key nor an option of allowed_signers: want namespaces, valid-after or valid-before", option)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// date reads YYYYMMDD or YYYYMMDDHHMM[SS], with or without Z. Unlike OpenSSH's it is always of UTC: which moment is meant
// must not depend on the machine.
func date(name, value string) (time.Time, error) {
	digits := strings.TrimSuffix(value, "Z")
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(digits) == len(layout) {
			if t, err := time.Parse(layout, digits); err == nil {
				return t, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%s=%q: want YYYYMMDD or YYYYMMDDHHMM[SS], of UTC", name, value)
}

// allows returns why the key must not sign that, or nothing.
func (s sshKey) allows(at time.Time) string {
	switch {
	case !allowed(s.namespaces, namespace):
		return fmt.Sprintf("is not meant for Git: it is allowed for namespaces=%q (add git to them)", s.namespaces)
	case !s.after.IsZero() && at.Before(s.after):
		return "is valid only after " + s.after.Format(time.RFC3339) + " (sign again)"
	case !s.before.IsZero() && at.After(s.before):
		return "was valid only before " + s.before.Format(time.RFC3339) + " (sign with another key)"
	}
	return ""
}

// allowed matches a name with patterns as OpenSSH does: one that begins with ! and matches outweighs the others.
func allowed(patterns, name string) bool {
	found := patterns == ""
	for pattern := range strings.SplitSeq(patterns, ",") {
		pattern, not := strings.CutPrefix(strings.TrimSpace(pattern), "!")
		if ok, err := path.Match(strings.NewReplacer(`[`, `\[`, `\`, `\\`).Replace(pattern), name); err == nil && ok {
			if not {
				return false
			}
			found = true
		}
	}
	return found
}
