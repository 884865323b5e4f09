package source

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/linkwright/linkwright/sync/forge"
)

// secret is a credential. It goes to the server and nowhere else.
type secret = forge.Secret

// credentials are who we are at one visit, and whom we believe there.
type credentials struct {
	user     string
	password secret // with user: basic authentication
	token    secret // a bearer token
	alone    secret // a URL's user without a password: how some write a token
	ca       *x509.CertPool
	cert     *tls.Certificate
	app      *forge.App // password is a token of it
	signer   ssh.Signer // nil: the agent's
	proxy    string     // its address, where the options name none
	known    []byte     // OpenSSH's known_hosts
	hidden   []string   // what must not be in a text, though a server or a library wrote it
	flags    Flags      // told in errors
}

// Format hides all of them from every verb: fmt does not ask a field that is not exported how it wants to look.
func (credentials) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, secret{}.String()) }

// keysError says that we do not know who we are, or whom to believe: whoever should tell failed, not the server.
type keysError struct{ error }

func (e *keysError) Unwrap() error { return e.error }

// credentials asks for the keys and makes of them what the protocol needs. The errors name keys, never what is in them.
func (s *Source) credentials(ctx context.Context) (credentials, error) {
	keys, err := s.read(ctx)
	if err != nil {
		return credentials{}, err
	}
	switch s.remote.end.Protocol {
	case "ssh":
		return s.sshCredentials(keys)
	case "http", "https":
		return s.httpCredentials(ctx, keys)
	}
	return credentials{proxy: keys.line(KeyProxy)}, nil
}

func (s *Source) read(ctx context.Context) (Keys, error) {
	if s.options.Keys == nil {
		return nil, nil
	}
	return s.options.Keys(ctx)
}

// httpCredentials are of one kind: keys win over what the URL holds, and exclude each other.
func (s *Source) httpCredentials(ctx context.Context, keys Keys) (credentials, error) {
	who := credentials{proxy: keys.line(KeyProxy), user: cmp.Or(keys.line(KeyUsername), s.remote.user, "git"), flags: s.options.Flags}
	var ways, reported []string
	for _, way := range []string{KeyPassword, KeyBearerToken, KeyApp} {
		if len(keys[way]) > 0 {
			ways, reported = append(ways, way), append(reported, who.flags.key(way))
		}
	}
	switch {
	case len(ways) > 1:
		return who, fmt.Errorf("the keys %s exclude each other: keep one", strings.Join(reported, " and "))
	case len(ways) == 0 && !s.remote.password.IsZero():
		who.password = s.remote.password
	case len(ways) == 0 && s.remote.user != "" && len(keys[KeyUsername]) == 0:
		who.alone = forge.NewSecret(s.remote.user)
	}
	switch {
	case len(keys[KeyPassword]) > 0:
		who.password = forge.NewSecret(keys.line(KeyPassword))
	case len(keys[KeyBearerToken]) > 0:
		who.token = forge.NewSecret(keys.line(KeyBearerToken))
	}
	who.hidden = []string{keys.line(KeyPassword), keys.line(KeyBearerToken), s.remote.password.Reveal(), who.alone.Reveal()}
	if err := who.tls(keys); err != nil {
		return who, err
	}
	return s.appCredentials(ctx, who, keys, func(a *forge.App) error { return a.ForGit(strings.Trim(s.remote.end.Host, "[]")) })
}

// tls takes what a handshake needs.
func (c *credentials) tls(keys Keys) error {
	if ca := keys[KeyCA]; len(ca) > 0 {
		c.ca = x509.NewCertPool()
		if !c.ca.AppendCertsFromPEM(ca) {
			return fmt.Errorf("the key %s holds no PEM certificate", c.flags.key(KeyCA))
		}
	}
	crt, key := keys[KeyCert], keys[KeyCertKey]
	if len(crt) == 0 && len(key) == 0 {
		return nil
	}
	if len(crt) == 0 || len(key) == 0 {
		return fmt.Errorf("the keys %s and %s go together: one is missing", c.flags.key(KeyCert), c.flags.key(KeyCertKey))
	}
	pair, err := tls.X509KeyPair(crt, key)
	if err != nil {
		return fmt.Errorf("the keys %s and %s are not a certificate and its key in PEM", c.flags.key(KeyCert), c.flags.key(KeyCertKey))
	}
	c.cert = &pair
	return nil
}

// appCredentials adds a token of a GitHub App, where the keys have one, and it may be lent.
func (s *Source) appCredentials(ctx context.Context, who credentials, keys Keys, lend func(*forge.App) error) (credentials, error) {
	app, err := s.app(who, keys)
	if app == nil || err != nil {
		return who, err
	}
	if err := lend(app); err != nil {
		return who, fmt.Errorf("%w (key %s)", err, KeyAppURL)
	}
	who.app, who.user = app, forge.AppUser
	if who.password, err = app.Token(ctx); err != nil {
		return who, err
	}
	who.hidden = append(who.hidden, who.password.Reveal())
	return who, nil
}

// appCache is the GitHub App that was used last: visits take turns, and who asks for a token alone does not.
type appCache struct {
	mu   sync.Mutex
	last *forge.App // mu
	keys Keys       // of last; mu
}

