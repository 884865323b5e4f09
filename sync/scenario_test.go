package sync_test

import (
	std "cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/report"
)

var update = flag.Bool("update", false, "rewrite the goldens of scenarios")

// TestScenarios runs ../testdata/sync/*.txtar, each over clusters in memory, in a bubble with a clock of its own. A file's
// first paragraph says a behaviour in words; then come commands, one a line, and the files that they name. See commands.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../testdata/sync/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { play(t, archive) })
			if *update && !t.Failed() {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// play runs the commands below the first paragraph.
func play(t *testing.T, archive *txtar.Archive) {
	said, script, ok := strings.Cut(string(archive.Comment), "\n\n")
	if !ok || said == "" {
		t.Fatal("the first paragraph must say the behaviour in words, and commands must follow")
	}
	s := &scenario{T: t, archive: archive, history: &trees{}, recorded: make(chan struct{}, 1), patience: 30 * time.Second, grace: 24 * time.Hour}
	defer s.stop(nil)
	for n, line := range strings.Split(script, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		do, ok := commands()[words[0]]
		if !ok {
			t.Fatalf("command %d: there is no %s", n+1, words[0])
		}
		s.line = line
		if do(s, words[1:]); t.Failed() {
			return
		}
	}
}

// commands returns the language of scenarios. What is missing of a set of clusters is made by the first command that needs it: east, north and west,
// dressed as Linkerd's, and the management cluster.
func commands() map[string]func(*scenario, []string) {
	return map[string]func(*scenario, []string){
		"option":  (*scenario).option,  // token|ready|patience DURATION|never, before all else; grace DURATION, abandon CLUSTER, observe or unwatched, before a restart
		"commit":  (*scenario).commit,  // (CLUSTER|FILE)…: the head declares these clusters, and the documents in these files
		"back":    (*scenario).back,    // the branch is forced back by one commit
		"git":     (*scenario).git,     // up|hangs: whether the repository answers
		"decide":  (*scenario).decide,  // suspend CLUSTER|SOURCE/TARGET [DURATION]|accept CLUSTER|allow N|abandon CLUSTER|reconcile CLUSTER|none
		"sync":    (*scenario).sync,    // [DURATION]: makes the next sync, which is interrupted after that time
		"restart": (*scenario).restart, // a new process makes the syncs that follow
		"run":     (*scenario).run,     // begins a daemon
		"wait":    (*scenario).wait,    // DURATION: lets time pass
		"stop":    (*scenario).stop,    // ends the daemon
		"cluster": (*scenario).fault,   // NAME up|down|hangs|slow DURATION|throttled N|unauthorized|forbids KIND [NS]|denies VERB KIND|refuses KIND [NS/]NAME
		"gateway": (*scenario).gateway, // NAME ADDRESS…: its load balancer's
		"linkerd": (*scenario).linkerd, // NAME VERSION: that is installed there, with the CRD and roles that it has
		"put":     (*scenario).put,     // NAME FILE [MANAGER]: somebody else makes an object, by this field manager, else kubectl
		"apply":   (*scenario).apply,   // NAME FILE: another version of ours makes an object
		"patch":   (*scenario).patch,   // NAME KIND [NS/]NAME JSON: somebody else changes one
		"value":   (*scenario).value,   // NAME MANAGER FIELD [JSON]: somebody else sets a field of Linkerd's values, or removes it
		"values":  (*scenario).values,  // NAME FILE FIELD…: fields of Linkerd's values, their owners, and what the inventory says of them
		"remove":  (*scenario).remove,  // NAME KIND [NS/]NAME: somebody else deletes one
		"expect":  (*scenario).expect,  // what was asked since the last expect: nothing | reads | writes | apply NAME ACTION KIND [NS/]NAME; …
		"approve": (*scenario).approve, // somebody approves what is denied
		"left":    (*scenario).left,    // NAME N: how many objects of ours there are
		"cmp":     (*scenario).cmp,     // report|sorted|check|decisions|record FILE: the last report, as text; what a read-only check reports; what people decided; what the record says of revisions
	}
}

// scenario is one file that is played.
type scenario struct {
	*testing.T
	archive  *txtar.Archive
	line     string
	options  memcluster.Options
	patience time.Duration
	grace    time.Duration
	abandon  map[api.ClusterName]bool

	set        *memcluster.Clusters
	management *memcluster.Cluster
	history    *trees
	leadership *sync.Leadership
	last       atomic.Pointer[report.Report] // read while a daemon publishes the next
	end        func()
	writes     int // to the management cluster
	poke       chan struct{}

	recorded chan struct{}
	observes bool
}

func (s *scenario) bad(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", s.line, err)
	}
}

