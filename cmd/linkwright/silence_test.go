package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	gosync "sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
)

// mute is a server that accepts connections, and answers nothing: as a repository and as a cluster.
type mute struct {
	address, dir, kubeconfig string
	accepted                 *atomic.Int32 // connections
}

func newMute(t *testing.T) mute {
	t.Helper()
	server, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	m := mute{address: server.Addr().String(), dir: t.TempDir(), accepted: new(atomic.Int32)}
	go func() {
		for { // what is accepted stays open until the test ends
			c, err := server.Accept()
			if err != nil {
				return
			}
			defer c.Close() //nolint:errcheck // nobody waits for it
			m.accepted.Add(1)
		}
	}()
	m.kubeconfig = filepath.Join(m.dir, "kubeconfig")
	kubeconfig := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: west,
clusters: [{name: mute, cluster: {server: "https://%s"}}], users: [{name: user, user: {token: x}}],
contexts: [{name: east, context: {cluster: mute, user: user}}, {name: west, context: {cluster: mute, user: user}}]}
`, m.address)
	declared := link("west", "east", "")
	for _, name := range []string{"east", "west"} {
		declared += fmt.Sprintf("{apiVersion: linkwright.dev/v1alpha1, kind: Cluster, metadata: {name: %[1]s}, spec: {access: {kubeconfigSecret: {name: %[1]s}}}}\n---\n", name)
	}
	for file, text := range map[string]string{"kubeconfig": kubeconfig, "fleet/fleet.yaml": declared} {
		file = filepath.Join(m.dir, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// args fills in what a command line names: REPO, KUBECONFIG and DIR.
func (m mute) args(line string) []string {
	return strings.Fields(strings.NewReplacer("REPO", "http://"+m.address+"/fleet.git", "KUBECONFIG", m.kubeconfig, "DIR", m.dir).Replace(line))
}

// TestSilence: each command that reaches a cluster or a repository says before long what it waits for, as text or as JSON. Ctrl-C then
// ends it at once, and it says so once.
func TestSilence(t *testing.T) {
	t.Parallel()
	m := newMute(t)
	var all gosync.WaitGroup // of commands that mostly wait: all at the same time
	defer all.Wait()
	for _, tt := range []struct{ line, awaits string }{
		{"import --kubeconfig KUBECONFIG --context east --context west", "cluster east, 1 of 2"},
		{"cluster add east --context east --kubeconfig KUBECONFIG --management-kubeconfig KUBECONFIG", "cluster east"},
		{"cluster add --all DIR/fleet --kubeconfig KUBECONFIG --management-kubeconfig KUBECONFIG", "cluster east, 1 of 2"},
		{"cluster add --all DIR/fleet --kubeconfig KUBECONFIG --management-kubeconfig KUBECONFIG --log-format json", "cluster east, 1 of 2"},
		{"render --repo REPO --kubeconfig KUBECONFIG --save-facts DIR/facts", live.Repository},
		{"render REPO@main", live.Repository},
		{"rbac REPO@main", live.Repository},
		{"validate REPO@main", live.Repository},
		{"validate REPO@main -o json", live.Repository},
		{"diff --repo REPO main..other", live.Repository},
		{"diff --repo REPO main..other -o json", live.Repository},
		{"get links --kubeconfig KUBECONFIG", live.Management},
		{"get clusters --kubeconfig KUBECONFIG -o json", live.Management},
		{"events --kubeconfig KUBECONFIG", live.Management},
		{"status --kubeconfig KUBECONFIG", live.Management},
		{"status --kubeconfig KUBECONFIG -o json", live.Management},
		{"status --repo REPO --kubeconfig KUBECONFIG", live.Repository},
		{"describe link west/east --kubeconfig KUBECONFIG", live.Management},
		{"suspend west/east --reason test --kubeconfig KUBECONFIG", live.Management},
		{"resume --all --kubeconfig KUBECONFIG", live.Management},
		{"resume east --kubeconfig KUBECONFIG -o json", live.Management},
		{"reconcile --kubeconfig KUBECONFIG", live.Management},
		{"abandon east --reason test --kubeconfig KUBECONFIG", live.Management},
		{"approve 3f9c0e51b7a2 --kubeconfig KUBECONFIG", live.Management},
		{"sync --repo REPO --kubeconfig KUBECONFIG", live.Lease},
		{"adopt --all --repo REPO --kubeconfig KUBECONFIG", live.Repository},
	} {
		all.Go(func() {
			if err := waits(t.Context(), m.args(tt.line), tt.awaits); err != nil {
				t.Errorf("%s: %v", tt.line, err)
			}
		})
	}
}

// waits runs a command until it says what it waits for, and interrupts it.
func waits(ctx context.Context, args []string, awaits string) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var out, said lines
	began, code := time.Now(), make(chan int, 1)
	go func() { code <- run(ctx, args, &out, &said) }()
	words, asJSON := regexp.MustCompile(`waiting \d+s: for `+awaits+"\n"), args[len(args)-1] == "json"
	if asJSON {
		words = regexp.MustCompile(`"msg":"waiting","seconds":\d+,"why":"for ` + awaits + `"}` + "\n")
	}
	for !words.MatchString(said.String()) {
		if time.Since(began) > patience {
			return fmt.Errorf("after %s it says\n%s", time.Since(began), said.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
	end(live.Stopped{Signal: os.Interrupt})
	select {
	case got := <-code:
		if again := "; run linkwright sync --repo URL again\n"; args[0] == "sync" && !strings.HasSuffix(said.String(), again) {
			return fmt.Errorf("no %q at the end of\n%s", again, said.String())
		}
		return once(said.String(), got, asJSON)
	case <-time.After(patience):
		return fmt.Errorf("it does not end:\n%s", said.String())
	}
}

// once says what is wrong with how an interrupted command ended.
func once(text string, code int, asJSON bool) error {
	last := text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:]
	if code != cli.ExitPartial || !strings.HasPrefix(last, "linkwright: interrupted before the end: interrupt signal received") || strings.Count(text, "interrupted before") != 1 || strings.Count(last, "interrupt signal") != 1 {
		return fmt.Errorf("exit code %d, it says\n%s", code, text)
	}
	for line := range strings.Lines(text) {
		if asJSON && line != last && !json.Valid([]byte(line)) {
			return fmt.Errorf("no JSON: %s", line)
		}
	}
	return nil
}

// TestTerminated: SIGTERM ends a command that runs once like Ctrl-C, without the hint for a keyboard, and with the same exit code. A daemon that
// is stopped has done what it is for.
func TestTerminated(t *testing.T) {
	t.Parallel()
	m := newMute(t)
	for _, tt := range []struct {
		line, begun, words string
		code               int
	}{
		{"sync --repo REPO --kubeconfig KUBECONFIG", "waiting ", "finishing what has begun\nlinkwright: interrupted before the end: terminated signal received; run linkwright sync --repo URL again\n", cli.ExitPartial},
		{"get links --kubeconfig KUBECONFIG", "waiting ", "linkwright: interrupted before the end: terminated signal received\n", cli.ExitPartial},
		{"run --repo REPO --kubeconfig KUBECONFIG --listen 127.0.0.1:0", "listening", `msg=stopping why="terminated signal received"` + "\n", cli.ExitDone},
	} {
		t.Run(tt.line, func(t *testing.T) {
			t.Parallel()
			var said lines
			c := exec.CommandContext(t.Context(), "linkwright", m.args(tt.line)...) //nolint:gosec // our own
			c.Stderr, c.WaitDelay = &said, 20*time.Second
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			for began := time.Now(); !strings.Contains(said.String(), tt.begun); time.Sleep(20 * time.Millisecond) {
				if time.Since(began) > patience {
					t.Fatalf("it says\n%s", said.String())
				}
			}
			if err := c.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait() // with an exit code
			if code := c.ProcessState.ExitCode(); code != tt.code || !strings.HasSuffix(said.String(), tt.words) {
				t.Errorf("exit code %d, want %d; it says\n%s", code, tt.code, said.String())
			}
		})
	}
}

// TestUnread: a command whose output nobody reads ends without a word, and its exit code is that of shells for a closed pipe.
func TestUnread(t *testing.T) {
	t.Parallel()
	m := newMute(t)
	for _, line := range []string{"validate DIR/fleet", "render DIR/fleet", "rbac DIR/fleet -n linkwright", "validate DIR/fleet -o json", "explain cluster", "schema"} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = read.Close()
		var said bytes.Buffer
		c := exec.CommandContext(t.Context(), "linkwright", m.args(line)...) //nolint:gosec // our own
		c.Stdout, c.Stderr = write, &said
		_ = c.Run() // with an exit code
		_ = write.Close()
		if code := c.ProcessState.ExitCode(); code != live.ExitUnread || said.Len() > 0 {
			t.Errorf("%s: exit code %d, it says\n%s", line, code, said.String())
		}
	}
}

// TestUnreadProgress: that nobody reads progress any more ends no work.
func TestUnreadProgress(t *testing.T) {
	t.Parallel()
	m := newMute(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	c := exec.CommandContext(t.Context(), "linkwright", m.args("get links --kubeconfig KUBECONFIG --cluster-timeout 4s")...) //nolint:gosec // our own
	c.Stderr = write
	_ = c.Run() // with an exit code
	_ = write.Close()
	if code := c.ProcessState.ExitCode(); code != cli.ExitError {
		t.Errorf("exit code %d, %v", code, c.ProcessState)
	}
}

// TestDeadManagementCluster: a management cluster that does not answer is asked once. The error then says so, and nothing waits for it again.
func TestDeadManagementCluster(t *testing.T) {
	t.Parallel()
	var both gosync.WaitGroup
	defer both.Wait()
	for _, line := range []string{"status", "describe link west/east"} {
		m := newMute(t)
		repo := filepath.Join(m.dir, "fleet")
		initRepository(t, repo)
		both.Go(func() {
			var out, said lines
			code := run(t.Context(), append(m.args(line+" --kubeconfig KUBECONFIG --allow-file-repo --repo"), repo), &out, &said)
			if n := m.accepted.Load(); code != cli.ExitError || n != 1 || !strings.Contains(out.String()+said.String(), "read the record of clusters: ") {
				t.Errorf("%s: exit code %d after %d connections, want 1\n%s%s", line, code, n, out.String(), said.String())
			}
		})
	}
}

// initRepository commits what a directory holds.
func initRepository(t *testing.T, repo string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "x"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}
