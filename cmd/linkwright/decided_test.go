package main

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// decides runs a command that records a decision, which must end with the code and say all the words.
func (l *lab) decides(code int, words []string, args ...string) {
	l.t.Helper()
	got, out, said := l.apart(args...)
	out += said
	if got != code {
		l.t.Errorf("%v: exit code %d, want %d\n%s", args, got, code, out)
	}
	for _, w := range words {
		if !strings.Contains(out, w) {
			l.t.Errorf("%v: does not say %q:\n%s", args, w, out)
		}
	}
}

// soon is how long a daemon may take to do what people decided, on a machine that does much else; by itself it does nothing for an hour.
const soon = time.Minute

func (l *lab) soon(what string, f func() bool) {
	l.t.Helper()
	began := time.Now()
	l.eventually(what, f)
	if took := time.Since(began); took > soon {
		l.t.Errorf("%s took %s", what, took)
	} else {
		l.t.Logf("%s took %s", what, took.Round(10*time.Millisecond))
	}
}

// record is the text of the record.
func (l *lab) record() string {
	l.t.Helper()
	cm, err := l.client("west").CoreV1().ConfigMaps("linkwright").Get(l.t.Context(), "linkwright-fleet", metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return cm.Data["fleet.json"]
}

// decidesUnderDaemon: a daemon that polls once an hour takes up each decision at once.
func (r *rewoundLab) decidesUnderDaemon() {
	hourly := func(links string) string { return r.clusters() + links + policy("interval: 1h") }
	both := link("west", "east", "") + link("east", "west", "")
	r.commit(hourly(link("west", "east", "")))
	first := r.tip()
	r.commit(hourly(both))
	ctx, stop := context.WithCancel(r.t.Context())
	defer stop()
	log := r.t.TempDir() + "/log"
	c, at := r.daemonAt(ctx, log, "--cluster-timeout", "3s")
	defer func() {
		if r.t.Failed() {
			r.t.Log(r.file(log), get(at+"/").body, r.record())
		}
	}()
	report := func(words ...string) func() bool {
		return func() bool {
			body := get(at + "/").body
			for _, word := range words {
				if !strings.Contains(body, word) {
					return false
				}
			}
			return true
		}
	}
	undecided := func() bool { // that a suspension ended stays there for a week
		return strings.Count(r.record(), `"kind":`) == strings.Count(r.record(), `"kind":"Resume"`)
	}
	r.eventually("the daemon is ready", func() bool {
		return written(at) == 2
	})
	r.suspends(report, undecided)
	r.accepts(report, undecided)

	r.git("reset", "-q", "--hard", first)
	r.decides(cli.ExitDone, []string{"recorded: Reconcile east", "A running daemon follows it"}, "reconcile")
	r.soon("the head is refused", report("linkwright allow non-fast-forward "+first))
	r.decides(cli.ExitDone, []string{"recorded: AllowNonFastForward " + first}, "allow", "non-fast-forward", first)
	r.soon("the head is in force", func() bool { return report(`"appliedRevision": "`+first+`"`)() && undecided() })

	r.abandons(undecided)
	stop()
	_ = c.Wait() // it was asked to stop
	for _, line := range []string{
		`suspended link=west→east by=`, `resumed link=west→east by=`, `"cluster accepted under this name" cluster=east uid=`, `"non-fast-forward commit allowed" commit=` + first,
		`"cluster to be abandoned" cluster=east by=`, `"reconcile requested" cluster=west by=`,
		`"decision used up" decision="AcceptCluster east=`, `"decision used up" decision="AllowNonFastForward`, `"decision used up" decision="AbandonCluster east`,
		`"decision used up" decision="Reconcile west`,
	} {
		if !strings.Contains(r.file(log), line) {
			r.t.Errorf("the log does not say %q:\n%s", line, r.file(log))
		}
	}
}

// suspends: two people at once, a drift that stays, and is taken back once both are over.
func (r *rewoundLab) suspends(report func(...string) func() bool, undecided func() bool) {
	r.decides(cli.ExitError, []string{"the record has no cluster eats (did you mean east?): linkwright wrote only to east, west"}, "suspend", "eats", "--reason", "x")
	r.decides(cli.ExitError, []string{"linkwright-blue-fleet"}, "suspend", "east", "--reason", "x", "--owner", "blue")
	other := r.mayOnly("person", rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"linkwright-fleet"}, Verbs: []string{"get", "patch"},
	})
	r.management = other
	unchecked := "linkwright could not check that link west/east exists: cluster west was not read"
	r.decides(cli.ExitDone, []string{"Suspend west/east", unchecked}, "suspend", "west/east", "--reason", "x", "--dry-run=client")
	r.management = ""
	at := make(chan error)
	go func() {
		c := exec.CommandContext(r.t.Context(), "linkwright", "suspend", "east", "--reason", "two at once", "--kubeconfig", other) //nolint:gosec // our own
		out, err := c.CombinedOutput()
		if err != nil {
			err = errors.Join(err, errors.New(string(out)))
		}
		at <- err
	}()
	r.decides(cli.ExitDone, []string{"recorded: Suspend west/east", "incident 42", "linkwright resume west/east"}, "suspend", "west/east", "--reason", "incident 42", "--until", "2h")
	if err := <-at; err != nil {
		r.t.Errorf("by who may get and patch the record alone: %v", err)
	}
	r.soon("both are suspended", report("incident 42", "two at once", "system:serviceaccount:linkwright:person"))
	r.decides(cli.ExitPartial, []string{"incident 42", "Suspend", "west/east", "two at once", "Suspended", "to resume, run linkwright resume west/east"}, "status")
	r.drifts()
	r.decides(cli.ExitDone, []string{"taken back: Suspend west/east"}, "resume", "west/east")
	r.decides(cli.ExitDone, []string{"Suspended is False: by ", "cluster/east", "Suspended is True: by system:serviceaccount:linkwright:person: two at once"}, "events")
	r.soon("one is over", func() bool { return !report("incident 42")() })
	if r.repaired() {
		r.t.Error("drift was taken back in a suspended cluster")
	}
	r.decides(cli.ExitDone, []string{"taken back: Suspend east"}, "resume", "--all")
	r.soon("drift is taken back", r.repaired)
	r.soon("the sync ends", func() bool { return !report("Suspended")() && !report(`"syncing": true`)() })
	r.decides(cli.ExitDone, []string{"nothing is suspended"}, "resume", "--all")
	r.decides(cli.ExitDone, []string{"east is not suspended by linkwright suspend"}, "resume", "east")
	if !undecided() {
		r.t.Errorf("the record: %s", r.record())
	}
}