func (s *scenario) file(name string) []byte {
	s.Helper()
	for _, f := range s.archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	s.Fatalf("%s: there is no file %s", s.line, name)
	return nil
}

func (s *scenario) duration(text string) time.Duration {
	s.Helper()
	if text == "never" {
		return -1
	}
	d, err := time.ParseDuration(text)
	s.bad(err)
	return d
}

// open makes the clusters.
func (s *scenario) open() {
	s.Helper()
	if s.set != nil {
		return
	}
	s.set = memcluster.New(s.options, "east", "north", "west")
	s.management = memcluster.New(memcluster.Options{}, "home").Cluster("home")
	ns := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "linkwright"}}
	s.bad(s.management.Put("kubectl", ns))
	for i, name := range s.set.Names() {
		s.bad(s.set.Cluster(name).InstallLinkerd(testbed.Linkerd{GatewayAddresses: []string{fmt.Sprintf("192.0.2.%d", 10+i)}}))
	}
	s.asked()
}

func (s *scenario) at(name string) *memcluster.Cluster {
	s.Helper()
	s.open()
	if name == "home" {
		return s.management
	}
	c := s.set.Cluster(api.ClusterName(name))
	if c == nil {
		s.Fatalf("%s: there is no cluster %s", s.line, name)
	}
	return c
}

// loop returns a process; a daemon watches.
func (s *scenario) loop(watches bool) *sync.Loop {
	s.open()
	l := &sync.Loop{
		Options:  sync.Options{Owner: object.DefaultOwner, Holder: "pod", UnreachableSourceTimeout: s.grace, Patience: s.patience},
		Declared: s.history, Clusters: s.set,
		Management: record.ManagementCluster{Cluster: s.management, Namespace: "linkwright"},
		Renderer:   render.Renderer{Owner: object.DefaultOwner}, Policies: []plan.Policy{plan.Suspend, plan.PrunePolicy}, Verifier: s.set,
		Errors: sync.Errors{Explain: cluster.Explain, Rejection: cluster.Rejection}, Log: slog.New(slog.NewTextHandler(s.Output(), nil)),
	}
	l.ReadOnly, l.Abandoned = s.observes, s.abandon
	if watches {
		l.Changes, l.Recorded = s.set, s.recorded
	}
	return l
}

func commitOf(n int) api.Commit { return api.Commit(fmt.Sprintf("%012d%028d", n, 0)) }

// asked returns what was asked of each cluster since it was asked last, writes in order of their words.
func (s *scenario) asked() (out []string) {
	for _, name := range s.set.Names() {
		for _, r := range s.set.Cluster(name).Requests() {
			out = append(out, string(name)+" "+r)
		}
	}
	s.writesRecord()
	slices.Sort(out)
	return out
}

// expect compares what was asked: all of it with nothing, or its writes with those of this line and the ones below it.
func (s *scenario) expect(words []string) {
	s.Helper()
	what, got := strings.Join(words, " "), s.asked()
	writes := slices.DeleteFunc(slices.Clone(got), func(r string) bool { return len(strings.Fields(r)) < 3 })
	switch what {
	case "nothing":
	case "writes":
		if len(writes) == 0 {
			s.Errorf("%s: nothing was written: %v", s.line, s.lastReport().Problems)
		}
		return
	case "reads":
		if len(got) == len(writes) {
			s.Errorf("%s: nothing was read", s.line)
		}
		got = writes
	default:
		got = writes
	}
	var want []string
	if applied, ok := strings.CutPrefix(what, "apply "); ok {
		for one := range strings.SplitSeq(applied, ";") {
			want = append(want, strings.TrimSpace(one))
		}
		slices.Sort(want)
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
		s.Errorf("%s: -want +got\n%s", s.line, diff)
	}
}

