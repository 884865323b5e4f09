package trust_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/sync/trust"
)

// What real Git signs with a real gpg is believed, and only with the key that signed.
func TestOpenPGP(t *testing.T) {
	s := newScene(t)
	a, b := s.pgp("ann"), s.pgp("bob")
	commit, tag := s.commit(by("openpgp", a), "-S"), s.tag(by("openpgp", a), "v1.0", "-s")
	both := keys(t, s.export(b), s.export(a))
	for what, signer := range map[string]func(trust.Keys) (trust.Signer, error){
		"commit": func(k trust.Keys) (trust.Signer, error) { return k.Commit(commit) },
		"tag":    func(k trust.Keys) (trust.Signer, error) { return k.Tag(tag, "refs/tags/v1.0") },
	} {
		got, err := signer(both)
		if want := (trust.Signer{Kind: trust.OpenPGP, Fingerprint: a, Identity: "ann <ann@example.com>"}); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", what, got, err, want)
		}
		_, err = signer(keys(t, s.export(b)))
		refuse(t, err, trust.ErrUnknownKey, "signed by an unknown key "+a, "add its public key")
		_, err = signer(keys(t, []byte(s.gpg("--export", a)))) // not armored
		if err != nil {
			t.Errorf("%s, with a binary key: %v", what, err)
		}
	}
}

// A subkey that may sign does so for its key; Git's own default on many machines.
func TestOpenPGPSubkey(t *testing.T) {
	s := newScene(t)
	a := s.pgp("ann")
	s.gpg("--quick-add-key", a, "rsa2048", "sign", "never")
	commit := s.commit(by("openpgp", a), "-S")
	got, err := keys(t, s.export(a)).Commit(commit)
	if err != nil || got.Fingerprint == a || got.Identity != "ann <ann@example.com>" {
		t.Errorf("Commit = %v, %v", got, err)
	}
}

// What real Git signs with a real ssh-keygen is believed, of every kind of key that needs no hardware.
func TestSSH(t *testing.T) {
	s := newScene(t)
	_, other := s.ssh("ed25519")
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		file, public := s.ssh(kind)
		commit, tag := s.commit(by("ssh", file), "-S"), s.tag(by("ssh", file), kind, "-s")
		fingerprint := strings.Fields(s.run("ssh-keygen", "-l", "-f", file))[1]
		want := trust.Signer{Kind: trust.SSH, Fingerprint: fingerprint, Identity: "a@example.com"}
		k := keys(t, other, public)
		if got, err := k.Commit(commit); err != nil || got != want {
			t.Errorf("Commit by %s: %v, %v, want %v", kind, got, err, want)
		}
		if got, err := k.Tag(tag, kind); err != nil || got != want {
			t.Errorf("Tag by %s: %v, %v, want %v", kind, got, err, want)
		}
		_, err := keys(t, other).Commit(commit)
		refuse(t, err, trust.ErrUnknownKey, fingerprint)
	}
}

// Whatever is changed in a signed object, it is not believed any more.
func TestTampered(t *testing.T) {
	s := newScene(t)
	file, public := s.ssh("ed25519")
	a := s.pgp("ann")
	k := keys(t, public, s.export(a))
	for _, how := range [][]string{by("ssh", file), by("openpgp", a)} {
		commit, tag := s.commit(how, "-S"), s.tag(how, "v1-"+how[1], "-s")
		for from, to := range map[string]string{
			"a change": "another", "author a": "author b", "tree 4b825dc": "tree 5b825dc", "\n\na": "\nencoding latin1\n\na", "why": "why\n",
		} {
			_, err := k.Commit(bytes.Replace(commit, []byte(from), []byte(to), 1))
			refuse(t, err, trust.ErrBadSignature, "does not match the content", "sign again")
		}
		for from, to := range map[string]string{"with text": "without", "tagger a": "tagger b", "object ": "object 0"} {
			_, err := k.Tag(bytes.Replace(tag, []byte(from), []byte(to), 1), "v1-"+how[1])
			refuse(t, err, trust.ErrBadSignature, "does not match the content")
		}
		_, err := k.Commit(s.commit(how, "--amend", "--no-gpg-sign"))
		refuse(t, err, trust.ErrUnsigned, "git commit -S")
		_, err = k.Tag(s.tag(how, "plain"+how[1], "-a"), "plain"+how[1])
		refuse(t, err, trust.ErrUnsigned, "git tag -s")
	}
}

