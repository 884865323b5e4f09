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
	"strings"
	"testing"

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
	dir  string
	auth source.Auth
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
	k.auth = source.Auth{SSHKeyFile: k.dir + "/client", KnownHostsFile: keep(t, k.dir+"/known_hosts", "")}
	return k
}

// knows writes a known_hosts file that has one of the keys for an address.
func (k keyring) knows(t *testing.T, addr, name string) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(k.dir, name+".pub"))
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(addr)
	keep(t, k.auth.KnownHostsFile, fmt.Sprintf("[%s]:%s %s", host, port, key))
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
		"PermitRootLogin yes", "StrictModes no", "UsePAM no", "PasswordAuthentication no", "PidFile none", "",
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

func TestPollOverSSH(t *testing.T) {
	r := newRepo(t)
	k := keys(t)
	addr := sshd(t, k)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	o := source.Options{Repo: "ssh://" + me.Username + "@" + addr + r.bare, Path: "fleet", Auth: k.auth}
	s := open(t, o)

	_, err = s.Poll(t.Context())
	refuse(t, err, addr, "not in the known_hosts file")
	k.knows(t, addr, "other")
	_, err = s.Poll(t.Context())
	refuse(t, err, addr, "another key than the known_hosts file has")

	k.knows(t, addr, "host")
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

	o.Repo += "-nope"
	_, err = open(t, o).Poll(t.Context())
	refuse(t, err, addr, "no repository there", "does not appear to be a git repository")
	o.Repo, o.Auth.SSHKeyFile = "ssh://"+me.Username+"@"+addr+r.bare, k.dir+"/other"
	_, err = open(t, o).Poll(t.Context())
	refuse(t, err, addr, "unable to authenticate")
	_, err = open(t, o).Poll(canceled(t))
	refuse(t, err, "canceled")
}
