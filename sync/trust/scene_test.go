package trust_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/sync/trust"
)

// need finds a program, or skips; in CI a missing one is a failure.
func need(t testing.TB, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed", name)
}

// scene is a repository and the home of GnuPG beside it.
type scene struct {
	t         testing.TB
	dir, home string
}

func newScene(t testing.TB) scene {
	t.Helper()
	need(t, "git")
	dir, err := os.MkdirTemp("", "gpg") //nolint:usetesting // sockets of the agent lie in it, whose names must be short
	if err != nil {
		t.Fatal(err)
	}
	s := scene{t, t.TempDir(), dir}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s.run("git", "init", "-q", "-b", "main", ".")
	return s
}

// run starts a program away from this machine's and the developer's configuration.
func (s scene) run(name string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GNUPGHOME="+s.home,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_COMMITTER_DATE=2026-06-01T12:00:00Z")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// pgp makes a key and gives its fingerprint. Its agent ends with the test.
func (s scene) pgp(name string, args ...string) string {
	s.t.Helper()
	need(s.t, "gpg")
	s.t.Cleanup(func() { s.run("gpgconf", "--kill", "all") })
	s.gpg(append(args, "--quick-generate-key", name+" <"+name+"@example.com>", "ed25519", "sign", "never")...)
	return s.newest(name)
}

func (s scene) newest(name string) string {
	_, rest, _ := strings.Cut(s.gpg("--with-colons", "--list-keys", name), "\nfpr:")
	return strings.Trim(strings.Split(rest, "\n")[0], ":")
}

func (s scene) gpg(args ...string) string {
	s.t.Helper()
	return s.run("gpg", append([]string{"--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""}, args...)...)
}

// export returns a key's public part, as people give it.
func (s scene) export(fingerprint string) []byte {
	return []byte(s.gpg("--armor", "--export", fingerprint))
}

// ssh makes a key and gives the file of its private part and its public one.
func (s scene) ssh(kind string, args ...string) (string, []byte) {
	s.t.Helper()
	need(s.t, "ssh-keygen")
	file := filepath.Join(s.t.TempDir(), "key")
	s.run("ssh-keygen", append([]string{"-q", "-N", "", "-t", kind, "-C", "a@example.com", "-f", file}, args...)...)
	data, err := os.ReadFile(file + ".pub")
	if err != nil {
		s.t.Fatal(err)
	}
	return file, data
}

// by returns how Git is told to sign.
func by(format, key string) []string {
	return []string{"-c", "gpg.format=" + format, "-c", "user.signingKey=" + key}
}

// commit makes one and gives its raw object.
func (s scene) commit(how []string, args ...string) []byte {
	s.t.Helper()
	s.run("git", append(how, append([]string{"commit", "-q", "--allow-empty", "-m", "a change\n\nwhy"}, args...)...)...)
	return []byte(s.run("git", "cat-file", "commit", "HEAD"))
}

// tag makes one at HEAD and gives its raw object.
func (s scene) tag(how []string, name string, args ...string) []byte {
	s.t.Helper()
	s.run("git", append(how, append([]string{"tag", "-m", "a release\n\nwith text", name}, args...)...)...)
	return []byte(s.run("git", "cat-file", "tag", name))
}

func keys(t testing.TB, files ...[]byte) trust.Keys {
	t.Helper()
	named := map[string][]byte{}
	for i, data := range files {
		named[string(rune('a'+i))] = data
	}
	k, err := trust.ParseKeys(named)
	if err != nil {
		t.Fatalf("ParseKeys: %v", err)
	}
	return k
}

// refuse wants an error of a kind whose text says all the words.
func refuse(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", words)
	}
	if kind != nil && !errors.Is(err, kind) {
		t.Errorf("error %q is not %q", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}
