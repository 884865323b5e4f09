package tutorials

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/linkwright/linkwright/hack/testbed"
)

// patience is how long a block may take until its output is as shown.
const patience = 90 * time.Second

var update = flag.Bool("update", false, "write the outputs into the pages")

// reader is somebody who follows a page, with two clusters of their own, in one shell.
type reader struct {
	*testing.T
	bed   *testbed.ControlPlanes
	dir   string // where the reader works; bin and home lie beside it
	shell *shell
}

// TestFirstLink runs the commands of the page, and compares their outputs with those that it shows.
func TestFirstLink(t *testing.T) { newReader(t).follow("first-link.md") }

// TestFromHandMadeLinks does the same from links that Linkerd's own commands made.
func TestFromHandMadeLinks(t *testing.T) {
	r := newReader(t)
	r.linkerd()
	r.follow("from-hand-made-links.md")
}

// newReader has the clusters west and east, as linkerd install leaves them.
func newReader(t *testing.T) *reader {
	t.Helper()
	testbed.Need(t)
	r := &reader{T: t, dir: filepath.Join(t.TempDir(), "work")}
	r.must(os.Mkdir(r.dir, 0o755))
	r.programs()
	bed, err := testbed.Start(t.Context(), testbed.Options{Names: []string{"west", "east"}})
	r.must(err)
	r.bed = bed
	t.Cleanup(func() { r.must(bed.Close()) })
	for i, c := range bed.Clusters {
		r.must(testbed.InstallLinkerd(t.Context(), c.Config, testbed.Linkerd{GatewayAddresses: []string{fmt.Sprintf("192.0.2.%d", 11-i)}}))
	}
	r.mirrors()
	r.login()
	r.shell = newShell(t, r.dir, append(os.Environ(),
		"HOME="+filepath.Dir(r.dir), "PATH="+r.beside("bin")+":"+os.Getenv("PATH"), "KUBECONFIG="+r.beside("kubeconfig"),
		"GIT_AUTHOR_NAME=You", "GIT_AUTHOR_EMAIL=you@example.com", "GIT_COMMITTER_NAME=You", "GIT_COMMITTER_EMAIL=you@example.com", "GIT_CONFIG_GLOBAL=/dev/null"))
	return r
}

func (r *reader) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *reader) beside(name string) string { return filepath.Join(filepath.Dir(r.dir), name) }

// programs are linkwright and kubectl, as make builds them, or this machine's kubectl.
func (r *reader) programs() {
	r.Helper()
	from, err := testbed.Binaries()
	r.must(err)
	r.must(os.Mkdir(r.beside("bin"), 0o755))
	for _, name := range []string{"linkwright", "kubectl"} {
		file := filepath.Join(from, name)
		_, err := os.Stat(file)
		if err != nil && name == "kubectl" {
			file, err = exec.LookPath(name)
		}
		if err != nil {
			if ci := os.Getenv("CI"); ci == "1" || ci == "true" {
				r.Fatal(err)
			}
			r.Skipf("%v: run make build bin/kubectl", err)
		}
		r.must(os.Symlink(file, filepath.Join(r.beside("bin"), name)))
	}
}

// mirrors play Linkerd's controllers.
func (r *reader) mirrors() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, len(r.bed.Clusters))
	for _, c := range r.bed.Clusters {
		go func() { done <- testbed.RunMirrors(ctx, c.Config, testbed.MirrorOptions{}) }()
	}
	r.Cleanup(func() {
		stop()
		for range r.bed.Clusters {
			r.must(<-done)
		}
	})
}

// login writes a kubeconfig with a context for each cluster.
func (r *reader) login() {
	r.Helper()
	all := clientcmdapi.NewConfig()
	for _, c := range r.bed.Clusters {
		one, err := clientcmd.LoadFromFile(c.Kubeconfig)
		r.must(err)
		context := one.Contexts[one.CurrentContext]
		all.Clusters[c.Name], all.AuthInfos[c.Name] = one.Clusters[context.Cluster], one.AuthInfos[context.AuthInfo]
		all.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: c.Name}
	}
	all.CurrentContext = "west"
	r.must(clientcmd.WriteToFile(*all, r.beside("kubeconfig")))
}

// steps are those of a page.
func (r *reader) steps(kind, name string) []Step {
	r.Helper()
	file := filepath.Join("../../docs", kind, name)
	page, err := os.ReadFile(file)
	r.must(err)
	steps, err := Steps(string(page))
	r.must(err)
	if len(steps) < 5 {
		r.Fatalf("%s has %d blocks of commands", file, len(steps))
	}
	return steps
}

