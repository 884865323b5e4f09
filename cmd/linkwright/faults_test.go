package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	gosync "sync"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/linkwright/linkwright/hack/testbed"
)

// Credentials of these tests; no output may hold them.
const (
	faultCanary     = "canary-git-81c0+/"
	faultHookCanary = "canary-hook-5be2-and-more"
)

// trouble is one way in which Git fails a daemon. All begin with a new commit that nobody may see half of.
type trouble struct {
	name  string
	words string // of the report, while it lasts
	begin func(*faults)
	end   func(*faults) // nil: the server is well again
	long  bool          // only without -short: package source has the same, and for a daemon it is like one of the others
}

func (f *faults) all() []trouble {
	at := func(now fault) func(*faults) { return func(f *faults) { f.front.set(now) } }
	return []trouble{
		{name: "hang", words: "not done within", begin: at(hangs)},
		{name: "reset in mid-pack", words: "cut off", begin: at(cut(true)), long: true},
		{name: "truncated pack", words: "cut off", begin: at(cut(false))},
		{name: "401", words: "credentials are missing or wrong", begin: at(answers(401))},
		{name: "403", words: "not allowed", begin: at(answers(403)), long: true},
		{name: "404", words: "no repository there", begin: at(answers(404)), long: true},
		{name: "429", words: "429", begin: at(answers(429, "Retry-After", "1"))},
		{name: "500", words: "500", begin: at(answers(500)), long: true},
		{name: "garbage", words: "a web page", begin: at(babbles), long: true},
		{name: "redirect to another host", words: "redirect", begin: at(answers(302, "Location", "https://elsewhere.invalid/fleet.git/info/refs?service=git-upload-pack")), long: true},
		{name: "an empty repository", words: "empty", begin: (*faults).emptied, end: (*faults).restored},
		{name: "a deleted branch", words: "no such branch", begin: (*faults).unbranched, end: (*faults).restored, long: true},
		{name: "a force-push", words: "allow non-fast-forward", begin: (*faults).rewound, end: (*faults).restored},
		{name: "a full disk", words: "no space left", begin: (*faults).full, end: (*faults).roomy},
	}
}

// faults is a lab whose daemon reads Git through a front, and writes one log.
type faults struct {
	*lab
	front     *front
	log, hook string
	at        string // of the daemon
	cache     string
	linked    bool // whether the head declares a link west→east
	repaired  int  // objects that were taken away
}

// TestFaults lets Git fail in every way under one daemon, which is never started again. Each time the report has the error,
// the applied revision stays, nothing is written but what repairs it, and the next good poll applies the new one.
func TestFaults(t *testing.T) {
	t.Parallel()
	f := newFaults(t)
	ctx, stop := context.WithCancel(t.Context())
	daemon, at := f.daemonAt(ctx, f.log, f.args()...)
	f.at = at
	f.expect("the first commit is in force", f.inForce)
	t.Run("at rest", func(t *testing.T) { f.t = t; f.atRest() })
	for _, tr := range f.all() {
		if !tr.long || !testing.Short() {
			t.Run(tr.name, func(t *testing.T) { f.t = t; f.suffer(tr) })
		}
	}
	t.Run("a repository being repacked", func(t *testing.T) { f.t = t; f.repacked() })
	f.t = t
	metrics := get(f.at + "/metrics").body
	stop()
	_ = daemon.Wait() // its exit code is another test's matter
	said, err := os.ReadFile(f.log)
	if err != nil {
		t.Fatal(err)
	}
	f.silent("the log", string(said))
	f.silent("the metrics", metrics)
	t.Run("keys of the management cluster", func(t *testing.T) { f.t = t; f.managementKeys() })
}

// atRest: syncs of what has not changed ask nothing of any cluster, twice in a row; the lease is renewed.
func (f *faults) atRest() {
	syncs := func() (n int) {
		_, text, _ := strings.Cut(get(f.at+"/metrics").body, "\nlinkwright_syncs_total{result=\"clean\"} ")
		_, _ = fmt.Sscan(text, &n) // 0: there is no such metric yet
		return n
	}
	var asked []testbed.Request
	defer func() {
		if f.t.Failed() {
			f.t.Logf("the last sync sent %d requests: %+v", len(asked), asked)
		}
	}()
	f.eventually("two syncs that ask for nothing", func() bool {
		n, before := syncs(), len(f.asked())
		f.eventually("two syncs of what is applied", func() bool { return syncs() > n+1 })
		asked = f.asked()[before:]
		return len(asked) == 0
	})
	if text := get(f.at + "/metrics").body; !strings.Contains(text, `linkwright_requests_total{about="lease",cluster="(management)",code="2xx",verb="update"}`) {
		f.t.Errorf("renewals of the lease are not counted:\n%s", text)
	}
}

