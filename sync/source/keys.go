package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
)

// Keys are credentials by the names that people give them in a Secret:
//
//	identity, known_hosts              ssh: a private key, and whom we believe
//	username, password                 https: basic authentication; of ssh, password is identity's passphrase
//	bearerToken                        https: a bearer token
//	ca.crt                             https: certificates to trust instead of the system's
//	tls.crt, tls.key                   https: our client certificate
//	proxy                              https, ssh: a proxy's address, with user and password
//	githubAppID, githubAppInstallationID, githubAppPrivateKey, githubAppBaseURL   https: a GitHub App
//
// Their values are never printed, logged or encoded: what shows Keys shows their names.
type Keys map[string][]byte

// The names of Keys.
const (
	KeyIdentity     = "identity"
	KeyKnownHosts   = "known_hosts"
	KeyUsername     = "username"
	KeyPassword     = "password"
	KeyBearerToken  = "bearerToken"
	KeyCA           = "ca.crt"
	KeyCert         = "tls.crt"
	KeyCertKey      = "tls.key"
	KeyApp          = "githubAppID"
	KeyInstallation = "githubAppInstallationID"
	KeyAppKey       = "githubAppPrivateKey"
	KeyAppURL       = "githubAppBaseURL"
	KeyProxy        = "proxy"
)

// KeyNames returns all names of Keys, in the order in which they are told to people.
func KeyNames() []string {
	return []string{
		KeyIdentity, KeyKnownHosts, KeyUsername, KeyPassword, KeyBearerToken, KeyCA, KeyCert, KeyCertKey,
		KeyApp, KeyInstallation, KeyAppKey, KeyAppURL, KeyProxy,
	}
}

// alias returns the older name that Flux has for a key, if there is one.
func alias(name string) string {
	return map[string]string{KeyCA: "caFile", KeyCert: "certFile", KeyCertKey: "keyFile"}[name]
}

// ParseKeys takes out of a Secret's data what it knows; other keys are passed over. Data without any known key is an error,
// and so is an empty value: something was meant to be there.
func ParseKeys(data map[string][]byte) (Keys, error) {
	out := Keys{}
	for _, name := range KeyNames() {
		value, ok := data[name]
		if !ok {
			value, ok = data[alias(name)]
		}
		if !ok {
			continue
		}
		if len(bytes.TrimSpace(value)) == 0 {
			return nil, fmt.Errorf("the key %s is empty", name)
		}
		out[name] = value
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("linkwright knows none of its keys: want some of %s", strings.Join(KeyNames(), ", "))
	}
	return out, nil
}

// ReadKeys reads a directory of files that are named like keys, such as a Secret that is mounted.
func ReadKeys(dir string) (Keys, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // nothing was written
	data := map[string][]byte{}
	for _, name := range KeyNames() {
		for _, file := range []string{alias(name), name} { // the name itself wins
			if file == "" {
				continue
			}
			value, err := root.ReadFile(file)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			data[file] = value
		}
	}
	keys, err := ParseKeys(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return keys, nil
}

// names returns the keys that are there, in the order of KeyNames.
func (k Keys) names() []string {
	return slices.DeleteFunc(KeyNames(), func(name string) bool { return len(k[name]) == 0 })
}

// String names the keys.
func (k Keys) String() string { return "keys(" + strings.Join(k.names(), " ") + ")" }

// GoString is as String.
func (k Keys) GoString() string { return k.String() }

// Format writes the same for every verb.
func (k Keys) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, k.String()) }

// LogValue is as String.
func (k Keys) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalJSON is as String.
func (k Keys) MarshalJSON() ([]byte, error) { return []byte(`"` + k.String() + `"`), nil }

// line returns a value of one line; editors and `kubectl create secret` differ on the newline at its end.
func (k Keys) line(name string) string { return string(bytes.TrimSpace(k[name])) }
