package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/sync/report"
)

// TestRoad runs the commands one after the other against two dressed clusters and one without Linkerd.
func TestRoad(t *testing.T) {
	t.Parallel()
	l := labOf(t, []string{"east", "west"}, "bare")
	t.Run("nothing to read", func(t *testing.T) { l.t = t; l.nothingToRead() })
	l.commit(l.clusters() + link("west", "east", ""))
	t.Run("once and again", func(t *testing.T) { l.t = t; l.onceAndAgain() })
	l.t = t
	l.takeLease("west", "east")
	l.takeLease("east", "west")
	t.Run("a diff writes nothing", func(t *testing.T) { l.t = t; l.diff() })
	t.Run("a cluster is added", func(t *testing.T) { l.t = t; l.added() })
	t.Run("the management cluster is watched", func(t *testing.T) { l.t = t; l.watchesManagement() })
	t.Run("the management cluster is read", func(t *testing.T) { l.t = t; l.readsManagement() })
	t.Run("a daemon holds the lease", func(t *testing.T) { l.t = t; l.daemon() })
	t.Run("a repository that gives no answer", func(t *testing.T) { l.t = t; l.silentRepository() })
	t.Run("a kubeconfig that leads nowhere", func(t *testing.T) { l.t = t; l.nowhere() })
	t.Run("a daemon without passes", func(t *testing.T) { l.t = t; l.stuck() })
	t.Run("a typo prunes nothing", func(t *testing.T) { l.t = t; l.typo() })
	t.Run("bad clusters stop nobody", func(t *testing.T) { l.t = t; l.badClusters() })
	t.Run("occupied is left alone", func(t *testing.T) { l.t = t; l.occupied() })
	t.Run("an overlay comes and goes", func(t *testing.T) { l.t = t; l.overlaid() })
	t.Run("an overlay's object never changes", func(t *testing.T) { l.t = t; l.fixed() })
	t.Run("another cluster under the name", func(t *testing.T) { l.t = t; l.anotherCluster() })
	t.Run("two processes, an end each", func(t *testing.T) { l.t = t; l.twoProcesses() })
	t.Run("a lost lease", func(t *testing.T) { l.t = t; l.lostLease() })
	t.Run("too much at once", func(t *testing.T) { l.t = t; l.tooMuch() })
}

func (l *lab) nothingToRead() {
	l.must(cli.ExitError, []string{"empty"}, "sync")
	l.commit("")
	l.must(cli.ExitError, []string{"nobranch"}, "sync", "--ref", "nobranch")
	l.must(cli.ExitError, []string{"nodir"}, "sync", "--path", "nodir")
	l.must(cli.ExitInvalid, nil, "sync")
	l.must(cli.ExitError, []string{`namespaces "nowhere" not found`, "--namespace"}, "sync", "--namespace", "nowhere")
}

func (l *lab) onceAndAgain() {
	l.must(cli.ExitDone, []string{"1 link: ", "0 failed"}, "sync")
	l.must(cli.ExitDone, []string{"west    east    "}, "status")
	l.must(cli.ExitDone, []string{"Link:       west/east", "trust anchors shared", "ControllerNotLeading"}, "describe", "link", "west/east")
	l.must(cli.ExitDone, []string{"Cluster:    west", "Status:     Ready"}, "describe", "cluster", "west")
	l.must(cli.ExitError, []string{"no cluster nowhere"}, "describe", "cluster", "nowhere")
	before := l.writes()
	l.must(cli.ExitDone, []string{"1 link: "}, "sync")
	l.must(cli.ExitDone, []string{"no difference"}, "diff")
	if n := l.writes(); n != before {
		l.t.Errorf("a second pass sent %d writes", n-before)
	}
	facts := l.t.TempDir() + "/facts.yaml"
	l.must(cli.ExitDone, nil, "render", "--save-facts", facts)
	if raw, err := os.ReadFile(facts); err != nil || !strings.Contains(string(raw), "192.0.2.10") || strings.Contains(string(raw), "token") {
		l.t.Errorf("saved facts: %v\n%s", err, raw)
	}
}

