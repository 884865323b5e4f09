package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/sync/report/output"
)

// releases gives everything up, and takes it over again.
func (l *lab) releases(before map[string]*unstructured.Unstructured) {
	l.must(cli.ExitPartial, []string{"leave Link", "othing was written"}, "release", "--all")
	l.dryRuns([]string{"leave Link"}, "release", "--all")
	l.must(cli.ExitError, []string{"no cluster eats is declared or in the record"}, "release", "west/eats")
	record := l.readRecord()
	done := l.must(cli.ExitDone, []string{"are Blocked (ObjectExists) from now on"}, "release", "--all", "--yes", "-o", "json")
	answered{"release --all --yes", cli.ExitDone, output.KindSyncReport}.holds(l.t, done)
	if !strings.Contains(done.out, `"status": "Released"`) || strings.Contains(done.out, "Removed") || strings.Contains(done.out, "nothing of this end") {
		l.t.Errorf("the report of a release:\n%s", done.out)
	}
	l.must(cli.ExitDone, []string{"nothing to give up"}, "release", "--all", "--yes")
	l.heldAll()
	after := l.inLink("west")
	l.same("released", before, after, func(o *unstructured.Unstructured) string { return string(o.GetUID()) })
	l.same("released", before, after, contentOf, "leases")
	for name, o := range after {
		if o.GetLabels()["linkwright.dev/owner"] != "" {
			l.t.Errorf("released: %s is still marked", name)
		}
	}
	l.recordless()
	l.restore(record) // the release was killed before it deleted the record
	l.must(cli.ExitDone, []string{"nothing to give up"}, "release", "--all", "--yes")
	l.recordless()
	l.must(cli.ExitPartial, []string{"1 link: 1 Blocked"}, "sync")
	if accounts, err := l.client("east").CoreV1().ServiceAccounts("linkwright-access").List(l.t.Context(), metav1.ListOptions{}); err != nil || len(accounts.Items) != 2 {
		l.t.Errorf("released: accounts in east: %v, %v", accounts, err)
	}
}

