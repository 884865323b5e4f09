package trust_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/sync/trust"
)

// kept returns what gpg, ssh-keygen and git once wrote: a worker of the fuzzer has no time to ask them.
func kept(f *testing.F, name string) []byte {
	f.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		f.Fatal(err)
	}
	return data
}

// ParseKeys is total: keys or an error, and the same for the same bytes.
func FuzzParseKeys(f *testing.F) {
	public := kept(f, "key.pub")
	f.Add(public)
	f.Add(kept(f, "key.asc"))
	f.Add(kept(f, "key.gpg"))
	f.Add([]byte(`"a b" namespaces="git,file",valid-after="20260101Z" ` + string(public)))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := trust.ParseKeys(map[string][]byte{"k": data})
		again, errAgain := trust.ParseKeys(map[string][]byte{"k": data})
		if (err == nil) != (errAgain == nil) || !k.Same(again) {
			t.Errorf("ParseKeys is not the same twice: %v, %v", err, errAgain)
		}
		if _, err := k.Commit(data); err == nil {
			t.Error("a file of keys is a signed commit")
		}
	})
}

// Commit and Tag are total, and what they believe is what was signed: the bytes of the seeds, but for the signature.
func FuzzSigned(f *testing.F) {
	k := keys(f, kept(f, "key.pub"), kept(f, "key.asc"))
	var signed [][]byte
	for _, name := range []string{"commit.ssh", "tag.ssh", "commit.openpgp", "tag.openpgp"} {
		signed = append(signed, kept(f, name))
		f.Add(signed[len(signed)-1], "v1.0")
		_, err := k.Commit(signed[len(signed)-1])
		if strings.HasPrefix(name, "tag") {
			_, err = k.Tag(signed[len(signed)-1], "v1.0")
		}
		if err != nil {
			f.Errorf("%s: %v", name, err)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, name string) {
		for _, signer := range []func() (trust.Signer, error){
			func() (trust.Signer, error) { return k.Commit(raw) },
			func() (trust.Signer, error) { return k.Tag(raw, name) },
		} {
			by, err := signer()
			kinds := []error{trust.ErrUnsigned, trust.ErrUnknownKey, trust.ErrBadSignature}
			switch {
			case err == nil && !same(raw, signed):
				t.Errorf("%s is said to have signed %q", by, raw)
			case err != nil && !errors.Is(err, kinds[0]) && !errors.Is(err, kinds[1]) && !errors.Is(err, kinds[2]):
				t.Errorf("error %q is of no kind", err)
			}
		}
	})
}

// same reports whether raw begins and ends as one that was signed.
func same(raw []byte, signed [][]byte) bool {
	for _, s := range signed {
		head, _, _ := bytes.Cut(s, []byte("gpgsig "))
		head, _, _ = bytes.Cut(head, []byte("-----BEGIN"))
		if bytes.HasPrefix(raw, head) {
			return true
		}
	}
	return false
}