// asked is what servers saw of us, in order, the lease apart.
func (f *faults) asked() (out []testbed.Request) {
	f.t.Helper()
	for _, c := range f.Clusters {
		all, err := c.Requests("linkwright")
		if err != nil {
			f.t.Fatal(err)
		}
		out = append(out, slices.DeleteFunc(all, func(r testbed.Request) bool { return r.Resource == "leases" && r.Namespace == "linkwright" })...)
	}
	slices.SortStableFunc(out, func(a, b testbed.Request) int { return a.Received.Compare(b.Received) })
	return out
}

func newFaults(t *testing.T) *faults {
	t.Helper()
	f := &faults{lab: newLab(t, "east", "west")}
	f.program = raced()
	f.front = newFront(t, filepath.Dir(f.repo))
	f.remote = f.front.URL + "/repo"
	dir := t.TempDir()
	f.log, f.hook, f.cache = dir+"/log", write(t, dir+"/hook", faultHookCanary+"\n"), dir+"/cache"
	f.declare()
	return f
}

func (f *faults) args() []string {
	password := write(f.t, filepath.Join(f.t.TempDir(), "password"), faultCanary)
	return []string{
		"--git-password-file", password, "--git-ca-file", f.front.ca, "--git-timeout", "2s", "--git-cache", f.cache,
		"--hook-secret-file", f.hook,
	}
}

// declare commits the opposite of what was declared before: what is applied shows, and what is half read would prune.
func (f *faults) declare() {
	f.linked = !f.linked
	text := f.clusters() + policy("interval: 5s") + "---\n" + link("east", "west", "")
	if f.linked {
		text += link("west", "east", "")
	}
	f.commit(text)
}

// inForce says that exactly the links of the head are there, and nothing is left of another.
func (f *faults) inForce() bool {
	links := map[bool]int{true: 2, false: 1}[f.linked]
	all, ready := reported(f.at)
	if all != links || ready != links {
		return false
	}
	r := f.report()
	return r.Error == "" && r.Commit == f.head() && !r.Syncing
}