// cmp compares the last report with a file, or rewrites that. Of more than two clusters turns come in any order: sorted tells
// their writes in that of their keys.
func (s *scenario) cmp(words []string) {
	s.Helper()
	r, out := s.lastReport(), strings.Builder{}
	switch {
	case len(words) != 2:
		s.Fatalf("%s: want report FILE, sorted FILE, check FILE, decisions FILE or record FILE", s.line)
	case words[0] == "decisions":
		s.compare(words[1], s.decisions())
		return
	case words[0] == "record":
		s.compare(words[1], s.revisions())
		return
	case words[0] == "check":
		s.compare(words[1], s.check())
		return
	case words[0] == "sorted":
		for _, c := range r.Clusters {
			slices.SortFunc(c.Outcomes, func(a, b object.Outcome) int {
				return std.Or(a.Change.Key.Compare(b.Change.Key), std.Compare(a.Change.Action, b.Change.Action))
			})
		}
	}
	s.bad(r.Write(&out, report.Text))
	text := approvals.ReplaceAllString(out.String(), "approve HASH") // of uids, which are given in any order
	s.compare(words[1], tokenless.ReplaceAllString(text, "NotRendered: no credential yet"))
}

// compare has a file be the text, or writes it.
func (s *scenario) compare(file, text string) {
	s.Helper()
	if *update {
		s.rewrite(file, text)
		return
	}
	if diff := cmp.Diff(strings.Split(string(s.file(file)), "\n"), strings.Split(text, "\n")); diff != "" {
		s.Errorf("%s: -want +got\n%s", s.line, diff)
	}
}

// check returns what the command of that name tells of all links and clusters. It writes nothing, and tries credentials.
func (s *scenario) check() string {
	s.Helper()
	l := s.loop(false)
	l.ReadOnly, l.Probe, l.Patience = true, true, 0
	r, err := l.Once(s.Context(), math.MaxInt64)
	s.bad(err)
	var out strings.Builder
	a, _ := r.CheckAnswer()
	s.bad(a.Write(&out, report.Table))
	return out.String()
}

// tokenless matches why an end is not rendered before its credential can be used: its token may be issued in between.
var tokenless = regexp.MustCompile(`NotRendered: CredentialNot(Issued|Verified)\b`)

var approvals = regexp.MustCompile(`approve [0-9a-f]{12}\b`)

func (s *scenario) rewrite(name, text string) {
	for i, f := range s.archive.Files {
		if f.Name == name {
			s.archive.Files[i].Data = []byte(text)
			return
		}
	}
	s.archive.Files = append(s.archive.Files, txtar.File{Name: name, Data: []byte(text)})
}

// sync makes one; what it cannot do is in its report.
func (s *scenario) sync(words []string) {
	s.Helper()
	if s.leadership == nil {
		s.leadership = sync.Begin(s.T, s.loop(false), 1)
	}
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	if len(words) > 0 {
		ctx, cancel = context.WithTimeout(ctx, s.duration(words[0]))
		defer cancel()
	}
	r, err := s.leadership.Sync(ctx)
	if s.last.Store(&r); err != nil && len(words) > 0 && !errors.Is(err, context.DeadlineExceeded) {
		s.bad(err)
	}
}

func (s *scenario) restart([]string) { s.leadership = nil }

func (s *scenario) run([]string) {
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan struct{})
	s.poke = make(chan struct{}, 1)
	l := s.loop(true)
	go func() {
		defer close(ended)
		if err := l.Run(ctx, 1, s.poke, s.ended); err != nil {
			s.Error(err)
		}
	}()
	s.end = func() { cancel(); <-ended }
	synctest.Wait()
}

func (s *scenario) wait(words []string) {
	time.Sleep(s.duration(words[0]))
	synctest.Wait()
}

func (s *scenario) stop([]string) {
	if s.end != nil {
		s.end()
		s.end = nil
	}
}