// writes counts what the servers saw of our writes, the lease apart; dry runs are none.
// It leaves out what is not about links: leases, the question who asks, and the record, which is written once for each transition of a
// revision (scenarios count that).
func (l *lab) writes() int {
	l.t.Helper()
	n := 0
	for _, c := range l.Clusters {
		all, err := c.Requests("linkwright")
		if err != nil {
			l.t.Fatal(err)
		}
		for _, r := range all {
			aside := r.Resource == "leases" || r.Resource == "selfsubjectreviews" || r.Resource == "configmaps" && r.Name == "linkwright-fleet"
			if r.Verb != "get" && r.Verb != "list" && r.Verb != "watch" && !aside {
				n++
			}
		}
	}
	return n
}

// rests waits until all is written, also what has become of links: nothing was for two seconds.
func (l *lab) rests() {
	l.t.Helper()
	last, since := -1, time.Now()
	l.eventually("all is written", func() bool {
		if now := l.writes(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) >= 2*time.Second
	})
}

func (l *lab) diff() {
	l.commit(l.clusters() + link("west", "east", ", controller: {headless: true}") + link("east", "west", ""))
	r := l.must(cli.ExitDifferent, []string{"-enable-headless-services", "create Link.multicluster.linkerd.io linkerd-multicluster/west"}, "diff")
	if regexp.MustCompile(`eyJ[A-Za-z0-9]`).MatchString(r.out) {
		l.t.Errorf("the diff shows a token:\n%s", r.out)
	}
	l.must(cli.ExitDifferent, []string{"```diff"}, "diff", "-o", "markdown")
	if _, err := l.client("east").AppsV1().Deployments("linkerd-multicluster").Get(l.t.Context(), "controller-west", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		l.t.Errorf("after a diff: %v", err)
	}
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
}

var address = regexp.MustCompile(`address"?[=:]"?([^"\s]+)`)

// daemonAt starts a daemon and gives the address that it listens on, once it logged that.
func (l *lab) daemonAt(ctx context.Context, log string, args ...string) (c *exec.Cmd, at string) {
	l.t.Helper()
	f, err := os.Create(log)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = f.Close() })
	c = l.startTo(ctx, io.Discard, f, append([]string{"run", "--listen", "127.0.0.1:0"}, args...)...)
	l.eventually("the daemon listens", func() bool { //nolint:contextcheck // the lab has its own
		raw, _ := os.ReadFile(log)
		if m := address.FindSubmatch(raw); m != nil {
			at = "http://" + string(m[1])
		}
		return at != ""
	})
	return c, at
}

// stuck: with an age that no pass keeps to, a daemon is unhealthy.
func (l *lab) stuck() {
	ctx, stop := context.WithCancel(l.t.Context())
	c, at := l.daemonAt(ctx, l.t.TempDir()+"/log", "--observe", "--max-sync-age", "1ns")
	l.eventually("the daemon is unhealthy", func() bool { return get(at+"/healthz").status == http.StatusServiceUnavailable })
	stop()
	_ = c.Wait() // it was asked to stop
}

