package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// upgrades changes what is installed: what a value switches off is deleted.
func (s *server) upgrades() {
	const release = "mesh"
	s.ensure(release)
	s.must(s.install(release, release, with(s), action.DryRunNone))
	for _, text := range []string{
		"member: {enabled: true, targets: [east], sweep: true}\nserviceMonitor: {enabled: true}\npodDisruptionBudget: {enabled: true}",
		"mode: CronJob\nnetworkPolicy: {enabled: true}\nserviceAccount: {create: false, name: theirs}",
		"{management: {enabled: false}, member: {enabled: true, confine: false}}",
	} {
		values := with(s, text)
		s.upgrade(release, loaded(s), values)
		s.same(release, values)
	}
	s.uninstall(release, release)
}

// upgradesFromBefore goes from the chart of the commit before its last change to this one.
func (s *server) upgradesFromBefore() {
	const release = "mesh"
	before := chartBefore(s.T)
	s.ensure(release)
	values := with(s, "member: {enabled: true, targets: [east], sweep: true}")
	_, err := s.newInstall(release, release, action.DryRunNone).Run(before, values)
	s.must(err)
	s.upgrade(release, loaded(s), values)
	s.same(release, values)
	s.uninstall(release, release)
}

// chartBefore returns the chart as it was before its last change, which may not be committed yet.
func chartBefore(t *testing.T) *chart.Chart {
	t.Helper()
	git := func(args ...string) []byte {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", root}, args...)...).Output()
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		if err != nil {
			t.Skipf("these sources are no checkout of Git with a history: git %s: %v", args[0], err)
		}
		return out
	}
	commits := strings.Fields(string(git("log", "-2", "--format=%H", "--", chartDir)))
	if changed := git("status", "--porcelain", "--", chartDir); len(changed) == 0 && len(commits) > 0 {
		commits = commits[1:]
	}
	if len(commits) == 0 {
		t.Skip("there is no commit with another chart")
	}
	c, err := loader.LoadArchive(bytes.NewReader(git("archive", "--format=tar.gz", "--prefix=linkwright/", commits[0]+":"+chartDir)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// twoOfOneOwner: the second release is not installed, wherever it is and whatever it has of the chart, and the error says what to do.
func (s *server) twoOfOneOwner() {
	for _, n := range []string{"first", "second"} {
		s.namespace(n)
	}
	s.must(s.install("first", "first", with(s), action.DryRunNone))
	for _, other := range []struct{ release, namespace, values string }{
		{"second", "second", ""},
		{"second", "second", "mode: CronJob"},
		{"second", "second", "{management: {enabled: false}, member: {enabled: true}}"},
		{"second", "first", ""},
	} {
		for _, dry := range []action.DryRunStrategy{action.DryRunServer, action.DryRunNone} {
			err := s.install(other.release, other.namespace, with(s, other.values), dry)
			const want = `the owner "linkwright" belongs to the release "first" in the namespace "first"`
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "helm upgrade first --namespace first") {
				s.Errorf("install %v: %v, want %q and the command", other, err, want)
			}
		}
	}
	err := s.install("second", "first", with(s, "checkOwner: false"), action.DryRunServer)
	if err == nil || !strings.Contains(err.Error(), "exists and cannot be imported into the current release") {
		s.Errorf("in one namespace without the check: %v", err)
	}
	blue := with(s, "owner: blue", "member: {enabled: true}")
	s.must(s.install("second", "second", blue, action.DryRunNone))
	s.upgrade("first", loaded(s), with(s, "replicas: 2"))
	s.uninstall("second", "second")
	s.uninstall("first", "first")
}

// besideClusterAdd: linkwright cluster add makes the account and the access namespace, perhaps before the chart is installed. Both stay as they were.
func (s *server) besideClusterAdd() {
	const release = "late"
	s.namespace(release)
	namespaces, accounts := s.typed.CoreV1().Namespaces(), s.typed.CoreV1().ServiceAccounts(release)
	_, err := namespaces.Patch(s.Context(), "linkwright-access", types.MergePatchType,
		[]byte(`{"metadata":{"labels":null,"annotations":null}}`), metav1.PatchOptions{})
	s.must(err)
	_, err = accounts.Create(s.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "linkwright"}}, metav1.CreateOptions{})
	s.must(err)
	values := with(s, "member: {enabled: true}")
	s.must(s.install(release, release, values, action.DryRunNone))
	s.upgrade(release, loaded(s), values)
	s.uninstall(release, release)
	namespace, err := namespaces.Get(s.Context(), "linkwright-access", metav1.GetOptions{})
	s.must(err)
	account, err := accounts.Get(s.Context(), "linkwright", metav1.GetOptions{})
	s.must(err)
	if namespace.DeletionTimestamp != nil || len(namespace.Annotations) > 0 || len(account.Annotations) > 0 || len(account.Labels) > 0 {
		s.Errorf("after uninstall: %v, %v", namespace, account)
	}
}
