package source_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/sync/source"
)

func TestParseKeys(t *testing.T) {
	for name, tt := range map[string]struct {
		data map[string]string
		want []string
		err  string
	}{
		"ssh":           {data: map[string]string{"identity": "a", "identity.pub": "b", "known_hosts": "c"}, want: []string{"identity", "known_hosts"}},
		"of Flux":       {data: map[string]string{"caFile": "a", "certFile": "b", "keyFile": "c"}, want: []string{"ca.crt", "tls.crt", "tls.key"}},
		"name and old":  {data: map[string]string{"caFile": "a", "ca.crt": "b"}, want: []string{"ca.crt"}},
		"strange only":  {data: map[string]string{"token": canary}, err: "linkwright knows none of its keys: want some of identity, known_hosts"},
		"nothing":       {err: "linkwright knows none of its keys"},
		"empty":         {data: map[string]string{"password": "\n", "username": canary}, err: "the key password is empty"},
		"strange, too":  {data: map[string]string{"bearerToken": "a", "x": "b"}, want: []string{"bearerToken"}},
		"app":           {data: map[string]string{"githubAppID": "1", "githubAppPrivateKey": "b"}, want: []string{"githubAppID", "githubAppPrivateKey"}},
		"empty strange": {data: map[string]string{"username": "a", "x": ""}, want: []string{"username"}},
	} {
		t.Run(name, func(t *testing.T) {
			data, dir := map[string][]byte{}, t.TempDir()
			for k, v := range tt.data {
				data[k] = []byte(v)
				keep(t, filepath.Join(dir, k), v)
			}
			parsed, err := source.ParseKeys(data)
			read, errRead := source.ReadKeys(dir)
			for _, err := range []error{err, errRead} {
				if tt.err != "" {
					refuse(t, err, tt.err)
					hidden(t, err)
				} else if err != nil {
					t.Errorf("error: %v", err)
				}
			}
			if got := slices.Sorted(maps.Keys(parsed)); !cmp.Equal(tt.want, got) {
				t.Errorf("ParseKeys: -want +got\n%s", cmp.Diff(tt.want, got))
			}
			if !maps.EqualFunc(parsed, read, func(a, b []byte) bool { return string(a) == string(b) }) {
				t.Errorf("ReadKeys gives %v, ParseKeys %v", read, parsed)
			}
		})
	}
	if _, err := source.ReadKeys(filepath.Join(t.TempDir(), "nope")); err == nil || !strings.Contains(err.Error(), "nope") {
		t.Errorf("ReadKeys of no directory: %v", err)
	}
}

// What cannot be used is reported by key, before anybody is asked.
func TestKeysThatDoNotFit(t *testing.T) {
	k := keys(t)
	for name, tt := range map[string]struct {
		repo  string
		keys  []string
		words string
	}{
		"two ways":       {"https://127.0.0.1:1/x", []string{"password", sharp, "bearerToken", sharp}, "the keys password and bearerToken exclude each other"},
		"app and token":  {"https://127.0.0.1:1/x", []string{"githubAppID", "1", "bearerToken", sharp}, "exclude each other"},
		"half an app":    {"https://127.0.0.1:1/x", []string{"githubAppID", sharp}, "needs the keys githubAppID"},
		"no app's key":   {"https://127.0.0.1:1/x", []string{"githubAppID", "1", "githubAppInstallationID", "2", "githubAppPrivateKey", sharp}, "not an RSA key in PEM"},
		"no CA":          {"https://127.0.0.1:1/x", []string{"ca.crt", sharp}, "the key ca.crt holds no PEM certificate"},
		"half a pair":    {"https://127.0.0.1:1/x", []string{"tls.crt", sharp}, "go together"},
		"no pair":        {"https://127.0.0.1:1/x", []string{"tls.crt", sharp, "tls.key", sharp}, "not a certificate and its key"},
		"nobody known":   {"ssh://git@127.0.0.1:1/x", []string{"identity", sharp}, "ssh needs the key known_hosts"},
		"no identity":    {"ssh://git@127.0.0.1:1/x", []string{"known_hosts", "x"}, "ssh needs the key identity"},
		"no key":         {"ssh://git@127.0.0.1:1/x", []string{"known_hosts", "x", "identity", sharp}, "holds no private key"},
		"no known_hosts": {"ssh://git@127.0.0.1:1/x", []string{"known_hosts", canary + " x", "identity", k.text(t, "client")}, "is not a list of known hosts"},
		"no passphrase":  {"ssh://git@127.0.0.1:1/x", []string{"known_hosts", "x", "identity", k.locked(t, sharp)}, "has a passphrase, which is missing"},
		"another passphrase": {
			"ssh://git@127.0.0.1:1/x",
			[]string{"known_hosts", "x", "identity", k.locked(t, sharp), "password", sharp + "!"},
			"the passphrase in password does not open the private key in identity",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, source.Options{Repo: tt.repo, Keys: with(tt.keys...)})
			_, err := s.Poll(t.Context())
			refuse(t, err, tt.words, "127.0.0.1:1/x")
			hidden(t, err, s)
		})
	}
}

// linkwright's caller's flags are told beside the keys, where it has any.
func TestErrorsTellFlags(t *testing.T) {
	srv := serve(t, newRepo(t), basic("git", sharp))
	o := source.Options{Repo: srv.URL + "/fleet.git", Flags: source.Flags{"password": "--pw", "ca.crt": "--ca"}}
	_, err := open(t, o).Poll(t.Context())
	refuse(t, err, "not trusted", "(if the certificate is right, give its CA: ca.crt (--ca))")
	o.Keys, o.Hosts = with("ca.crt", srv.ca), new(source.Hosts)
	_, err = open(t, o).Poll(t.Context())
	refuse(t, err, "linkwright has none (401: give password (--pw), bearerToken or a GitHub App's keys)")
}
