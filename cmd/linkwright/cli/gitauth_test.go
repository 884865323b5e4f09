package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/sync/access"
	"github.com/linkwright/linkwright/sync/source"
)

const gitCanary = "canary-77aa"

// gitFlagsOf parses flags as a command with a management cluster would; DIR is a directory of credentials, FILE a file.
func gitFlagsOf(t *testing.T, dir map[string]string, line string) *GitFlags {
	t.Helper()
	at := t.TempDir()
	for name, text := range dir {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("of a flag\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var g GitFlags
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	g.Add(set)
	g.auth.addSecret(set)
	args := strings.Fields(strings.NewReplacer("DIR", at, "FILE", file).Replace(line))
	if err := set.Parse(append(args, "--repo=https://git.example.com/fleet.git")); err != nil {
		t.Fatal(err)
	}
	return &g
}

func TestGitAuthKeys(t *testing.T) {
	dir := map[string]string{"username": "ann", "password": "of the directory", "ca.crt": "ca", "strange": "x", "known_hosts": "hosts"}
	for name, tt := range map[string]struct {
		line string
		want map[string]string
	}{
		"nothing":       {"", map[string]string{}},
		"a directory":   {"--git-credentials-dir=DIR", map[string]string{"username": "ann", "password": "of the directory", "ca.crt": "ca", "known_hosts": "hosts"}},
		"a Secret":      {"--git-secret=fleet", map[string]string{"bearerToken": "of the Secret"}},
		"a flag wins":   {"--git-credentials-dir=DIR --git-password-file=FILE", map[string]string{"username": "ann", "password": "of a flag\n", "ca.crt": "ca", "known_hosts": "hosts"}},
		"another way":   {"--git-credentials-dir=DIR --git-token-file=FILE", map[string]string{"username": "ann", "bearerToken": "of a flag\n", "ca.crt": "ca", "known_hosts": "hosts"}},
		"all by flags":  {"--git-ssh-key-file=FILE --git-known-hosts-file=FILE --git-ssh-passphrase-file=FILE", map[string]string{"identity": "of a flag\n", "known_hosts": "of a flag\n", "password": "of a flag\n"}},
		"a certificate": {"--git-client-cert-file=FILE --git-client-key-file=FILE --git-ca-file=FILE", map[string]string{"tls.crt": "of a flag\n", "tls.key": "of a flag\n", "ca.crt": "of a flag\n"}},
		"an app": {
			"--git-github-app-id=1 --git-github-app-installation-id=2 --git-github-app-key-file=FILE --git-github-app-url=https://ghe/api/v3",
			map[string]string{"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "of a flag\n", "githubAppBaseURL": "https://ghe/api/v3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := gitFlagsOf(t, dir, tt.line)
			g.auth.secrets = func(context.Context, string) (map[string][]byte, error) {
				return map[string][]byte{"bearerToken": []byte("of the Secret"), "other": nil}, nil
			}
			o, err := g.auth.options(g.Options)
			if err != nil {
				t.Fatal(err)
			}
			keys, err := o.Keys(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for k, v := range keys {
				got[k] = string(v)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("keys(%s): -want +got\n%s", tt.line, diff)
			}
		})
	}
}

// What contradicts itself is a usage error, before anything is read.
func TestGitAuthContradictions(t *testing.T) {
	t.Setenv("SSH_AUTH_SOCK", "")
	for line, words := range map[string]string{
		"--git-credentials-dir=DIR --git-secret=x": "give one of the two",
		"--git-secret=x": "needs the management cluster",
		"--git-password-file=FILE --git-token-file=FILE":          "exclude each other",
		"--git-github-app-id=1":                                   "a GitHub App needs --git-github-app-id, --git-github-app-installation-id and",
		"--git-github-app-id=1 --git-token-file=FILE":             "leave out user, password and token",
		"--git-ssh-agent --git-ssh-key-file=FILE":                 "exclude each other",
		"--git-ssh-agent":                                         "SSH_AUTH_SOCK is not set",
		"--git-ssh-passphrase-file=FILE --git-password-file=FILE": "give one of the two",
		"--git-client-cert-file=FILE":                             "go together",
		"--git-proxy=ftp://" + gitCanary + "@proxy":               "the proxy is not an address",
	} {
		g := gitFlagsOf(t, nil, line)
		_, err := g.Open()
		var code Exit
		if err == nil || !strings.Contains(err.Error(), words) || !errors.As(err, &code) || code.Code != ExitUsage {
			t.Errorf("open(%s): %v, want a usage error that says %q", line, err, words)
		}
		if err != nil && strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), gitCanary) {
			t.Errorf("open(%s): %v shows a credential", line, err)
		}
	}
}

// What is wrong with where credentials come from is named, and what they are is not.
func TestGitAuthErrors(t *testing.T) {
	strange := map[string]string{"token": gitCanary}
	for line, tt := range map[string]struct {
		dir   map[string]string
		words string
	}{
		"--git-credentials-dir=DIR":        {strange, "linkwright knows none of its keys: want some of identity"},
		"--git-credentials-dir=DIR/nope":   {nil, "--git-credentials-dir: "},
		"--git-secret=strange":             {nil, "--git-secret strange in the management cluster: linkwright knows none of its keys"},
		"--git-secret=missing":             {nil, "--git-secret: Secret linkwright/missing is missing in the management cluster"},
		"--git-secret=empty":               {nil, "the key password is empty"},
		"--git-token-file=DIR/nope":        {nil, "--git-token-file: "},
		"--git-token-file=DIR/blank":       {map[string]string{"blank": " \n"}, "blank: the file is empty"},
		"--git-ssh-passphrase-file=DIR/no": {nil, "--git-ssh-passphrase-file: "},
	} {
		g := gitFlagsOf(t, tt.dir, line)
		g.auth.secrets = func(_ context.Context, name string) (map[string][]byte, error) {
			switch name {
			case "strange":
				return map[string][]byte{"token": []byte(gitCanary)}, nil
			case "empty":
				return map[string][]byte{"password": nil, "username": []byte(gitCanary)}, nil
			}
			return nil, fmt.Errorf("Secret linkwright/%s %w", name, access.ErrNotFound)
		}
		s, err := g.Open()
		if err != nil {
			t.Fatalf("open(%s): %v", line, err)
		}
		_, err = s.Poll(t.Context())
		if err == nil || !strings.Contains(err.Error(), tt.words) || strings.Contains(err.Error(), gitCanary) {
			t.Errorf("Poll with %s: %v, want words %q", line, err, tt.words)
		}
		_ = s.Close()
	}
}

func TestGitAuthTakesTheAgent(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("SSH_AUTH_SOCK", "/run/agent")
	g := gitFlagsOf(t, map[string]string{"identity": gitCanary}, "--git-ssh-agent --git-credentials-dir=DIR")
	o, err := g.auth.options(g.Options)
	if err != nil || o.Agent != "/run/agent" {
		t.Fatalf("options: agent %s, %v", o.Agent, err)
	}
	if _, err := o.Keys(t.Context()); err == nil || !strings.Contains(err.Error(), "connect to the server once with ssh") {
		t.Errorf("keys without known_hosts: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh", "known_hosts"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := o.Keys(t.Context())
	if err != nil || keys[source.KeyIdentity] != nil || string(keys[source.KeyKnownHosts]) != "mine" {
		t.Errorf("keys: %v, %v", keys, err)
	}
}