// daemon: while it leads nobody else writes; asked to stop, it releases the lease.
func (l *lab) daemon() {
	ctx, stop := context.WithCancel(l.t.Context())
	log := l.t.TempDir() + "/log"
	before := l.writes()
	c, at := l.daemonAt(ctx, log, "--log-format", "json")
	l.eventually("the daemon is ready", func() bool {
		return get(at+"/readyz").status == http.StatusOK && written(at) == 2
	})
	if got := get(at + "/healthz"); got.status != http.StatusOK {
		l.t.Errorf("healthz: %+v", got)
	}
	if got := get(at + "/"); !json.Valid([]byte(got.body)) {
		l.t.Errorf("report: %+v", got)
	}
	l.must(cli.ExitHeld, []string{"another process has the lease", "run linkwright reconcile"}, "sync")
	l.drifts("controller-east")
	l.eventually("what drifted is taken back", func() bool { return l.logged(log, "object written", "Drift") > 0 })
	stop()
	err := c.Wait()
	if lines, n := l.logged(log, "object written", ""), l.writes()-before-1; lines != n || // one is the test's own
		l.logged(log, "leadership ends", "LeaseReleased") != 1 {
		l.t.Errorf("%d lines of %d writes:\n%s", lines, n, l.file(log))
	}
	if code := c.ProcessState.ExitCode(); code != cli.ExitDone {
		raw, _ := os.ReadFile(log)
		l.t.Errorf("the daemon ended with exit code %d, %v\n%s", code, err, raw)
	}
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
}

// drifts has somebody else change a field of a controller in west.
func (l *lab) drifts(controller string) {
	l.t.Helper()
	patch := []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"linkwright.dev/owner":"linkwright"}},"spec":{"replicas":0}}`)
	force := true
	_, err := l.client("west").AppsV1().Deployments("linkerd-multicluster").Patch(l.t.Context(), controller, types.ApplyPatchType, patch,
		metav1.PatchOptions{FieldManager: "somebody", Force: &force})
	if err != nil {
		l.t.Fatal(err)
	}
}

// logged counts the lines of a log in JSON that have a message, and a reason (empty: any).
func (l *lab) logged(log, message, reason string) (n int) {
	l.t.Helper()
	for line := range strings.Lines(l.file(log)) {
		var e struct{ Msg, Reason string }
		if json.Unmarshal([]byte(line), &e) == nil && e.Msg == message && (reason == "" || e.Reason == reason) {
			n++
		}
	}
	return n
}

type answer struct {
	status int
	body   string
}

func get(url string) answer {
	r, err := http.Get(url) //nolint:noctx,gosec // of our own daemon
	if err != nil {
		return answer{}
	}
	defer func() { _ = r.Body.Close() }()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return answer{}
	}
	return answer{r.StatusCode, string(b)}
}

// written counts the links whose ends are both as declared, by the last report of a daemon.
func written(at string) int {
	_, n := reported(at)
	return n
}

// reported counts the links of the last report, also those that are being removed, and among them the ones whose ends are both as declared.
func reported(at string) (all, ready int) {
	var doc struct {
		Links []struct {
			SourceEnd, TargetEnd struct{ Status report.Status }
		}
	}
	_ = json.Unmarshal([]byte(get(at+"/report.json").body), &doc) // what is no report counts none
	for _, l := range doc.Links {
		if l.SourceEnd.Status == report.Ready && l.TargetEnd.Status == report.Ready {
			ready++
		}
	}
	return len(doc.Links), ready
}

// patience is far more than what is waited for takes, also on a machine with much to do.
const patience = 2 * time.Minute

func (l *lab) eventually(what string, f func() bool) {
	l.t.Helper()
	if err := testbed.Eventually(context.WithoutCancel(l.t.Context()), patience, func(context.Context) (bool, error) { return f(), nil }); err != nil {
		l.t.Fatalf("%s: not within %v", what, patience)
	}
}

func (l *lab) typo() {
	before := l.writes()
	l.commit(l.clusters() + link("west", "east", ", selctor: {}"))
	l.must(cli.ExitInvalid, []string{"fleet.yaml:", "did you mean selector?"}, "sync")
	l.commit("# nothing\n")
	l.must(cli.ExitInvalid, nil, "sync")
	l.commit(link("west", "east", ""))
	l.must(cli.ExitInvalid, []string{"not declared"}, "sync")
	if n := l.writes(); n != before {
		l.t.Errorf("invalid declarations caused %d writes", n-before)
	}
}

// badClusters: one without Linkerd, one whose kubeconfig starts a program, one that is no kubeconfig,
// one that refuses us, one that is not there.
func (l *lab) badClusters() {
	server := l.Cluster("west").Config.Host
	l.access("exec", kubeconfig(server, "exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, interactiveMode: Never}"))
	l.access("garbage", "{")
	l.access("refused", kubeconfig(server, "token: wrong"))
	l.access("down", kubeconfig("https://127.0.0.1:1", "token: x"))
	text := l.clusters() + l.cluster("bare") + link("west", "east", "") + link("east", "west", "") + link("west", "bare", "")
	for _, name := range []string{"exec", "garbage", "refused", "down", "absent"} {
		text += strings.ReplaceAll(l.cluster("bare"), "bare", name) + link("west", name, "")
	}
	l.commit(text)
	r := l.must(cli.ExitPartial, []string{"2 Ready", "namespace linkerd is missing", "exec"}, "sync", "--wait", "2s")
	for _, name := range []string{"bare", "exec", "garbage", "refused", "down", "absent"} {
		if !strings.Contains(r.out, name) {
			l.t.Errorf("sync does not show %s:\n%s", name, r.out)
		}
	}
	l.commit(l.clusters() + link("west", "east", "") + link("east", "west", ""))
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
}

func kubeconfig(server, user string) string {
	return `{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: "` + server + `"}}],
