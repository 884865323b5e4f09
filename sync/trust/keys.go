package trust

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ProtonMail/go-crypto/openpgp"
)

// MaxBytes bounds one file of keys: what a Secret or a ConfigMap can hold.
const MaxBytes = 1 << 20

// Keys are the public keys that are believed; the zero value believes nobody. They never change, and may be used from many
// goroutines.
type Keys struct {
	pgp    openpgp.EntityList
	ssh    []sshKey
	digest [sha256.Size]byte
}

// Same reports whether both were parsed from the same files.
func (k Keys) Same(other Keys) bool { return k.digest == other.digest }

// ParseKeys reads public keys, by the names of their files. A file is a binary OpenPGP export, or a text that may hold any
// number of these:
//
//	-----BEGIN PGP PUBLIC KEY BLOCK-----    as gpg --armor --export writes it; any number of keys
//	ssh-ed25519 AAAA… comment               as in a .pub file or in authorized_keys, without options
//	a@example.com namespaces="git" ssh-…    as in allowed_signers of ssh-keygen: see ALLOWED SIGNERS there
//
// A file that holds anything else is an error which names it, its line, and what to do; a private key is never repeated.
func ParseKeys(files map[string][]byte) (Keys, error) {
	var out Keys
	var errs []error
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data := files[name]
		fmt.Fprintf(sum, "%d %s %d ", len(name), name, len(data)) //nolint:errcheck // a hash takes everything
		sum.Write(data)
		errs = append(errs, out.file(name, data))
	}
	if err := errors.Join(errs...); err != nil {
		return Keys{}, err
	}
	if len(out.pgp)+len(out.ssh) == 0 {
		return Keys{}, errors.New("there is no public key: give the OpenPGP or SSH public keys of those who sign")
	}
	sum.Sum(out.digest[:0])
	return out, nil
}

// file reads one file, to its first fault.
func (k *Keys) file(name string, data []byte) error {
	switch {
	case len(data) > MaxBytes:
		return fmt.Errorf("%s: is larger than %d MiB: name the file of public keys alone", name, MaxBytes>>20)
	case bytes.HasPrefix(data[min(8, len(data)):], []byte("KBXf")):
		return fmt.Errorf("%s: is GnuPG's keybox: give the output of gpg --export", name)
	case len(data) > 0 && data[0] >= 0x80:
		return k.binary(name, data)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return fmt.Errorf("%s: is neither text nor the output of gpg --export", name)
	}
	return k.text(name, string(data))
}

const (
	beginKey = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
	endKey   = "-----END PGP PUBLIC KEY BLOCK-----"
)

// text reads a file line by line.
func (k *Keys) text(name, text string) error {
	for number := 1; text != ""; number++ {
		line, rest := cutLine(text)
		line = strings.TrimLeft(line, " \t")
		var err error
		lines := 1
		switch {
		case line == "" || line[0] == '#':
		case line == beginKey:
			block, found := upTo(text, endKey)
			if !found {
				return fmt.Errorf("%s:%d: the key block does not end: want a line %s", name, number, endKey)
			}
			err, lines, rest = k.armored(block), strings.Count(block, "\n"), text[len(block):]
		case strings.HasPrefix(line, "-----BEGIN ") || strings.HasPrefix(line, "---- BEGIN "):
			err = otherBlock(line)
		default:
			err = k.line(line)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
		number, text = number+lines-1, rest
	}
	return nil
}

// upTo cuts a text behind the line that is end.
func upTo(text, end string) (string, bool) {
	for at := 0; at < len(text); {
		line, rest := cutLine(text[at:])
		at = len(text) - len(rest)
		if strings.TrimLeft(line, " \t") == end {
			return text[:at], true
		}
	}
	return "", false
}

var errPrivate = errors.New("this is a private key: remove it from here, and give its public key")

func otherBlock(line string) error {
	switch {
	case strings.Contains(line, "PRIVATE KEY"):
		return errPrivate
	case strings.Contains(line, "SSH2 PUBLIC KEY"):
		return errors.New("this is the format of RFC 4716: convert it with ssh-keygen -i -f FILE")
	case strings.Contains(line, "PUBLIC KEY"):
		return errors.New("this is a PEM public key: give the key as ssh-keygen or gpg --export writes it (ssh-keygen -i -m PKCS8 -f FILE)")
	}
	return errors.New("this is not a public key: want a PGP PUBLIC KEY BLOCK, or lines of SSH public keys")
}