// follow runs the blocks of a tutorial in its order.
func (r *reader) follow(name string) {
	r.Helper()
	steps := r.steps("tutorials", name)
	file := filepath.Join("../../docs/tutorials", name)
	page, err := os.ReadFile(file)
	r.must(err)
	outputs := map[int]string{} // by the first line of their block
	for _, s := range steps {
		outputs[s.From] = r.step(s)
		if *update {
			r.must(os.WriteFile(file, []byte(rewritten(string(page), steps, outputs)), 0o644)) //nolint:gosec // a page
		}
	}
}

// rewritten is the page with outputs that differ in shape from those that it shows.
func rewritten(page string, steps []Step, outputs map[int]string) string {
	lines := strings.SplitAfter(page, "\n")
	var out strings.Builder
	at := 0
	for _, s := range steps {
		got, ok := outputs[s.From]
		if !s.HasShown || !ok || Same(s.Shown, got) {
			continue
		}
		out.WriteString(strings.Join(lines[at:s.From], "") + got)
		at = s.To
	}
	return out.String() + strings.Join(lines[at:], "")
}

// step runs one block until its output is as shown, or once.
func (r *reader) step(s Step) string {
	r.Helper()
	if s.Addresses {
		r.addresses()
	}
	for end := time.Now().Add(patience); ; {
		code, got := r.shell.run(s.Commands)
		got = r.readable(got)
		same := !s.HasShown || Same(s.Shown, got)
		if s.Repeat && (code != s.Exit || !same) && time.Now().Before(end) {
			time.Sleep(500 * time.Millisecond)
			continue
		}
		r.Logf("%s%s", s.Commands, got)
		if code != s.Exit {
			r.Fatalf("line %d: exit code %d, want %d\n%s\n%s", s.Line, code, s.Exit, s.Commands, got)
		}
		if !same && !*update {
			r.Errorf("line %d: %s -shown +got (go test -update writes it)\n%s", s.Line, s.Commands, cmp.Diff(Shape(s.Shown), Shape(got)))
		}
		return got
	}
}

// addresses declares those of the API servers, which import does not take for ones that other clusters can use, because they are of this
// machine.
func (r *reader) addresses() {
	r.Helper()
	file := filepath.Join(r.dir, "fleet", "fleet.yaml")
	text, err := os.ReadFile(file)
	r.must(err)
	out := string(text)
	for _, c := range r.bed.Clusters {
		access := "    kubeconfigSecret:\n      name: " + c.Name + "\n"
		if strings.Count(out, access) != 1 {
			r.Fatalf("%s has no access to %s:\n%s", file, c.Name, out)
		}
		out = strings.Replace(out, access, access+"  apiServer: "+c.Config.Host+"\n", 1)
	}
	r.must(os.WriteFile(file, []byte(out), 0o600))
}

// ofOneMachine are lines that readers whose clusters are on other machines do not see, and those that only a busy machine shows.
var ofOneMachine = regexp.MustCompile(`^waiting \d+s: |because it is a loopback address|is an address of this machine|^# not read, and needed as target: other clusters cannot use`)

// readable is an output as a reader sees it whose clusters are on other machines.
func (r *reader) readable(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !ofOneMachine.MatchString(line) {
			out.WriteString(regexp.MustCompile(`(?m)(valid: .*), \d+ warnings?$`).ReplaceAllString(line, "$1"))
		}
	}
	text = strings.ReplaceAll(out.String(), r.beside("kubeconfig"), "/home/you/.kube/config")
	text = strings.ReplaceAll(text, r.dir, "/home/you")
	for _, c := range r.bed.Clusters {
		text = strings.ReplaceAll(text, c.Config.Host, "https://"+c.Name+".example.com:6443")
	}
	return text
}

// shell is one bash that lives as long as a page is followed.
type shell struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
	n   int
}

const done = "block-is-done"

func newShell(t *testing.T, dir string, env []string) *shell {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc")
	cmd.Dir, cmd.Env = dir, env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = to, to
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = to.Close()
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait(); _ = out.Close() })
	return &shell{t: t, in: in, out: bufio.NewReader(out)}
}

// run gives the exit code of the last command that failed, 0 if none did, and all that the block printed.
func (s *shell) run(commands string) (int, string) {
	s.t.Helper()
	s.n++
	file := filepath.Join(s.t.TempDir(), strconv.Itoa(s.n))
	if err := os.WriteFile(file, []byte(commands), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(s.in, "set -E; failed=0; trap 'failed=$?' ERR; . %s; trap - ERR; echo; echo %s $failed\n", file, done); err != nil {
		s.t.Fatal(err)
	}
	var text strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%s\n%s: the shell ended: %v", commands, text.String(), err)
		}
		if code, ok := strings.CutPrefix(line, done+" "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(code))
			if err != nil {
				s.t.Fatal(err)
			}
			return n, strings.TrimRight(text.String(), "\n") + "\n"
		}
		text.WriteString(line)
	}
}
