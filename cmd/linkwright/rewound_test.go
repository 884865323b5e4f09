package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// rewoundLab is a lab whose history is forced back; it keeps what it fetched in cache.
type rewoundLab struct {
	*lab
	cache       string
	statusSeen  bool   // the status of a denied revision was checked
	first, last string // commits: of one link, and of two
}

// TestRewound forces a branch back, under single runs and under a daemon.
func TestRewound(t *testing.T) {
	t.Parallel()
	r := &rewoundLab{lab: newLab(t, "east", "west"), cache: t.TempDir()}
	r.commit(r.clusters() + link("west", "east", ""))
	r.first = r.tip()
	r.commit(r.both())
	r.last = r.tip()
	r.must(cli.ExitDone, []string{"2 links: "}, "sync", "--git-cache", r.cache)
	t.Run("flags", func(t *testing.T) {
		r.t = t
		r.must(cli.ExitUsage, []string{"--allow-non-fast-forward", "7 to 40"}, "sync", "--allow-non-fast-forward", "main")
	})
	for name, push := range map[string]func(){
		"back": func() { r.git("reset", "-q", "--hard", r.first) },
		"sideways": func() {
			r.git("reset", "-q", "--hard", r.first)
			r.commit(r.clusters() + link("west", "east", "") + "# sideways\n")
		},
		"replaced":  func() { r.orphan() },
		"forgotten": func() { r.orphan(); r.collect() },
	} {
		t.Run(name, func(t *testing.T) { r.t = t; r.allowed(push) })
	}
	t.Run("Git is down", func(t *testing.T) { r.t = t; r.gitDown() })
	t.Run("not trusted", func(t *testing.T) { r.t = t; r.untrusted() })
	t.Run("under a daemon", func(t *testing.T) { r.t = t; r.underDaemon() })
	t.Run("decided under a daemon", func(t *testing.T) { r.t = t; r.decidesUnderDaemon() })
}

func (r *rewoundLab) both() string {
	return r.clusters() + link("west", "east", "") + link("east", "west", "") + policy("interval: 5s")
}

func policy(spec string) string {
	return "apiVersion: linkwright.dev/v1alpha1\nkind: SyncPolicy\nmetadata: {name: p}\nspec: {" + spec + "}\n"
}

