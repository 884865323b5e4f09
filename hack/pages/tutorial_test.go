package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
)

// follow runs the blocks of a tutorial in its order. Readers have a terminal, on which progress disappears once there is a report, so the pages
// show none.
func (r *reader) follow() {
	r.Helper()
	r.do("export LINKWRIGHT_LOG_LEVEL=error")
	page := r.text()
	steps, err := Steps(page)
	r.must(err)
	if len(steps) < 5 {
		r.Fatalf("%s has %d blocks of commands", r.page, len(steps))
	}
	outputs := map[int]string{} // by the first line of their block
	for _, s := range steps {
		outputs[s.From] = r.step(s)
		if *update {
			r.must(os.WriteFile(filepath.Join("../..", r.page), []byte(rewritten(page, steps, outputs)), 0o644)) //nolint:gosec // a page
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
	for end := time.Now().Add(patience); ; {
		began := time.Now()
		code, got := r.shell.run(s.Commands)
		got = r.readable(got)
		same := !s.HasShown || Same(s.Shown, got)
		if s.Repeat && (code != s.Exit || !same) && time.Now().Before(end) {
			time.Sleep(500 * time.Millisecond)
			continue
		}
		r.Logf("line %d, %s: %s%s", s.Line, time.Since(began).Round(time.Millisecond), s.Commands, got)
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
func (r *reader) addresses(file string) {
	r.Helper()
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
var ofOneMachine = regexp.MustCompile(`^waiting \d+s: |because (?:it|each) is a loopback address|by an address of this machine|^# not read, and needed as target: other clusters cannot use`)

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