users: [{name: u, user: {` + user + `}}],
contexts: [{name: c, context: {cluster: c, user: u}}]}`
}

// occupied: what somebody else made is neither written nor, later, deleted.
func (l *lab) occupied() {
	l.commit(l.clusters() + link("east", "west", ""))
	l.must(cli.ExitDone, []string{"2 links: ", "1 Removed"}, "sync")
	services := l.client("west").CoreV1().Services("linkerd-multicluster")
	made := testService("probe-east")
	if _, err := services.Create(l.t.Context(), made, metav1.CreateOptions{FieldManager: "hand"}); err != nil {
		l.t.Fatal(err)
	}
	l.commit(l.clusters() + link("west", "east", "") + link("east", "west", ""))
	l.must(cli.ExitPartial, []string{"probe-east", "hand", "unmarked"}, "sync")
	l.commit(l.clusters() + link("east", "west", ""))
	l.must(cli.ExitDone, []string{"2 links: ", "1 Removed"}, "sync")
	if err := services.Delete(l.t.Context(), "probe-east", metav1.DeleteOptions{}); err != nil {
		l.t.Errorf("somebody else's service: %v", err)
	}
	l.commit(l.clusters() + link("west", "east", "") + link("east", "west", ""))
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
}

func (l *lab) anotherCluster() {
	record := l.client("west").CoreV1().ConfigMaps("linkwright")
	cm, err := record.Get(l.t.Context(), "linkwright-fleet", metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	ns, err := l.client("east").CoreV1().Namespaces().Get(l.t.Context(), "kube-system", metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	cm.Data["fleet.json"] = strings.ReplaceAll(cm.Data["fleet.json"], string(ns.UID), string(types.UID("former")))
	if _, err := record.Update(l.t.Context(), cm, metav1.UpdateOptions{FieldManager: "hand"}); err != nil {
		l.t.Fatal(err)
	}
	before := l.writes()
	l.must(cli.ExitPartial, []string{"linkwright accept cluster east=" + string(ns.UID)}, "sync")
	if n := l.writes(); n != before {
		l.t.Errorf("a changed cluster was written to %d times", n-before)
	}
	twins := l.clusters() + strings.ReplaceAll(l.cluster("west"), "name: west}", "name: twin}")
	l.commit(strings.Replace(twins, "kubeconfigSecret: {name: twin}", "kubeconfigSecret: {name: twin-of-west}", 1))
	raw, err := os.ReadFile(l.Cluster("west").Kubeconfig)
	if err != nil {
		l.t.Fatal(err)
	}
	l.access("twin-of-west", string(raw))
	l.must(cli.ExitPartial, []string{"the access of twin leads to cluster west"}, "sync", "--accept-cluster", "east="+string(ns.UID))
	l.commit(l.clusters() + link("west", "east", "") + link("east", "west", ""))
	l.must(cli.ExitDone, []string{"2 links: "}, "sync", "--accept-cluster", "east="+string(ns.UID))
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
}

// twoProcesses: what west needs of east, east's process makes, and each holds a lease of its own.
func (l *lab) twoProcesses() {
	pairwise := func(text string) {
		l.commit(text)
		done := make(chan result, 2)
		for _, name := range []string{"west", "east"} {
			c, out, stderr := l.start(l.t.Context(), "sync", "--only-write", name, "--wait", "2m")
			go func() {
				_ = c.Wait() // its exit code is checked
				done <- result{c.ProcessState.ExitCode(), out.String(), stderr.String()}
			}()
		}
		for range 2 {
			if r := <-done; r.code != cli.ExitDone {
				l.t.Errorf("one of two processes: exit code %d\n%s%s", r.code, r.out, r.stderr)
			}
		}
	}
	pairwise(l.clusters() + link("east", "west", ""))
	l.must(cli.ExitDone, []string{"1 link: ", "nothing to write"}, "sync")
	pairwise(l.clusters() + link("east", "west", "") + link("west", "east", ""))
	l.must(cli.ExitDone, []string{"2 links: ", "nothing to write"}, "sync")
}

// lostLease: the report has what was written until then. On a busy machine that is before the first cluster was read.
func (l *lab) lostLease() {
	l.commit(l.clusters() + link("east", "west", ""))
	l.must(cli.ExitDone, []string{"2 links: ", "1 Removed"}, "sync")
	l.commit(l.clusters() + link("east", "west", "") + link("west", "east", ""))
	c, out, stderr := l.start(l.t.Context(), "sync", "--only-write", "west", "--wait", "2m")
	leases := l.client("west").CoordinationV1().Leases("linkwright")
	l.eventually("it leads, and waits for what east's process would write", func() bool {
		lease, err := leases.Get(l.t.Context(), "linkwright-linkwright-west", metav1.GetOptions{})
		return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != ""
	})
	steal := []byte(`{"spec":{"holderIdentity":"another","leaseTransitions":99}}`)
	if _, err := leases.Patch(l.t.Context(), "linkwright-linkwright-west", types.MergePatchType, steal, metav1.PatchOptions{FieldManager: "hand"}); err != nil {
		l.t.Fatal(err)
	}
	_ = c.Wait() // its exit code is checked
	reported := strings.Contains(out.String(), "0 failed") || strings.Contains(out.String(), "no cluster was read")
	if code := c.ProcessState.ExitCode(); code != cli.ExitError || !strings.Contains(stderr.String(), "the lease is lost") || !reported {
		l.t.Errorf("a lost lease: exit code %d\n%s%s", code, out, stderr)
	}
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
}

// tooMuch: what is over a limit is denied, also if the commit raises the limit; it goes once somebody approves it.
func (l *lab) tooMuch() {
	l.commit(l.clusters() + link("west", "east", "") + link("east", "west", "") + policy("prune: {maxLinks: 0%, minAllowed: 1}"))
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
	l.commit(l.clusters() + policy("prune: {maxLinks: 100%, minAllowed: 5}"))
	before := l.writes()
	hash := l.denied("sync")
	if n := l.writes() - before; n > len(l.Clusters)+4 { // bases, and each end of the two links says once that it is denied
		l.t.Errorf("a refused prune sent %d writes", n)
	}
	l.must(cli.ExitDone, []string{"approved " + hash}, "approve", hash)
	l.must(cli.ExitDone, []string{"0 failed"}, "sync")
	if list, err := l.client("west").RbacV1().ClusterRoleBindings().List(l.t.Context(), metav1.ListOptions{LabelSelector: "linkwright.dev/owner"}); err != nil || len(list.Items) > 0 {
		l.t.Errorf("left: %v %v", err, list)
	}
}
