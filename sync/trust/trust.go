// Package trust verifies who signed a commit or a tag.
//
// It takes the raw bytes of Git objects, and never decodes and encodes them again. Public keys come as the text that people export. It reads no
// files and no clock: a key is judged at the time that is signed with the rest.
package trust

import (
	"errors"
	"fmt"
)

// What a caller may have to tell apart. Every error of Commit and Tag is one of them, and says what to do.
var (
	// ErrUnsigned says that nobody signed.
	ErrUnsigned = errors.New("unsigned")
	// ErrUnknownKey says that somebody signed whose key is not among the keys.
	ErrUnknownKey = errors.New("signed by an unknown key")
	// ErrBadSignature says that there is a signature which must not be believed: it is of other bytes, of a key that may
	// not sign, or not where Git puts it.
	ErrBadSignature = errors.New("bad signature")
)

// Kinds of signatures.
const (
	OpenPGP = "OpenPGP"
	SSH     = "SSH"
)

// Signer is a key that signed. It is public, and may be shown.
type Signer struct {
	Kind        string // OpenPGP or SSH
	Fingerprint string // of the key itself, as gpg and ssh-keygen write it; of OpenPGP it may be a subkey's
	Identity    string // what the keys say about it: user id, principals, or comment; empty where they say nothing
}

func (s Signer) String() string {
	if s.Identity == "" {
		return s.Kind + " key " + s.Fingerprint
	}
	return fmt.Sprintf("%s key %s (%s)", s.Kind, s.Fingerprint, s.Identity)
}

// Commit returns whose signature a commit carries. raw is the object's content, without Git's own "commit SIZE" before it.
func (k Keys) Commit(raw []byte) (Signer, error) {
	s, err := commitOf(raw)
	if err != nil {
		return Signer{}, err
	}
	if s.armor == "" {
		return Signer{}, fmt.Errorf("%w (sign it: git commit -S)", ErrUnsigned)
	}
	return k.signer(s)
}

// Tag returns whose signature an annotated tag carries. raw is the object's content; name is the ref's, with or without refs/tags/: a tag that was
// made under another name proves nothing about this one.
func (k Keys) Tag(raw []byte, name string) (Signer, error) {
	s, err := tagOf(raw, name)
	if err != nil {
		return Signer{}, err
	}
	if s.armor == "" {
		return Signer{}, fmt.Errorf("%w (sign it: git tag -s)", ErrUnsigned)
	}
	return k.signer(s)
}

func (k Keys) signer(s signed) (Signer, error) {
	switch kind, _ := cutLine(s.armor); kind {
	case beginPGP:
		return k.openPGP(s)
	case beginSSH:
		return k.openSSH(s)
	default:
		return Signer{}, bad("it is neither of OpenPGP nor of SSH (git config gpg.format openpgp, or ssh)")
	}
}

// bad keeps nothing of a library's error but its words: nobody shall take it for a server's or a disk's.
func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBadSignature, fmt.Sprintf(format, args...))
}

func unknown(fingerprint string) error {
	return fmt.Errorf("%w %s (add its public key to the trusted keys, or sign with one of those)", ErrUnknownKey, fingerprint)
}

// wrongBytes is for a signature of a known key that does not fit.
func wrongBytes(by Signer) error {
	return bad("it does not match the content, which changed after %s signed (sign again)", by)
}
