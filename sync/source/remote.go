package source

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
)

// remote is a repository's address with the credentials taken out of it.
type remote struct {
	end      transport.Endpoint
	user     string
	password secret
	name     string // for errors and people
}

// secret is a credential. It goes to the server and nowhere else.
type secret string

// String hides the value from %s and %v.
func (secret) String() string { return "[redacted]" }

// GoString hides the value from %#v.
func (secret) GoString() string { return "[redacted]" }

// parse reads Options.Repo. What it did not understand is never repeated in an error: it may hold a password.
func parse(o Options) (remote, error) {
	if o.Repo == "" {
		return remote{}, errors.New("no address is given")
	}
	if u, err := url.Parse(o.Repo); err == nil && (u.RawQuery != "" || u.Fragment != "") {
		return remote{}, errors.New("an address has no query and no fragment")
	}
	end, err := transport.NewEndpoint(o.Repo)
	if err != nil {
		return remote{}, errors.New("not an address: want https://host/path, ssh://user@host/path or git@host:path")
	}
	at := remote{user: end.User, password: secret(end.Password)}
	end.User, end.Password = "", ""
	at.end, at.name = *end, end.String()
	return at, at.check(o)
}

// check refuses what would be unsafe or is not built in; the zero Options allow https and ssh.
func (r remote) check(o Options) error {
	switch r.end.Protocol {
	case "https":
		return nil
	case "http":
		if o.AllowInsecureHTTP || loopback(r.end.Host) {
			return nil
		}
		return fmt.Errorf("%s: plain http is refused: use https", r.name)
	case "ssh":
		if o.Auth.SSHKeyFile == "" || o.Auth.KnownHostsFile == "" {
			return fmt.Errorf("%s: ssh needs a key file and a known_hosts file", r.name)
		}
		return nil
	case "file":
		return checkFile(r.name, o)
	}
	return fmt.Errorf("%s: cannot speak this protocol: use https or ssh", r.name)
}

func checkFile(name string, o Options) error {
	if !o.AllowFile {
		return fmt.Errorf("%s: repositories on this machine are not allowed here: use https or ssh", name)
	}
	if !strings.HasPrefix(o.Repo, "file://") && !filepath.IsAbs(o.Repo) {
		return fmt.Errorf("%s: a repository on this machine needs an absolute path", name)
	}
	return nil
}

func loopback(host string) bool {
	host = strings.Trim(host, "[]")
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
