package trust_test

import (
	"os"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/sync/trust"
)

func TestParseKeysRefuses(t *testing.T) {
	s := newScene(t)
	file, public := s.ssh("ed25519")
	private, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, small := s.ssh("rsa", "-b", "1024")
	a := s.pgp("ann")
	secret := s.gpg("--armor", "--export-secret-keys", a)
	ok := string(public)
	for name, tt := range map[string]struct{ data, says string }{
		"empty":               {"# nobody\n\n", "no public key"},
		"ssh private":         {ok + string(private), "k:2: this is a private key"},
		"OpenPGP private":     {ok + "\n" + secret, "k:3: this is a private key"},
		"OpenPGP binary":      {s.gpg("--export-secret-keys", a), "k: this is a private key"},
		"private, disguised":  {strings.ReplaceAll(secret, "PRIVATE", "PUBLIC"), "k:1: this is a private key"},
		"key block cut off":   {ok + string(s.export(a)[:200]), "k:2: the key block does not end"},
		"key block of rubble": {"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----\n", "k:1: no OpenPGP key"},
		"after a block":       {string(s.export(a)) + "rubble\n", "this is not an SSH public key"},
		"PEM":                 {"-----BEGIN PUBLIC KEY-----\n", "PEM public key"},
		"RFC 4716":            {"---- BEGIN SSH2 PUBLIC KEY ----\n", "ssh-keygen -i"},
		"certificate of TLS":  {"-----BEGIN CERTIFICATE-----\n", "not a public key"},
		"keybox":              {"\x00\x00\x00 \x01\x01\x00\x02KBXf", "gpg --export"},
		"not text":            {"a\x00b", "is neither text"},
		"large":               {strings.Repeat("#", trust.MaxBytes+1), "larger than 1 MiB"},
		"words":               {"these are words", `"are" is neither a key nor an option`},
		"authorized options":  {`from="10.0.0.1" ` + ok, "is an option"},
		"authority":           {"ann cert-authority " + ok, "linkwright does not support certificates"},
		"authority, by login": {"cert-authority " + ok, `"cert-authority" is an option`},
		"certificate":         {"ssh-ed25519-cert-v01@openssh.com AAAA", "this is a certificate"},
		"DSA":                 {"ssh-dss AAAA", "DSA is broken"},
		"small RSA":           {string(small), "has 1024 bits"},
		"cut off":             {ok[:40], "it may be cut off"},
		"not base64":          {"ssh-ed25519 AAA!", "not base64"},
		"other type":          {strings.Replace(ok, "ssh-ed25519", "ssh-rsa", 1), "this ssh-rsa key"},
		"unknown option":      {"ann verify-required " + ok, `"verify-required" is neither`},
		"empty namespaces":    {`ann namespaces="" ` + ok, "namespaces is empty"},
		"bad date":            {`ann valid-after="tomorrow" ` + ok, "want YYYYMMDD"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := trust.ParseKeys(map[string][]byte{"k": []byte(tt.data)})
			refuse(t, err, nil, tt.says)
			for line := range strings.SplitSeq(string(private)+secret, "\n") {
				if len(line) > 50 && strings.Contains(err.Error(), line) {
					t.Errorf("error %q repeats a private key", err)
				}
			}
		})
	}
	_, err = trust.ParseKeys(nil)
	refuse(t, err, nil, "no public key")
	_, err = trust.ParseKeys(map[string][]byte{"z": []byte("z"), "y": public, "x": []byte("x")})
	refuse(t, err, nil, "x:1: ", "\nz:1: ")
}

// One file may hold keys of all kinds, with comments between them.
func TestParseKeysOfAllKinds(t *testing.T) {
	s := newScene(t)
	file, public := s.ssh("ecdsa")
	a, b := s.pgp("ann"), s.pgp("bob")
	mixed := []byte("# team\r\n" + string(s.export(a)) + "\n" + string(public) + "\n\n" + s.gpg("--armor", "--export"))
	k := keys(t, mixed)
	for _, how := range [][]string{by("ssh", file), by("openpgp", a), by("openpgp", b)} {
		if _, err := k.Commit(s.commit(how, "-S")); err != nil {
			t.Errorf("Commit by %s: %v", how, err)
		}
	}
	if !k.Same(keys(t, mixed)) || k.Same(keys(t, public)) {
		t.Error("Same does not tell files apart")
	}
}
