package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/sync/source"
)

// gitAuth are the flags about the Git server: the login, the trust in its identity, and the way to it.
type gitAuth struct {
	secret, dir string
	files       map[string]*string // by key: its file
	words       map[string]*string // by key: its value
	agent       bool
	passphrase  string // its file
	proxy       string
	hosts       source.Hosts // one for all that this process visits
	// secrets reads a Secret of the management cluster; nil where there is none.
	secrets func(ctx context.Context, name string) (map[string][]byte, error)
}

// keyFlag is a flag that supplies one key.
type keyFlag struct{ key, name, help string }

func fileFlags() []keyFlag {
	return []keyFlag{
		{source.KeyPassword, "git-password-file", "file with the password or access token for https, sent as basic authentication"},
		{source.KeyBearerToken, "git-token-file", "file with a bearer token for https"},
		{source.KeyIdentity, "git-ssh-key-file", "file with the private key for ssh"},
		{source.KeyKnownHosts, "git-known-hosts-file", "known_hosts file; linkwright does not connect to a server that is not in it"},
		{source.KeyCA, "git-ca-file", "file with PEM certificates to trust for https instead of the system's"},
		{source.KeyCert, "git-client-cert-file", "file with linkwright's client certificate for https, in PEM"},
		{source.KeyCertKey, "git-client-key-file", "file with the private key of --git-client-cert-file, in PEM"},
		{source.KeyAppKey, "git-github-app-key-file", "file with a GitHub App's private key, as GitHub gave it"},
	}
}

func wordFlags() []keyFlag {
	return []keyFlag{
		{source.KeyUsername, "git-username", "user for --git-password-file (default: git)"},
		{source.KeyApp, "git-github-app-id", "id of a GitHub App that reads the repository"},
		{source.KeyInstallation, "git-github-app-installation-id", "id of the GitHub App's installation"},
		{source.KeyAppURL, "git-github-app-url", "GitHub's API: https://HOST/api/v3 of an Enterprise Server (default: https://api.github.com)"},
	}
}

// flagNames are the flags that errors of package source name beside keys and options.
func flagNames() source.Flags {
	out := source.Flags{
		source.FlagPassphrase: "--git-ssh-passphrase-file", source.FlagAllowFile: "--allow-file-repo",
		source.FlagAllowInsecure: "--allow-insecure-repo",
	}
	for _, k := range append(fileFlags(), wordFlags()...) {
		out[k.key] = "--" + k.name
	}
	return out
}

func (a *gitAuth) add(f *pflag.FlagSet) {
	a.files, a.words = map[string]*string{}, map[string]*string{}
	for _, k := range fileFlags() {
		a.files[k.key] = f.String(k.name, "", k.help)
	}
	for _, k := range wordFlags() {
		a.words[k.key] = f.String(k.name, "", k.help)
	}
	f.StringVar(&a.dir, "git-credentials-dir", "", "directory with credentials in files named as the keys of --git-secret, such as a mounted Secret")
	f.StringVar(&a.passphrase, "git-ssh-passphrase-file", "", "file with the passphrase of --git-ssh-key-file")
	f.BoolVar(&a.agent, "git-ssh-agent", false, "use the ssh agent at SSH_AUTH_SOCK; known_hosts is then ~/.ssh/known_hosts, if nothing else names one")
	f.StringVar(&a.proxy, "git-proxy", "", "proxy for https and ssh: http://, https:// or socks5://[user:password@]host:port; a password there is visible in the list of processes: use the key proxy instead (default: that key, else the environment's, for https)")
}

// addSecret is for the commands that have a management cluster.
func (a *gitAuth) addSecret(f *pflag.FlagSet) {
	f.StringVar(&a.secret, "git-secret", "", "Secret with credentials in --namespace of the management cluster, by their conventional keys (docs/how-to/git.md); read for every poll")
}

// options adds what the flags say.
func (a *gitAuth) options(o source.Options) (source.Options, error) {
	if err := a.check(); err != nil {
		return o, err
	}
	o.Keys, o.Flags, o.Proxy, o.Hosts = a.keys, flagNames(), a.proxy, &a.hosts
	if a.agent {
		o.Agent = os.Getenv("SSH_AUTH_SOCK")
		if o.Agent == "" {
			return o, Usage("--git-ssh-agent: SSH_AUTH_SOCK is not set: start an ssh agent")
		}
	}
	return o, nil
}

