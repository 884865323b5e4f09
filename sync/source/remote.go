package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/linkwright/linkwright/sync/forge"
)

// remote is a repository's address with the credentials taken out of it.
type remote struct {
	end      transport.Endpoint
	user     string
	password secret
	name     string // for errors and people
}

// parse reads Options.Repo. What it did not understand is never repeated in an error: it may hold a password.
func parse(o Options) (remote, error) {
	if o.Repo == "" {
		return remote{}, errors.New("no address is given")
	}
	if u, err := url.Parse(o.Repo); err == nil && (u.RawQuery != "" || u.Fragment != "") {
		return remote{}, errors.New("an address must not have a query or a fragment")
	}
	end, err := transport.NewEndpoint(o.Repo)
	if err != nil {
		return remote{}, errors.New("not an address: want https://host/path, ssh://user@host/path or git@host:path")
	}
	at := remote{user: end.User, password: forge.NewSecret(end.Password)}
	end.User, end.Password = "", ""
	at.end, at.name = *end, end.String()
	return at, at.check(o)
}

// check refuses what would be unsafe or is not built in; the zero Options allow https and ssh.
func (r remote) check(o Options) error {
	switch r.end.Protocol {
	case "https":
		return nil
	case "ssh":
		if o.Keys == nil && o.Agent == "" {
			return fmt.Errorf("%s: ssh needs the keys %s and %s", r.name, o.Flags.key(KeyIdentity), o.Flags.key(KeyKnownHosts))
		}
		return nil
	case "http", "git":
		if o.Allow.Insecure || loopback(r.end.Host) {
			return nil
		}
		return fmt.Errorf("%s: linkwright does not use plain %s, because anybody on the network path could change the answer: use https or ssh%s",
			r.name, r.end.Protocol, o.Flags.or(FlagAllowInsecure))
	case "file":
		return checkFile(r.name, o)
	}
	return fmt.Errorf("%s: linkwright does not support this protocol: use https or ssh", r.name)
}

func checkFile(name string, o Options) error {
	if !o.Allow.File {
		return fmt.Errorf("%s: repositories on this machine are not allowed here: use https or ssh%s", name, o.Flags.or(FlagAllowFile))
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

// host returns the server as host:port; empty is this machine.
func (r remote) host() string {
	port := map[string]int{"https": 443, "http": 80, "ssh": 22, "git": 9418}[r.end.Protocol]
	if port == 0 {
		return ""
	}
	return net.JoinHostPort(strings.ToLower(strings.Trim(r.end.Host, "[]")), strconv.Itoa(cmp.Or(r.end.Port, port)))
}

// address returns the server as a place to find a proxy for.
func (r remote) address() *url.URL { return &url.URL{Scheme: r.end.Protocol, Host: r.host()} }

// String is Repo without its credentials, and Ref.
func (o Options) String() string {
	at, err := parse(Options{Repo: o.Repo, Allow: Allow{File: true, Insecure: true}, Agent: "any"})
	if err != nil {
		return "no repository"
	}
	return fmt.Sprintf("%s at %s", at.name, cmp.Or(o.Ref, "HEAD"))
}

// GoString is as String.
func (o Options) GoString() string { return o.String() }

// Format writes the same for every verb: an address and a proxy's may hold a password.
func (o Options) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, o.String()) }

// LogValue is as String.
func (o Options) LogValue() slog.Value { return slog.StringValue(o.String()) }