// tip is the newest commit.
func (l *lab) tip() string {
	l.t.Helper()
	out, err := exec.Command("git", "-C", l.repo, "rev-parse", "HEAD").Output() //nolint:noctx // it ends by itself
	if err != nil {
		l.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// orphan replaces the history by one of a single commit, with one link.
func (r *rewoundLab) orphan() {
	r.t.Helper()
	r.git("checkout", "-q", "--orphan", "new")
	r.commit(r.clusters() + link("west", "east", ""))
	r.git("branch", "-q", "-M", "main")
}

// collect lets the repository forget what no ref names.
func (r *rewoundLab) collect() {
	r.t.Helper()
	r.git("reflog", "expire", "--expire=now", "--all")
	r.git("gc", "-q", "--prune=now")
}

// drifts changes a field of ours; repaired reports whether it is as declared.
func (r *rewoundLab) drifts() {
	r.t.Helper()
	_, err := r.client("east").AppsV1().Deployments("linkerd-multicluster").Patch(r.t.Context(), "controller-west",
		types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{FieldManager: "hand"})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rewoundLab) repaired() bool {
	r.t.Helper()
	d, err := r.client("east").AppsV1().Deployments("linkerd-multicluster").Get(r.t.Context(), "controller-west", metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return *d.Spec.Replicas == 1
}

// allowed: refused, kept up from the cache, refused without it, and then allowed; a commit on top needs no flag.
func (r *rewoundLab) allowed(push func()) {
	push()
	head := r.tip()
	r.drifts()
	before := r.writes()
	words := []string{head, r.last[:12], "linkwright allow non-fast-forward " + head}
	r.must(cli.ExitPartial, append(words, "2 links: ", "1 written, 0 failed"), "sync", "--git-cache", r.cache)
	if n := r.writes() - before; n != 1 || !r.repaired() {
		r.t.Errorf("while the head is refused: %d writes, repaired: %t", n, r.repaired())
	}
	before = r.writes()
	r.must(cli.ExitPartial, append(words, "no cluster was read"), "sync")
	r.denied(words)
	r.must(cli.ExitPartial, words[:2], "sync", "--allow-non-fast-forward", r.last)
	if n := r.writes() - before; n > 0 {
		r.t.Errorf("without a cache: %d writes", n)
	}
	r.must(cli.ExitDone, []string{"2 links: ", "1 Removed"}, "sync", "--git-cache", r.cache, "--allow-non-fast-forward", head[:7])
	r.must(cli.ExitDone, []string{"1 link: "}, "sync")
	r.commit(r.both())
	r.first, r.last = head, r.tip()
	r.must(cli.ExitDone, []string{"2 links: "}, "sync", "--git-cache", r.cache)
}

// denied: status and describe still show the links and the applied revision, with or without a cache, and say once why the newest one is not applied.
func (r *rewoundLab) denied(words []string) {
	r.t.Helper()
	if r.statusSeen {
		return
	}
	r.statusSeen = true
	shown := append([]string{"Revision " + r.last[:12] + " is applied in all 2 clusters", "\nwest    east    "}, words...)
	for _, args := range [][]string{{"status"}, {"status", "--git-cache", r.cache}} {
		got := r.must(cli.ExitPartial, shown, args...)
		if n := strings.Count(got.out, "Git history was rewritten"); n != 1 {
			r.t.Errorf("%v says %d times why:\n%s", args, n, got.out)
		}
	}
	r.must(cli.ExitPartial, append([]string{"Link:       west/east"}, words...), "describe", "link", "west/east")
}

// gitDown: what was applied last is kept up from the cache, also by a new process.
func (r *rewoundLab) gitDown() {
	away := r.repo + "-away"
	if err := os.Rename(r.repo, away); err != nil {
		r.t.Fatal(err)
	}
	r.drifts()
	r.must(cli.ExitError, []string{"2 links: ", "1 written, 0 failed"}, "sync", "--git-cache", r.cache)
	r.drifts()
	r.must(cli.ExitError, []string{"no cluster was read"}, "sync", "--git-cache", filepath.Join(r.cache, "other"))
	if err := os.Rename(away, r.repo); err != nil {
		r.t.Fatal(err)
	}
	r.must(cli.ExitDone, []string{"2 links: ", "1 written"}, "sync", "--git-cache", r.cache)
}

// untrusted: a head that nobody signed leaves the last signed one in force, also in a new process.
func (r *rewoundLab) untrusted() {
	key := filepath.Join(r.t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil { //nolint:noctx // it ends by itself
		r.t.Skipf("ssh-keygen: %v %s", err, out)
	}
	r.git("-c", "gpg.format=ssh", "-c", "user.signingKey="+key, "commit", "-q", "--allow-empty", "-S", "-m", "signed")
	args := []string{"sync", "--git-cache", r.cache, "--verify", "HEAD", "--verify-keys", key + ".pub"}
	r.must(cli.ExitDone, []string{"2 links: "}, args...)
	signed := r.tip()
	r.commit(r.clusters())
	r.drifts()
	before := r.writes()
	r.must(cli.ExitError, []string{"2 links: ", "1 written, 0 failed", signed[:12] + "; observed revision " + r.tip()[:12] + " is not applied"}, args...)
	if n := r.writes() - before; n != 1 || !r.repaired() {
		r.t.Errorf("while the head is not trusted: %d writes, repaired: %t", n, r.repaired())
	}
	r.git("reset", "-q", "--hard", signed)
	r.first, r.last = r.last, signed
}

// underDaemon: a daemon reports the revision that it does not apply, keeps the applied one, and continues once the branch does.
func (r *rewoundLab) underDaemon() {
	ctx, stop := context.WithCancel(r.t.Context())
	defer stop()
	log := r.t.TempDir() + "/log"
	c, at := r.daemonAt(ctx, log)
	shows := func(metric string) func() bool {
		return func() bool { return strings.Contains(get(at+"/metrics").body, "\n"+metric+"\n") }
	}
	r.eventually("the head is in force", shows("linkwright_revision_applied 1"))
	r.rests()
	before := r.writes()
	r.git("reset", "-q", "--hard", r.first)
	r.eventually("the head is not in force", shows("linkwright_revision_applied 0"))
	r.drifts() // a write, too
	r.eventually("drift is repaired", r.repaired)
	// A write shows before the server has answered it, which is when it is in the server's log.
	r.eventually("the write is in the server's log", func() bool { return r.writes()-before >= 2 })
	if n := r.writes() - before; n != 2 {
		r.t.Errorf("while the head is refused: %d writes, want one of ours", n-1)
	}
	var doc struct {
		Commit string `json:"appliedRevision"`
		Head   string `json:"observedRevision"`
		Error  string
	}
	got := get(at + "/")
	if err := json.Unmarshal([]byte(got.body), &doc); err != nil || got.status != http.StatusOK || doc.Commit != r.last || doc.Head != r.first || !strings.Contains(doc.Error, "linkwright allow non-fast-forward "+r.first) {
		r.t.Errorf("the report: %v %+v, want %s in force and %s refused", err, doc, r.last, r.first)
	}
	r.git("reset", "-q", "--hard", r.last)
	r.commit(r.both() + "# onwards\n")
	r.eventually("the head is in force again", shows("linkwright_revision_applied 1"))
	stop()
	_ = c.Wait() // it was asked to stop
	raw, err := os.ReadFile(log)
	if n := strings.Count(string(raw), `"revision not applied" commit=`+r.first+" applied="+r.last); err != nil || n != 1 || !strings.Contains(string(raw), "sync recovered") {
		r.t.Errorf("the log reports %d times the revision that is not applied, want once, and that it is over: %v\n%s", n, err, raw)
	}
}