// check refuses what contradicts itself; what a directory or a Secret holds is seen when it is read.
func (a *gitAuth) check() error {
	set := func(key string) bool { return a.given(key) != "" }
	app := set(source.KeyApp) || set(source.KeyInstallation) || set(source.KeyAppKey)
	switch {
	case a.secret != "" && a.dir != "":
		return Usage("--git-secret and --git-credentials-dir: give one of the two")
	case a.secret != "" && a.secrets == nil:
		return Usage("--git-secret needs the management cluster, which this command does not read: use --git-credentials-dir")
	case set(source.KeyPassword) && set(source.KeyBearerToken):
		return Usage("--git-password-file and --git-token-file exclude each other")
	case app && (set(source.KeyPassword) || set(source.KeyBearerToken) || set(source.KeyUsername)):
		return Usage("--git-github-app-…: leave out user, password and token: a GitHub App does not need them")
	case app && a.dir == "" && a.secret == "" && (!set(source.KeyApp) || !set(source.KeyInstallation) || !set(source.KeyAppKey)):
		return Usage("a GitHub App needs --git-github-app-id, --git-github-app-installation-id and --git-github-app-key-file")
	case a.agent && (set(source.KeyIdentity) || a.passphrase != ""):
		return Usage("--git-ssh-agent and a private key in a file exclude each other")
	case a.passphrase != "" && set(source.KeyPassword):
		return Usage("--git-ssh-passphrase-file is for ssh and --git-password-file for https: give one of the two")
	case a.dir == "" && a.secret == "" && set(source.KeyCert) != set(source.KeyCertKey):
		return Usage("--git-client-cert-file and --git-client-key-file go together")
	}
	return nil
}

// given is what the flag of a key was set to; nil pointers are of commands without the flags.
func (a *gitAuth) given(key string) string {
	for _, from := range []map[string]*string{a.files, a.words} {
		if v := from[key]; v != nil && *v != "" {
			return *v
		}
	}
	return ""
}

// keys reads all of them anew: what a flag names wins over the directory or the Secret.
func (a *gitAuth) keys(ctx context.Context) (source.Keys, error) {
	keys, err := a.stock(ctx)
	if err != nil {
		return nil, err
	}
	own, err := a.single()
	if err != nil {
		return nil, err
	}
	for _, way := range ways() {
		if len(own[way]) > 0 {
			others(keys, way)
		}
	}
	maps.Copy(keys, own)
	if a.agent {
		delete(keys, source.KeyIdentity)
	}
	if a.agent && len(keys[source.KeyKnownHosts]) == 0 {
		keys[source.KeyKnownHosts], err = homeKnownHosts()
	}
	return keys, err
}

// ways are the keys that say which kind of https authentication is meant.
func ways() []string { return []string{source.KeyPassword, source.KeyBearerToken, source.KeyApp} }

// others takes the other kinds away: a flag decides.
func others(keys source.Keys, way string) {
	for _, other := range ways() {
		if other != way {
			delete(keys, other)
		}
	}
	if way != source.KeyApp {
		delete(keys, source.KeyInstallation)
		delete(keys, source.KeyAppKey)
	}
}

// stock is what the directory or the Secret holds.
func (a *gitAuth) stock(ctx context.Context) (source.Keys, error) {
	switch {
	case a.dir != "":
		keys, err := source.ReadKeys(a.dir)
		if err != nil {
			return nil, fmt.Errorf("--git-credentials-dir: %w", err)
		}
		return keys, nil
	case a.secret != "":
		data, err := a.secrets(ctx, a.secret)
		if err != nil {
			return nil, fmt.Errorf("--git-secret: %w", err)
		}
		keys, err := source.ParseKeys(data)
		if err != nil {
			return nil, fmt.Errorf("--git-secret %s in the management cluster: %w", a.secret, err)
		}
		return keys, nil
	}
	return source.Keys{}, nil
}

// single are the keys that flags name one by one.
func (a *gitAuth) single() (source.Keys, error) {
	keys := source.Keys{}
	for _, k := range wordFlags() {
		if v := a.given(k.key); v != "" {
			keys[k.key] = []byte(v)
		}
	}
	for _, k := range append(fileFlags(), keyFlag{key: source.KeyPassword, name: "git-ssh-passphrase-file"}) {
		path := a.given(k.key)
		if k.name == "git-ssh-passphrase-file" {
			path = a.passphrase
		}
		if path == "" {
			continue
		}
		value, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", k.name, err)
		}
		if len(bytes.TrimSpace(value)) == 0 {
			return nil, fmt.Errorf("--%s %s: the file is empty", k.name, path)
		}
		keys[k.key] = value
	}
	return keys, nil
}

// homeKnownHosts is known_hosts of the person who runs the command.
func homeKnownHosts() ([]byte, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("find known_hosts: %w: give --git-known-hosts-file", err)
	}
	data, err := os.ReadFile(filepath.Join(home, ".ssh", "known_hosts"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: connect to the server once with ssh, or give --git-known-hosts-file", err)
	}
	return data, err
}