// A tag proves something about the name that it was made for, and about a commit.
func TestReplayedTag(t *testing.T) {
	s := newScene(t)
	file, public := s.ssh("ed25519")
	k, how := keys(t, public), by("ssh", file)
	s.commit(how, "-S")
	tag := s.tag(how, "v1.0", "-s")
	_, err := k.Tag(tag, "refs/tags/v2.0")
	refuse(t, err, trust.ErrBadSignature, `has the name "v1.0"`, `its ref has the name "v2.0"`)
	_, err = k.Tag(s.tag(how, "tree", "-s", "HEAD^{tree}"), "tree")
	refuse(t, err, trust.ErrBadSignature, "the tag is of a tree")
	_, err = k.Tag(s.tag(how, "nested", "-s", "v1.0"), "nested")
	refuse(t, err, trust.ErrBadSignature, "the tag is of a tag")
}

// A key counts at the moment it signed; one that was revoked never does.
func TestExpiredAndRevoked(t *testing.T) {
	s := newScene(t)
	a := s.pgp("ann", "--faked-system-time", "20200101T000000")
	commit := s.commit(by("openpgp", a), "-S")
	valid := s.export(a)
	s.gpg("--faked-system-time", "20200201T000000", "--quick-set-expire", a, "2m")
	expired := s.export(a)
	_, err := keys(t, expired).Commit(commit)
	refuse(t, err, trust.ErrBadSignature, a, "was not valid when it signed", "renew it")
	if _, err := keys(t, expired, valid).Commit(commit); err != nil {
		t.Errorf("Commit with the key as it was, too: %v", err)
	}

	rev, err := os.ReadFile(filepath.Join(s.home, "openpgp-revocs.d", a+".rev"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.dir, "rev")
	if err := os.WriteFile(file, bytes.Replace(rev, []byte(":-----BEGIN"), []byte("-----BEGIN"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	s.gpg("--import", file)
	revoked := s.export(a)
	for _, k := range []trust.Keys{keys(t, revoked), keys(t, valid, revoked), keys(t, revoked, valid)} {
		_, err = k.Commit(commit)
		refuse(t, err, trust.ErrBadSignature, a, "was revoked")
	}
}

func TestBrokenHash(t *testing.T) {
	s := newScene(t)
	a := s.pgp("ann")
	if err := os.WriteFile(filepath.Join(s.home, "gpg.conf"), []byte("digest-algo SHA1\nallow-weak-digest-algos\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := keys(t, s.export(a)).Commit(s.commit(by("openpgp", a), "-S"))
	refuse(t, err, trust.ErrBadSignature, "broken hash SHA-1", "SHA512")
}

// allowed_signers say for what, and when, a key may sign; the moment is the committer's, here noon of 2026-06-01.
func TestAllowedSigners(t *testing.T) {
	s := newScene(t)
	file, public := s.ssh("ed25519")
	commit := s.commit(by("ssh", file), "-S")
	for options, why := range map[string]string{
		``:                           ``,
		`namespaces="git"`:           ``,
		`namespaces="file,g*"`:       ``,
		`namespaces="file"`:          `not meant for Git`,
		`namespaces="*,!git"`:        `not meant for Git`,
		`valid-after="20260601"`:     ``,
		`valid-after="20260602Z"`:    `valid only after 2026-06-02`,
		`valid-before=202606011200`:  ``,
		`valid-before=202606011159Z`: `valid only before 2026-06-01T11:59:00Z`,
		`namespaces="git",valid-after="20260501",valid-before="20260701"`: ``,
		`namespaces="git",valid-after="20260701",valid-before="20260801"`: `valid only after`,
	} {
		k := keys(t, []byte(`"ann@example.com,bob@example.com" `+strings.TrimSpace(options+" "+string(public))+"\n"))
		got, err := k.Commit(commit)
		if why != "" {
			refuse(t, err, trust.ErrBadSignature, why, "SHA256:")
		} else if err != nil || got.Identity != "ann@example.com,bob@example.com" {
			t.Errorf("options %q: %v, %v", options, got, err)
		}
	}
	twice := []byte("ann valid-before=20250101 " + string(public) + "ann valid-after=20250101 " + string(public) + "ann valid-after=20270101 " + string(public))
	if _, err := keys(t, twice).Commit(commit); err != nil {
		t.Errorf("a line that allows it between two that do not: %v", err)
	}
}

// armor signs bytes with ssh-keygen, as anything but Git would.
func (s scene) armor(key, namespace string, payload []byte) []byte {
	s.t.Helper()
	name := filepath.Join(s.t.TempDir(), "payload")
	if err := os.WriteFile(name, payload, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.run("ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", namespace, name)
	out, err := os.ReadFile(name + ".sig")
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// with puts a signature into a commit as git does, under a name and before a line.
func with(payload []byte, field string, armor []byte, before string) []byte {
	text := field + " " + strings.ReplaceAll(strings.TrimSuffix(string(armor), "\n"), "\n", "\n ") + "\n"
	return bytes.Replace(payload, []byte(before), []byte(text+before), 1)
}

// A signature counts where Git puts it, once, and made for Git.
func TestPlaceAndNamespace(t *testing.T) {
	s := newScene(t)
	file, public := s.ssh("ed25519")
	k := keys(t, public)
	plain := s.commit(nil)
	good := s.armor(file, "git", plain)
	end := "\na change" // the empty line behind the fields
	if _, err := k.Commit(with(plain, "gpgsig", good, end)); err != nil {
		t.Fatalf("a signature put in by hand as git does: %v", err)
	}
	for name, tt := range map[string]struct {
		raw  []byte
		says string
	}{
		"of a file":        {with(plain, "gpgsig", s.armor(file, "file", plain), end), `namespace "file", which is not Git's`},
		"other format":     {with(plain, "gpgsig-sha256", good, end), "in the field gpgsig-sha256"},
		"twice":            {with(with(plain, "gpgsig", good, end), "gpgsig", good, end), "more than one"},
		"two in one field": {with(plain, "gpgsig", append(good, good...), end), "not one block"},
		"text before":      {with(plain, "gpgsig", append([]byte("x\n"), good...), end), "neither of OpenPGP nor of SSH"},
		"before the tree":  {with(plain, "gpgsig", good, "tree "), `no field "tree" where Git puts it`},
		"second tree":      {bytes.Replace(plain, []byte(end), []byte("tree 1\n"+end), 1), `second field "tree"`},
		"of X.509":         {with(plain, "gpgsig", []byte("-----BEGIN SIGNED MESSAGE-----\n-----END SIGNED MESSAGE-----\n"), end), "neither"},
		"cut off":          {with(plain, "gpgsig", good[:len(good)/2], end), "not one block"},
		"of version 2":     {with(plain, "gpgsig", bytes.Replace(good, []byte("U1NIU0lHAAAAAQ"), []byte("U1NIU0lHAAAAAg"), 1), end), "signature version 2"},
		"not base64":       {with(plain, "gpgsig", bytes.Replace(good, []byte("U1NIU0lH"), []byte("U1NIU0lH!"), 1), end), "invalid PEM block"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := k.Commit(tt.raw)
			refuse(t, err, trust.ErrBadSignature, tt.says)
		})
	}
	_, err := k.Commit(append(plain, good...)) // as in a tag
	refuse(t, err, trust.ErrUnsigned)
	how := by("ssh", file)
	tag := s.tag(how, "v1", "-s")
	_, err = k.Tag(append(tag, "more"...), "v1")
	refuse(t, err, trust.ErrBadSignature, "not one block")
	_, err = k.Tag(append(tag, good...), "v1")
	refuse(t, err, trust.ErrBadSignature, "more than one")
	_, err = k.Tag(with(tag, "gpgsig", good, "\na release"), "v1")
	refuse(t, err, trust.ErrBadSignature, "tag's head")
}