// app returns the App of the keys, the same one as long as they are: it remembers its token.
func (s *Source) app(who credentials, keys Keys) (*forge.App, error) {
	if len(keys[KeyApp]) == 0 && len(keys[KeyInstallation]) == 0 && len(keys[KeyAppKey]) == 0 {
		return nil, nil //nolint:nilnil // without an app there is none
	}
	id, errID := strconv.ParseInt(keys.line(KeyApp), 10, 64)
	installation, errInstallation := strconv.ParseInt(keys.line(KeyInstallation), 10, 64)
	if errID != nil || errInstallation != nil || len(keys[KeyAppKey]) == 0 {
		f := s.options.Flags
		return nil, fmt.Errorf("a GitHub App needs the keys %s and %s, which are numbers, and %s",
			f.key(KeyApp), f.key(KeyInstallation), f.key(KeyAppKey))
	}
	s.apps.mu.Lock()
	defer s.apps.mu.Unlock()
	if s.apps.last != nil && s.apps.keys.same(keys) {
		return s.apps.last, nil
	}
	next := &forge.App{
		ID: id, Installation: installation, Key: forge.NewSecret(string(keys[KeyAppKey])), URL: keys.line(KeyAppURL),
	}
	if err := next.Check(); err != nil {
		return nil, err
	}
	next.HTTP = s.otherClient(who)
	s.apps.last, s.apps.keys = next, keys.app()
	return next, nil
}

// app returns the keys on which an App depends.
func (k Keys) app() Keys {
	out := Keys{}
	for _, name := range []string{KeyApp, KeyInstallation, KeyAppKey, KeyAppURL, KeyCA, KeyProxy} {
		out[name] = append([]byte(nil), k[name]...)
	}
	return out
}

// same reports whether an App of these keys is the App of those.
func (k Keys) same(other Keys) bool {
	for name, value := range k {
		if string(value) != string(other[name]) {
			return false
		}
	}
	return true
}

// authorization returns the header that proves who we are, or empty.
func (c credentials) authorization() string {
	switch {
	case !c.token.IsZero():
		return "Bearer " + c.token.Reveal()
	case !c.password.IsZero():
		return "Basic " + pair(c.user, c.password.Reveal())
	case !c.alone.IsZero():
		return "Basic " + pair(c.alone.Reveal(), "")
	}
	return ""
}

func pair(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// leastHidden is how long a form must be to be searched for, in bytes: shorter ones stand in every other word.
const leastHidden = 4

// redact takes the secrets out of a text that a server or a library wrote, in the forms in which it met them.
func (c credentials) redact(text string) string {
	var forms []string
	for _, s := range c.hidden {
		if s != "" {
			forms = append(forms, pair(c.user, s), pair(s, ""), base64.StdEncoding.EncodeToString([]byte(s)), s,
				url.QueryEscape(s), url.PathEscape(s), url.UserPassword("", s).String()[1:])
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string // the first that fits wins, and what was put in its place is not searched
	for _, form := range slices.Compact(forms) {
		if len(form) >= leastHidden {
			pairs = append(pairs, form, secret{}.String())
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// redactAfter leaves alone what we say ourselves at the beginning of a text.
func (c credentials) redactAfter(own, text string) string {
	if rest, ok := strings.CutPrefix(text, own); ok {
		return own + c.redact(rest)
	}
	return c.redact(text)
}

// sshCredentials need a key or an agent, and always the hosts that are known.
func (s *Source) sshCredentials(keys Keys) (credentials, error) {
	who := credentials{user: cmp.Or(s.remote.user, "git"), known: keys[KeyKnownHosts], flags: s.options.Flags}
	who.hidden, who.proxy = []string{keys.line(KeyPassword)}, keys.line(KeyProxy)
	if len(who.known) == 0 {
		return who, fmt.Errorf("ssh needs the key %s: without it linkwright cannot verify the server", who.flags.key(KeyKnownHosts))
	}
	identity := keys[KeyIdentity]
	if len(identity) == 0 && s.options.Agent == "" {
		return who, fmt.Errorf("ssh needs the key %s, or an agent", who.flags.key(KeyIdentity))
	}
	if len(identity) == 0 {
		return who, nil
	}
	var err error
	who.signer, err = who.open(identity, keys.line(KeyPassword))
	return who, err
}

// open reads a private key in OpenSSH's or in PEM form. A passphrase for a key that has none is passed over.
func (c credentials) open(identity []byte, passphrase string) (ssh.Signer, error) {
	var missing *ssh.PassphraseMissingError
	out, err := ssh.ParsePrivateKey(identity)
	switch {
	case err == nil:
		return out, nil
	case !errors.As(err, &missing):
		return nil, fmt.Errorf("the key %s holds no private key that ssh understands", c.flags.key(KeyIdentity))
	case passphrase == "":
		return nil, fmt.Errorf("the private key in %s has a passphrase, which is missing: add it under the key %s", KeyIdentity, c.flags.passphrase())
	}
	if out, err = ssh.ParsePrivateKeyWithPassphrase(identity, []byte(passphrase)); err != nil {
		return nil, fmt.Errorf("the passphrase in %s does not open the private key in %s", c.flags.passphrase(), c.flags.key(KeyIdentity))
	}
	return out, nil
}