func (f *faults) head() string {
	out, err := exec.CommandContext(f.t.Context(), "git", "-C", f.repo, "rev-parse", "main").Output()
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

type dispatch struct {
	Commit  string `json:"appliedRevision"`
	Head    string `json:"observedRevision"`
	Error   string
	Syncing bool
}

func (f *faults) report() (r dispatch) {
	body := get(f.at + "/").body
	f.silent("the report", body)
	_ = json.Unmarshal([]byte(body), &r) // what is no report says nothing
	return r
}

// expect waits for something, and lets the daemon poll as often as it is willing to.
func (f *faults) expect(what string, ok func() bool) {
	f.t.Helper()
	defer func() {
		if f.t.Failed() {
			f.t.Logf("the report is %+v", f.report())
		}
	}()
	f.eventually(what, func() bool {
		f.poke()
		return ok()
	})
}

// poke is what a Git server does after a push.
func (f *faults) poke() {
	body := `{"ref": "refs/heads/main"}`
	mac := hmac.New(sha256.New, []byte(faultHookCanary))
	_, _ = io.WriteString(mac, body)
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.at+"/hook", strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	answer, err := http.DefaultClient.Do(r) //nolint:gosec // our own daemon
	if err != nil {
		return // not up yet
	}
	_ = answer.Body.Close()
}

func (f *faults) suffer(tr trouble) {
	f.rests()
	before, good := f.writes(), f.report().Commit
	defer f.front.set(nil)
	tr.begin(f)
	if tr.end == nil {
		f.declare()
	}
	f.expect("the report has the error", func() bool { return strings.Contains(f.report().Error, tr.words) })
	if now := f.report(); now.Commit != good {
		f.t.Errorf("applied is %s, want the revision before, %s", now.Commit, good)
	}
	if n := f.writes() - before; n != 0 {
		f.t.Errorf("it caused %d writes", n)
	}
	f.repairs()
	f.front.set(nil)
	if tr.end != nil {
		tr.end(f)
		f.declare()
	}
	f.expect("the new commit is in force", f.inForce)
}

// repairs takes away an object of ours, which is what drift is, and wants it back. Each time it is one of another kind than
// the last: what is corrected too often counts as contested.
func (f *faults) repairs() {
	f.t.Helper()
	kinds := []schema.GroupVersionResource{
		{Version: "v1", Resource: "services"},
		{Version: "v1", Resource: "secrets"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	}
	kind := kinds[f.repaired%len(kinds)]
	f.repaired++
	objects := dynamic.NewForConfigOrDie(f.Cluster("east").Config).Resource(kind).Namespace("linkerd-multicluster")
	ours, err := objects.List(f.t.Context(), metav1.ListOptions{LabelSelector: "linkwright.dev/owner"})
	if err != nil || len(ours.Items) == 0 {
		f.t.Fatalf("no %s of ours in east (%v)", kind.Resource, err)
	}
	was := ours.Items[0]
	if err := objects.Delete(f.t.Context(), was.GetName(), metav1.DeleteOptions{}); err != nil {
		f.t.Fatal(err)
	}
	f.eventually("what somebody deleted is back", func() bool {
		now, err := objects.Get(f.t.Context(), was.GetName(), metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			f.t.Fatal(err)
		}
		return err == nil && now.GetUID() != was.GetUID()
	})
}

func (f *faults) emptied() {
	empty := filepath.Join(f.t.TempDir(), "elsewhere")
	f.git("init", "-q", "--bare", "-b", "main", filepath.Join(empty, "repo"))
	f.front.holds(empty)
}

func (f *faults) unbranched() {
	f.git("branch", "-f", "aside", "main")
	f.git("checkout", "-q", "--detach")
	f.git("branch", "-q", "-D", "main")
	f.git("symbolic-ref", "HEAD", "refs/heads/main")
}

// rewound replaces the last commit by another one.
func (f *faults) rewound() {
	f.git("branch", "-f", "aside", "main")
	f.git("reset", "-q", "--hard", "main~1")
	f.git("commit", "-q", "--allow-empty", "-m", "another past")
}

func (f *faults) restored() {
	f.front.holds(filepath.Dir(f.repo))
	if exec.CommandContext(f.t.Context(), "git", "-C", f.repo, "rev-parse", "-q", "--verify", "aside").Run() != nil { //nolint:gosec // our own repository
		return
	}
	f.git("checkout", "-q", "-f", "-B", "main", "aside")
	f.git("branch", "-q", "-D", "aside")
}

// full leaves no room where the daemon keeps what it fetched.
func (f *faults) full() {
	if err := syscall.Mount("tmpfs", f.cache, "tmpfs", 0, "size=64k"); err != nil {
		f.t.Skipf("a full disk is not tried here, since no small one can be mounted: %v", err)
	}
	f.t.Cleanup(func() { _ = syscall.Unmount(f.cache, syscall.MNT_DETACH) })
	big := filepath.Join(f.cache, "big")
	_ = os.WriteFile(big, make([]byte, 1<<20), 0o600) // until there is no room
	f.declare()
	f.declare() // as it was, under another commit
}

func (f *faults) roomy() {
	if err := syscall.Unmount(f.cache, syscall.MNT_DETACH); err != nil {
		f.t.Fatal(err)
	}
}

// repacked polls a repository whose files are replaced all the time, but while a commit is made: git itself may not find the
// directory again that it is about to write to.
func (f *faults) repacked() {
	ctx, stop := context.WithCancel(f.t.Context())
	done := make(chan struct{})
	var writing gosync.Mutex
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			writing.Lock()
			_ = exec.CommandContext(ctx, "git", "-C", f.repo, "repack", "-a", "-d", "-q").Run() //nolint:gosec // our own repository
			writing.Unlock()
		}
	}()
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	for range rounds {
		writing.Lock()
		f.declare()
		writing.Unlock()
		f.expect("the new commit is in force", f.inForce)
	}
	stop()
	<-done
}

// silent looks for credentials in what the daemon said.
func (f *faults) silent(where, text string) {
	f.t.Helper()
	for _, canary := range []string{
		faultCanary, url.QueryEscape(faultCanary), base64.StdEncoding.EncodeToString([]byte("git:" + faultCanary)), faultHookCanary,
	} {
		if strings.Contains(text, canary) {
			f.t.Errorf("%s holds %s:\n%s", where, canary, text)
		}
	}
}