// accepts: the record says that east was another cluster, and a person that it is this one.
func (r *rewoundLab) accepts(report func(...string) func() bool, undecided func() bool) {
	ns, err := r.client("east").CoreV1().Namespaces().Get(r.t.Context(), "kube-system", metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	record := r.client("west").CoreV1().ConfigMaps("linkwright")
	r.eventually("the record is edited", func() bool { // the daemon writes it, too
		cm, err := record.Get(r.t.Context(), "linkwright-fleet", metav1.GetOptions{})
		if err == nil {
			cm.Data["fleet.json"] = strings.ReplaceAll(cm.Data["fleet.json"], string(ns.UID), "former")
			_, err = record.Update(r.t.Context(), cm, metav1.UpdateOptions{FieldManager: "hand"})
		}
		return err == nil
	})
	r.decides(cli.ExitDone, nil, "reconcile", "east")
	r.soon("it is another cluster", report("linkwright accept cluster east="+string(ns.UID)))
	r.decides(cli.ExitDone, []string{"recorded: AcceptCluster east"}, "accept", "cluster", "east="+string(ns.UID), "--reason", "restored")
	r.soon("it is accepted", func() bool { return undecided() && strings.Contains(r.record(), string(ns.UID)) })
}

// abandons: a cluster that is declared no more and gives no answer.
func (r *rewoundLab) abandons(undecided func() bool) {
	if err := r.Cluster("east").Pause(); err != nil {
		r.t.Fatal(err)
	}
	defer func() {
		if err := r.Cluster("east").Resume(); err != nil {
			r.t.Error(err)
		}
	}()
	r.commit(r.cluster("west") + policy("interval: 1h"))
	r.decides(cli.ExitDone, []string{"recorded: Reconcile west"}, "reconcile", "west")
	for _, mode := range []string{"client", "server"} {
		r.decides(cli.ExitDone, []string{"would be recorded: AbandonCluster east", "management cluster: https://", "Nothing was written (" + mode + " dry run)"}, "abandon", "east", "--dry-run="+mode)
	}
	r.decides(cli.ExitPartial, []string{"would be recorded: AbandonCluster east", "to go on, run:\n  linkwright abandon east --kubeconfig "}, "abandon", "east")
	if record := r.record(); strings.Contains(record, "AbandonCluster") {
		r.t.Errorf("the record after dry runs: %s", record)
	}
	r.decides(cli.ExitDone, []string{"recorded: AbandonCluster east"}, "abandon", "east", "--yes")
	r.soon("it is abandoned", func() bool { return undecided() && !strings.Contains(r.record(), `"east":`) })
	r.decides(cli.ExitError, []string{"the record has no cluster east: linkwright wrote only to west"}, "abandon", "east", "--yes")
}
