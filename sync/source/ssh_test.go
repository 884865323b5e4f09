package source_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/sync/source"
)

func canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// keyring is a client's key and one of a host, made by ssh-keygen.
type keyring struct {
	dir string
}

func keys(t *testing.T) keyring {
	t.Helper()
	need(t, "ssh-keygen")
	k := keyring{dir: t.TempDir()}
	for _, name := range []string{"client", "host", "other"} {
		out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", k.dir+"/"+name).CombinedOutput()
		if err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	keep(t, k.dir+"/known_hosts", "# nobody yet\n")
	return k
}

// keys returns the client's, and the hosts that are known now.
func (k keyring) keys(t *testing.T) func(context.Context) (source.Keys, error) {
	t.Helper()
	return with("identity", k.text(t, "client"), "known_hosts", k.text(t, "known_hosts"))
}

func (k keyring) text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(k.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// locked returns the client's private key under a passphrase.
func (k keyring) locked(t *testing.T, passphrase string) string {
	t.Helper()
	copied := keep(t, filepath.Join(t.TempDir(), "locked"), k.text(t, "client"))
	out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-p", "-P", "", "-N", passphrase, "-f", copied).CombinedOutput()
	if err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	data, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func me(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// knows writes a known_hosts file that has one of the keys for an address.
func (k keyring) knows(t *testing.T, addr, name string) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(k.dir, name+".pub"))
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(addr)
	keep(t, k.dir+"/known_hosts", fmt.Sprintf("[%s]:%s %s", host, port, key))
}

// need finds a program, or skips; in CI a missing one is a failure.
func need(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin") {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// sshd runs Debian's server on a loopback port until the test ends. It takes the client's key for whoever runs the test.
func sshd(t *testing.T, k keyring) (addr string) {
	t.Helper()
	program := need(t, "sshd")
	if os.Geteuid() == 0 {
		_ = os.MkdirAll("/run/sshd", 0o755) // where sshd locks itself in; the init scripts of a real host make it
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(addr)
	config := keep(t, k.dir+"/sshd_config", strings.Join([]string{
		"ListenAddress 127.0.0.1", "Port " + port, "HostKey " + k.dir + "/host", "AuthorizedKeysFile " + k.dir + "/client.pub",
		"PermitRootLogin yes", "StrictModes no", "UsePAM no", "PasswordAuthentication no", "PidFile none",
		"SetEnv SHLVL=2", // bash then reads no file of the user: what that starts may take longer than the test
		"",
	}, "\n"))
	cmd := exec.CommandContext(t.Context(), program, "-D", "-e", "-f", config)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	listening := make(chan bool)
	go func() {
		defer close(listening)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			if strings.HasPrefix(s.Text(), "Server listening on") {
				listening <- true
			}
		}
	}()
	if !<-listening {
		t.Fatal("sshd did not start")
	}
	return addr
}

// follow polls a head that stands still, then one that moved, and asks for its past.
func follow(t *testing.T, r repo, s *source.Source) {
	t.Helper()
	snap := poll(t, s)
	if again := poll(t, s); again != snap {
		t.Error("an unchanged head did not give the same snapshot")
	}
	r.write("fleet/west.yaml", "kind: Cluster\n")
	head := r.push("west")
	if got := poll(t, s); string(got.Commit) != head {
		t.Errorf("Commit: -want +got\n-%s\n+%s", head, got.Commit)
	}
	lineage(t, r, s)
}

func TestPollOverSSH(t *testing.T) {
	r := newRepo(t)
	k := keys(t)
	addr := sshd(t, k)
	o := source.Options{Repo: "ssh://" + me(t) + "@" + addr + r.bare, Path: "fleet", Keys: func(ctx context.Context) (source.Keys, error) { return k.keys(t)(ctx) }}
	s := open(t, o)

	_, err := s.Poll(t.Context())
	refuse(t, err, addr, "the host's key is not in known_hosts")
	k.knows(t, addr, "other")
	_, err = s.Poll(t.Context())
	refuse(t, err, addr, "another key than known_hosts")

	k.knows(t, addr, "host")
	follow(t, r, s)

	o.Repo += "-nope"
	_, err = open(t, o).Poll(t.Context())
	refuse(t, err, addr, "no repository there", "does not appear to be a git repository")
	o.Repo = "ssh://" + me(t) + "@" + addr + r.bare
	o.Keys = with("identity", k.text(t, "other"), "known_hosts", k.text(t, "known_hosts"))
	_, err = open(t, o).Poll(t.Context())
	refuse(t, err, addr, "does not let the user "+me(t)+" in with the key SHA256:")
	_, err = open(t, o).Poll(canceled(t))
	refuse(t, err, "canceled")
}

// start runs a program until the test ends.
func start(t *testing.T, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// until waits for something to listen.
func until(t *testing.T, network, addr string) {
	t.Helper()
	for ctx := t.Context(); ctx.Err() == nil; {
		if c, err := new(net.Dialer).DialContext(ctx, network, addr); err == nil {
			_ = c.Close()
			return
		}
		runtime.Gosched()
	}
}

func TestPollWithAPassphrase(t *testing.T) {
	r := newRepo(t)
	k := keys(t)
	addr := sshd(t, k)
	k.knows(t, addr, "host")
	s := open(t, source.Options{
		Repo: "ssh://" + me(t) + "@" + addr + r.bare,
		Keys: with("identity", k.locked(t, sharp), "known_hosts", k.text(t, "known_hosts"), "password", sharp+"\n"),
	})
	poll(t, s)
	hidden(t, s)
}

func TestPollWithAnAgent(t *testing.T) {
	r := newRepo(t)
	k := keys(t)
	addr := sshd(t, k)
	k.knows(t, addr, "host")
	socket := filepath.Join(t.TempDir(), "agent")
	o := source.Options{
		Repo: "ssh://" + me(t) + "@" + addr + r.bare, Agent: socket, Keys: with("known_hosts", k.text(t, "known_hosts")),
	}
	s := open(t, o)
	_, err := s.Poll(t.Context())
	refuse(t, err, "no ssh agent answers at "+socket)
	start(t, need(t, "ssh-agent"), "-D", "-a", socket)
	until(t, "unix", socket)
	_, err = s.Poll(t.Context())
	refuse(t, err, "the ssh agent at "+socket+" holds no key (add one: ssh-add)")
	add := func(name string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), need(t, "ssh-add"), "-q", filepath.Join(k.dir, name))
		cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("ssh-add: %v\n%s", err, out)
		}
	}
	add("other")
	_, err = s.Poll(t.Context())
	refuse(t, err, "does not let the user "+me(t)+" in with the agent's keys")
	add("client")
	poll(t, s)
	o.Keys = nil
	_, err = open(t, o).Poll(t.Context())
	refuse(t, err, "ssh needs the key known_hosts")
}

// daemon is git daemon, which is asked without any credentials.
func daemon(t *testing.T, r repo) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	_ = l.Close()
	// Itself, and not by git: that would go and leave it behind.
	start(t, filepath.Join(r.git("--exec-path"), "git-daemon"), "--listen=127.0.0.1", "--port="+port, "--export-all", "--reuseaddr", "--base-path="+filepath.Dir(r.bare))
	until(t, "tcp", addr)
	return addr
}

func TestPollOfAGitDaemon(t *testing.T) {
	r := newRepo(t)
	addr := daemon(t, r)
	s := open(t, source.Options{Repo: "git://" + addr + "/fleet.git", Path: "fleet"})
	follow(t, r, s)
	_, err := open(t, source.Options{Repo: "git://" + addr + "/nope.git"}).Poll(t.Context())
	refuse(t, err, "no repository there", "access denied or repository not exported")
	silent := silentListener(t)
	_, err = open(t, source.Options{Repo: "git://" + silent.String() + "/fleet.git", Timeout: 100 * time.Millisecond}).Poll(t.Context())
	refuse(t, err, "not done within 100ms")
}
