package web

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"net/http"
	"strings"
)

// maxSums bounds how many signatures one header may offer: a sender that changes its secret signs with the old one, too.
const maxSums = 4

// signature is what a request shows to be from whom it should be: HMACs of its body, or the secret itself.
type signature struct {
	hash  func() hash.Hash // of the HMACs
	ahead string           // what is signed before the body
	sums  [][]byte         // one of them must be right
	token string           // a secret in the clear, in place of sums
	keyed bool             // the key is what a secret of the form whsec_BASE64 encodes
}

// signatureOf reads the headers by which senders sign. The first one that is there decides, so that a request cannot choose
// the one that it is able to forge:
//
//	header                 value                     from
//	X-Hub-Signature-256    sha256=HEX                GitHub, Gitea, Forgejo
//	X-Forgejo-Signature    HEX of SHA-256            Forgejo
//	X-Gitea-Signature      HEX of SHA-256            Gitea, Forgejo
//	Webhook-Signature      v1,BASE64 of SHA-256 …    GitLab with a signing token (standardwebhooks.com)
//	X-Gitlab-Token         the secret                GitLab with a secret token
//	X-Hub-Signature        sha256=HEX                Bitbucket Cloud and Data Center
//	X-Signature            sha256=HEX, sha512=HEX    anybody
//
// False: there is none, or what there is has not that form; SHA-1 counts nowhere.
func signatureOf(h http.Header) (signature, bool) {
	for _, sender := range []struct {
		header string
		read   func(http.Header, string) (signature, bool)
	}{
		{"X-Hub-Signature-256", named},
		{"X-Forgejo-Signature", bare},
		{"X-Gitea-Signature", bare},
		{"Webhook-Signature", standard},
		{"X-Gitlab-Token", token},
		{"X-Hub-Signature", named},
		{"X-Signature", named},
	} {
		if values := h.Values(sender.header); len(values) > 0 {
			if len(values) > 1 || values[0] == "" {
				return signature{}, false
			}
			return sender.read(h, values[0])
		}
	}
	return signature{}, false
}

func named(_ http.Header, value string) (signature, bool) {
	algorithm, sum, _ := strings.Cut(value, "=")
	switch algorithm {
	case "sha256":
		return hexadecimal(sha256.New, sum)
	case "sha512":
		return hexadecimal(sha512.New, sum)
	}
	return signature{}, false
}

func bare(_ http.Header, value string) (signature, bool) { return hexadecimal(sha256.New, value) }

func hexadecimal(of func() hash.Hash, value string) (signature, bool) {
	sum, err := hex.DecodeString(value)
	if err != nil || len(sum) != of().Size() {
		return signature{}, false
	}
	return signature{hash: of, sums: [][]byte{sum}}, true
}

// standard is Standard Webhooks: several signatures, by version, of id, time and body. The time is not judged: who sends a request once more gets
// another read Git, as with every other sender.
func standard(h http.Header, value string) (signature, bool) {
	id, at := h.Values("Webhook-Id"), h.Values("Webhook-Timestamp")
	offered := strings.Fields(value)
	if len(id) != 1 || len(at) != 1 || len(offered) > maxSums {
		return signature{}, false
	}
	p := signature{hash: sha256.New, ahead: id[0] + "." + at[0] + ".", keyed: true}
	for _, o := range offered {
		version, text, _ := strings.Cut(o, ",")
		sum, err := base64.StdEncoding.DecodeString(text)
		if version == "v1" && err == nil && len(sum) == sha256.Size {
			p.sums = append(p.sums, sum)
		}
	}
	return p, len(p.sums) > 0
}

func token(_ http.Header, value string) (signature, bool) { return signature{token: value}, true }

// holds reads the body to its end, without keeping it, and says whether one of the secrets proves it. How long that takes
// depends on the body and on how many secrets there are, never on what they are.
func (p signature) holds(secrets hookSecrets, body io.Reader) (bool, error) {
	macs := make([]hash.Hash, 0, len(secrets))
	to := []io.Writer{io.Discard}
	if p.token == "" {
		for _, s := range secrets {
			mac := hmac.New(p.hash, s.key(p.keyed))
			_, _ = io.WriteString(mac, p.ahead) // a hash takes everything
			macs, to = append(macs, mac), append(to, mac)
		}
	}
	if _, err := io.Copy(io.MultiWriter(to...), body); err != nil {
		return false, err
	}
	right := false
	for _, mac := range macs {
		want := mac.Sum(nil)
		for _, sum := range p.sums {
			right = hmac.Equal(want, sum) || right
		}
	}
	return right || p.token != "" && p.known(secrets), nil
}

// known reports whether the token is one of the secrets.
func (p signature) known(secrets hookSecrets) bool {
	right := false
	for _, s := range secrets {
		right = s.is(p.token) || right
	}
	return right
}

// hookSecret is what we share with a sender.
type hookSecret []byte

// hookSecrets are those in force; more than one while a sender changes from one to the next.
type hookSecrets []hookSecret

// is compares digests: a comparison of what differs in length would tell so by its time.
func (s hookSecret) is(given string) bool {
	mine, theirs := sha256.Sum256(s), sha256.Sum256([]byte(given))
	return hmac.Equal(mine[:], theirs[:])
}

// key returns what an HMAC is keyed with.
func (s hookSecret) key(encoded bool) []byte {
	if text, ok := bytes.CutPrefix(s, []byte("whsec_")); ok && encoded {
		if key, err := base64.StdEncoding.DecodeString(string(text)); err == nil {
			return key
		}
	}
	return s
}

// String hides the value from %s and %v.
func (hookSecret) String() string { return "[redacted]" }

// GoString hides the value from %#v.
func (hookSecret) GoString() string { return "[redacted]" }

// MarshalText hides the value from JSON and logs.
func (hookSecret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }
