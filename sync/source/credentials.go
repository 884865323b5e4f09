package source

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// credentials are what the files hold at the moment of one visit.
type credentials struct {
	user            string
	password, token secret
	alone           secret         // a URL's user without a password: how some write a token
	ca              *x509.CertPool // nil: the system's
	key             []byte
	knownHosts      string // a path: OpenSSH's format is read by a library that wants files
}

// Format hides all of them from every verb: fmt does not ask a field that is not exported how it wants to look.
func (credentials) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, secret("").String()) }

// credentials reads the files. The errors name files, never what is in them.
func (o Options) credentials(r remote) (credentials, error) {
	who := credentials{
		user:       cmp.Or(o.Auth.Username, r.user, "git"),
		password:   r.password,
		knownHosts: o.Auth.KnownHostsFile,
	}
	if r.end.Protocol == "ssh" {
		who.user = cmp.Or(r.user, "git") // an account's name, no credential
	} else if r.password == "" && o.Auth.Username == "" && o.Auth.PasswordFile == "" {
		who.alone = secret(r.user)
	}
	var errs [4]error
	if o.Auth.PasswordFile != "" {
		who.password, errs[0] = line("password file", o.Auth.PasswordFile)
	}
	if o.Auth.TokenFile != "" {
		who.token, errs[1] = line("token file", o.Auth.TokenFile)
	}
	if o.CAFile != "" {
		who.ca, errs[2] = roots(o.CAFile)
	}
	if o.Auth.SSHKeyFile != "" {
		who.key, errs[3] = os.ReadFile(o.Auth.SSHKeyFile)
	}
	return who, errors.Join(errs[:]...)
}

// line reads a file of one secret; editors and `kubectl create secret` differ on the newline at its end.
func line(what, path string) (secret, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	text := strings.TrimSpace(string(b))
	if text == "" {
		return "", fmt.Errorf("%s %s: is empty", what, path)
	}
	return secret(text), nil
}

func roots(path string) (*x509.CertPool, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("CA file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("CA file %s: holds no PEM certificate", path)
	}
	return pool, nil
}

// http gives the header that go-git adds and, on a redirect to another origin, takes away again.
func (c credentials) http() transport.AuthMethod {
	switch {
	case c.token != "":
		return &githttp.TokenAuth{Token: string(c.token)}
	case c.password != "":
		return &githttp.BasicAuth{Username: c.user, Password: string(c.password)}
	case c.alone != "":
		return &githttp.BasicAuth{Username: string(c.alone)}
	}
	return nil
}

// redact takes the secrets out of a text that a server or a library wrote.
func (c credentials) redact(text string) string {
	for _, s := range []secret{c.password, c.token, c.alone} {
		if s != "" {
			text = strings.ReplaceAll(text, string(s), s.String())
		}
	}
	return text
}