// readRecord reads the record of clusters.
func (l *lab) readRecord() *corev1.ConfigMap {
	l.t.Helper()
	record, err := l.client("west").CoreV1().ConfigMaps("linkwright").Get(l.t.Context(), "linkwright-fleet", metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return record
}

// restore creates the record again as it was read.
func (l *lab) restore(record *corev1.ConfigMap) {
	l.t.Helper()
	record.ResourceVersion, record.UID, record.ManagedFields = "", "", nil
	ours := metav1.CreateOptions{FieldManager: "linkwright"}
	if _, err := l.client("west").CoreV1().ConfigMaps("linkwright").Create(l.t.Context(), record, ours); err != nil {
		l.t.Fatal(err)
	}
}

// heldAll: a command that is alone held the lease of every cluster, also where no process with --only-write ever ran: none begins
// for the first time beside it. What it only borrowed says nothing of whose it is.
func (l *lab) heldAll() {
	l.t.Helper()
	for _, cluster := range []string{"east", "west"} {
		held, err := l.client("west").CoordinationV1().Leases("linkwright").Get(l.t.Context(), "linkwright-linkwright-"+cluster, metav1.GetOptions{})
		if err != nil || *held.Spec.HolderIdentity != "" || len(held.Annotations) > 0 {
			l.t.Errorf("the lease of cluster %s: %v, %v", cluster, held, err)
		}
	}
}

func (l *lab) recordless() {
	l.t.Helper()
	if _, err := l.client("west").CoreV1().ConfigMaps("linkwright").Get(l.t.Context(), "linkwright-fleet", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		l.t.Errorf("the record of clusters: %v", err)
	}
}

// owners has another installation take the link over from what was released, and this one take it back while the other still
// runs: nothing is deleted, and what the other had in the target goes only by its own uninstall.
func (l *lab) owners() {
	l.t.Helper()
	uid := func(o *unstructured.Unstructured) string { return string(o.GetUID()) }
	before := l.inLink("west")
	for _, who := range []struct {
		owner, from string
		rival       string
		objects     string // with those in east that this owner released before
	}{{"blue", "", "linkwright", "9"}, {"linkwright", "blue", "blue", "12"}} {
		adopt := []string{"adopt", "--all", "--yes", "--owner", who.owner}
		if who.from != "" {
			l.must(cli.ExitPartial, []string{"adopt the object with --from-owner blue"}, adopt...)
			adopt = append(adopt, "--from-owner", who.from)
		}
		l.must(cli.ExitDone, []string{"adopted: " + who.objects + " objects"}, adopt...)
		l.must(cli.ExitDone, []string{"1 link: "}, "sync", "--owner", who.owner)
		l.must(cli.ExitPartial, []string{"1 link: 1 Blocked", "nothing can be written now"}, "sync", "--owner", who.rival, "--wait", "1s")
		l.must(cli.ExitDone, []string{"nothing to write"}, "sync", "--owner", who.owner)
		l.same("taken over by "+who.owner, before, l.inLink("west"), uid)
	}
	l.must(cli.ExitDone, nil, "uninstall", "--owner", "blue", "--yes")
	l.must(cli.ExitDone, []string{"nothing to write"}, "sync")
	l.same("after blue is uninstalled", before, l.inLink("west"), uid)
}

// shared gives up a link that is Shared, and takes it over again with the controller that it shares.
func (l *lab) shared() {
	l.t.Helper()
	allowed := func(args ...string) []string {
		return append(args, "--allow-controller-image", "registry.example.com/linkwright")
	}
	l.commit(l.clusters() + link("west", "east", full+", controller: {mode: Shared, image: registry.example.com/linkwright:1}"))
	l.must(cli.ExitDone, []string{"1 link: "}, allowed("sync")...)
	l.must(cli.ExitDone, nil, allowed("release", "--all", "--yes")...)
	l.must(cli.ExitPartial, []string{"linkwright-mirror exists and is unmarked", "if a release left it, run linkwright adopt --all"}, allowed("sync")...)
	shown := l.must(cli.ExitPartial, []string{"west base: adopt", "Deployment.apps linkerd-multicluster/linkwright-mirror"}, allowed("adopt", "--all")...)
	if strings.Contains(shown.out, "restarts its pods") {
		l.t.Errorf("adopt:\n%s", shown.out)
	}
	l.must(cli.ExitDone, []string{"adopted: "}, allowed("adopt", "--all", "--yes")...)
	l.must(cli.ExitDone, []string{"nothing to adopt"}, allowed("adopt", "--all")...)
	l.must(cli.ExitDone, []string{"1 link: "}, allowed("sync")...)
	l.must(cli.ExitDone, []string{"no difference"}, allowed("diff")...)
}

// TestUninstall takes all away, while both clusters answer.
func TestUninstall(t *testing.T) {
	t.Parallel()
	l := exporting(t)
	l.takeLease("east", "west")
	l.commit(l.clusters() + link("west", "east", full))
	l.must(cli.ExitDone, []string{"1 link: "}, "sync")
	l.uninstalls()
}

// TestUninstallUnreachable takes all away, while one cluster does not answer, and then while it is abandoned.
func TestUninstallUnreachable(t *testing.T) {
	t.Parallel()
	l := exporting(t)
	l.takeLease("east", "west")
	l.uninstallsDead()
	l.uninstallsForgotten()
}

// uninstalls takes it all away, of a link that is ours from the beginning.
func (l *lab) uninstalls() {
	l.commit(l.clusters() + link("east", "west", ""))
	l.must(cli.ExitDone, []string{"2 links: ", "1 Removed"}, "sync")
	l.must(cli.ExitPartial, []string{"Link east→west is removed:\n", "delete Deployment.apps linkerd-multicluster/controller-west", "still declares 2 clusters and 1 link. The next sync writes that again", "to go on, run:\n  linkwright uninstall ", " --yes"}, "uninstall")
	l.dryRuns([]string{"delete Deployment.apps linkerd-multicluster/controller-west"}, "uninstall")
	l.dryRuns([]string{"another token would be requested", "management cluster: https://"}, "rotate")
	l.uninstallsBegun()
	record := l.readRecord()
	done := l.must(cli.ExitDone, []string{"linkwright-access stays"}, "uninstall", "--yes", "-o", "json")
	answered{"uninstall --yes", cli.ExitDone, output.KindSyncReport}.holds(l.t, done)
	l.keepsLookalike()
	l.uninstalled()
	l.uninstallsAgain(record)
}

// uninstallsAgain: an uninstall was killed at its very end, before it deleted the record.
func (l *lab) uninstallsAgain(record *corev1.ConfigMap) {
	l.t.Helper()
	l.restore(record)
	l.must(cli.ExitDone, []string{"no link is left", "Leases, access Secrets, accounts"}, "uninstall", "--yes")
	l.uninstalled()
}

// uninstallsBegun: nobody takes a mirror away, so that the drain goes on. Until it ends, all that is live is listed, however often it is
// asked, and the record stays.
func (l *lab) uninstallsBegun() {
	l.t.Helper()
	stuck := testMirror("stuck", "west")
	services := l.client("east").CoreV1().Services("default")
	if _, err := services.Create(l.t.Context(), stuck, metav1.CreateOptions{FieldManager: "controller"}); err != nil {
		l.t.Fatal(err)
	}
	l.must(cli.ExitPartial, []string{"east: left: ", "west: left: "}, "uninstall", "--yes", "--wait", "2s")
	for _, tt := range []struct{ more, want []string }{
		{nil, []string{"Link east→west is being removed, and linkwright waits:\n", "1 mirror Service in east: default/stuck-west\n", "east: holds now: ", "west: holds now: ", "holds its Lease"}},
		{[]string{"--yes", "--wait", "1s"}, []string{"east: left: ", "west: left: "}},
	} {
		got := l.must(cli.ExitPartial, append(tt.want, "east→west in east: is being removed: Draining"), append([]string{"uninstall"}, tt.more...)...)
		if strings.Contains(got.out, "no link is left") {
			l.t.Errorf("uninstall %v, with a drain that goes on:\n%s", tt.more, got.out)
		}
	}
	if record, err := l.client("west").CoreV1().ConfigMaps("linkwright").Get(l.t.Context(), "linkwright-fleet", metav1.GetOptions{}); err != nil {
		l.t.Errorf("the record, while something is left: %v, %v", record, err)
	}
	mine := stuck.DeepCopy()
	mine.Name, mine.ResourceVersion, mine.Spec.Selector = "mine-west", "", map[string]string{"app": "mine"}
	if _, err := services.Create(l.t.Context(), mine, metav1.CreateOptions{FieldManager: "kubectl-create"}); err != nil {
		l.t.Fatal(err)
	}
	if err := services.Delete(l.t.Context(), stuck.Name, metav1.DeleteOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

// keepsLookalike: a Service with Linkerd's labels and a selector of its own outlived the link that its labels name.
func (l *lab) keepsLookalike() {
	l.t.Helper()
	services := l.client("east").CoreV1().Services("default")
	if _, err := services.Get(l.t.Context(), "mine-west", metav1.GetOptions{}); err != nil {
		l.t.Errorf("a Service that only looks like a mirror: %v", err)
	}
	if err := services.Delete(l.t.Context(), "mine-west", metav1.DeleteOptions{}); err != nil {
		l.t.Error(err)
	}
}

// uninstalled: nothing that carries a mark of ours is left anywhere, nor the record.
func (l *lab) uninstalled() {
	l.t.Helper()
	l.must(cli.ExitDone, []string{"no link is left"}, "uninstall")
	l.recordless()
	for _, c := range []string{"east", "west"} {
		l.unmarked(c)
	}
}

// unmarked: nothing of links carries a mark of ours in a cluster, and nothing of inventories and accounts is there.
func (l *lab) unmarked(cluster string) {
	l.t.Helper()
	for name, o := range l.inLink(cluster) {
		if o.GetLabels()["linkwright.dev/owner"] != "" {
			l.t.Errorf("uninstalled: %s in %s is left", name, cluster)
		}
	}
	ours := metav1.ListOptions{LabelSelector: "linkwright.dev/owner"}
	maps, err := l.client(cluster).CoreV1().ConfigMaps("linkwright-access").List(l.t.Context(), ours)
	if err != nil || len(maps.Items) > 0 {
		l.t.Errorf("uninstalled: inventories in %s: %v, %v", cluster, maps, err)
	}
	accounts, err := l.client(cluster).CoreV1().ServiceAccounts("linkwright-access").List(l.t.Context(), ours)
	if err != nil || len(accounts.Items) > 0 {
		l.t.Errorf("uninstalled: accounts in %s: %v, %v", cluster, accounts, err)
	}
}

// uninstallsDead: a cluster that left the fleet and is dead. What can be reached goes, the rest is listed and remembered,
// and goes once it is back.
func (l *lab) uninstallsDead() {
	l.t.Helper()
	l.commit(l.clusters() + link("west", "east", "") + link("east", "west", ""))
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
	l.eventually("the mirror comes", l.mirrored)
	l.eventually("its gateway is listed", l.listsGateway)
	if err := l.Cluster("east").Pause(); err != nil {
		l.t.Fatal(err)
	}
	l.commit(l.cluster("west"))
	l.must(cli.ExitPartial, []string{"east  Unknown  Timeout: the cluster is no longer declared", "linkwright abandon east", "WaitingForSource"}, "sync", "--cluster-timeout", "3s", "--wait", "1s")
	left := []string{"east: nothing is removed: Timeout", "othing was written"}
	if l.mirrored() { // else that sync got so far
		left = append(left, "delete Service default/web-east")
	}
	l.must(cli.ExitPartial, left, "uninstall", "--cluster-timeout", "3s")
	l.must(cli.ExitPartial, []string{"east  CleanupPending  east→west for less than a minute, west→east for less than a minute", "linkwright removes it once the cluster can be read", "2 ends pending cleanup", "run linkwright uninstall --yes again once every cluster can be read"},
		"uninstall", "--yes", "--cluster-timeout", "3s", "--unreachable-source-timeout", "0s", "--wait", "5s")
	l.unmarked("west")
	record, err := l.client("west").CoreV1().ConfigMaps("linkwright").Get(l.t.Context(), "linkwright-fleet", metav1.GetOptions{})
	if err != nil || strings.Count(record.Data["fleet.json"], `"source"`) != 2 {
		l.t.Errorf("the record of pending cleanups: %v, %v", record, err)
	}
	began := []string{"An uninstall began at ", "Run linkwright uninstall --yes again"}
	if got := l.must(cli.ExitPartial, append([]string{"east     Unknown         Timeout: ", "east     CleanupPending  of removed links: "}, began...), "status", "--cluster-timeout", "3s"); strings.Contains(got.out+got.stderr, "allow non-fast-forward") {
		l.t.Errorf("status, after an uninstall that began:\n%s%s", got.out, got.stderr)
	}
	l.must(cli.ExitPartial, append([]string{"link west/east is removed, but its cleanup is pending in cluster east"}, began...), "describe", "link", "west/east", "--cluster-timeout", "3s")
	l.must(cli.ExitPartial, []string{"an uninstall began at ", "run linkwright uninstall --yes to go on with it"}, "sync", "--wait", "1s", "--cluster-timeout", "3s")
	if got := l.must(cli.ExitPartial, began, "check", "--cluster-timeout", "3s"); strings.Contains(got.out+got.stderr, "allow non-fast-forward") {
		l.t.Errorf("check, after an uninstall that began:\n%s%s", got.out, got.stderr)
	}
	if code, out := l.bare("get", "links", "--cluster-timeout", "3s"); code != cli.ExitError || !strings.Contains(out, began[0]) {
		l.t.Errorf("get links, after an uninstall that began: exit code %d\n%s", code, out)
	}
	// West is clean, so that no cluster that can be read has a revision: that keeps nobody from going on.
	if got := l.must(cli.ExitPartial, []string{"CleanupPending"}, "uninstall", "--yes", "--cluster-timeout", "3s", "--wait", "5s"); strings.Contains(got.out+got.stderr, "not applied") {
		l.t.Errorf("uninstall, again:\n%s%s", got.out, got.stderr)
	}
	if err := l.Cluster("east").Resume(); err != nil {
		l.t.Fatal(err)
	}
	l.must(cli.ExitPartial, began, "status")
	l.must(cli.ExitDone, []string{"delete Deployment.apps linkerd-multicluster/controller-west", "2 links: 2 Removed"}, "uninstall", "--yes")
	l.uninstalled()
}

// mirrored says that west has a mirror of east's Service web.
func (l *lab) mirrored() bool {
	_, err := l.client("west").CoreV1().Services("default").Get(l.t.Context(), "web-east", metav1.GetOptions{})
	return err == nil
}

// listsGateway says that get gateways counts the mirror. The gateway is alive, or the probes of its address, where nobody listens, have failed.
func (l *lab) listsGateway() bool {
	code, out := l.bare("get", "gateways", "west/east", "-o", "jsonpath={.alive}/{.services}/{.readyServices}")
	return code == cli.ExitDone && (out == "True/1/1" || out == "False/1/0")
}

// uninstallsForgotten: a dead cluster that left the fleet, and is given up, keeps nothing from going.
func (l *lab) uninstallsForgotten() {
	l.t.Helper()
	l.commit(l.clusters() + link("west", "east", ""))
	l.must(cli.ExitDone, []string{"1 link: "}, "sync")
	if err := l.Cluster("east").Pause(); err != nil {
		l.t.Fatal(err)
	}
	l.commit(l.cluster("west"))
	uninstall := []string{"uninstall", "--abandon-cluster", "east", "--cluster-timeout", "3s", "--wait", "1m"}
	l.must(cli.ExitPartial, []string{"east: the cluster was abandoned", "delete Deployment.apps linkerd-multicluster/controller-east", "othing was written"}, uninstall...)
	if got := l.must(cli.ExitDone, []string{"Abandoned: the cluster was abandoned"}, append(uninstall, "--yes")...); strings.Contains(got.stderr, "does nothing") {
		l.t.Errorf("uninstall:\n%s", got.stderr)
	}
	l.unmarked("west")
	l.recordless()
	l.must(cli.ExitDone, []string{"no such cluster is declared or in the record", "no link is left"}, uninstall...)
	if err := l.Cluster("east").Resume(); err != nil {
		l.t.Fatal(err)
	}
}
