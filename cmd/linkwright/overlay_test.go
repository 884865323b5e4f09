package main

import (
	"os"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

const quiet = `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
labels:
- pairs: {example.com/team: mesh}
patches:
- target: {kind: Deployment}
  patch: '- {op: add, path: /spec/minReadySeconds, value: 3}'
resources: [policy.yaml]
`

// overlaid: an overlay shapes the ends of its cluster and brings in a policy; what is wrong with it takes nothing away, and
// what it brought in goes with it.
func (l *lab) overlaid() {
	both := link("west", "east", "") + link("east", "west", "")
	plain, shaped := l.clusters()+both, strings.Replace(l.clusters(), "spec: {access: {kubeconfigSecret: {name: west}}", "spec: {overlay: overlays/quiet, access: {kubeconfigSecret: {name: west}}", 1)+both
	l.put("overlays/quiet/policy.yaml", "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: quiet}\nspec: {podSelector: {}}\n")
	l.put("overlays/quiet/kustomization.yaml", quiet)
	l.commit(shaped)
	l.must(cli.ExitDifferent, []string{"NetworkPolicy.networking.k8s.io linkerd-multicluster/quiet", "+  minReadySeconds: 3"}, "diff")
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
	l.isOverlaid(3, true)
	before := l.writes()
	again := l.must(cli.ExitDone, []string{"2 links: ", "nothing to write"}, "sync")
	if n := l.writes(); n != before && !conditionsAlone(again.out) {
		l.t.Errorf("a second pass sent %d writes", n-before)
	}
	policies := l.client("west").NetworkingV1().NetworkPolicies("linkerd-multicluster")
	if err := policies.Delete(l.t.Context(), "quiet", metav1.DeleteOptions{}); err != nil {
		l.t.Fatal(err)
	}
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
	l.isOverlaid(3, true)

	before = l.writes()
	l.put("overlays/quiet/kustomization.yaml", strings.Replace(quiet, "- {op: add, path: /spec/minReadySeconds, value: 3}",
		"- {op: replace, path: /spec/template/spec/containers/0/image, value: example.com/x}", 1))
	l.commit(shaped)
	l.must(cli.ExitPartial, []string{"image must not be changed", "kustomization.yaml:6"}, "sync")
	l.isOverlaid(3, true)
	l.put("overlays/quiet/kustomization.yaml", strings.Replace(quiet, "policy.yaml", "https://example.com/policy.yaml", 1))
	l.commit(shaped)
	l.must(cli.ExitInvalid, []string{"overlays/quiet/kustomization.yaml:8", "is a URL"}, "sync")
	l.isOverlaid(3, true)
	if n := l.writes() - before; n > len(l.Clusters) { // the commit, in each base
		l.t.Errorf("overlays that are wrong sent %d writes", n)
	}

	l.git("rm", "-rq", "overlays")
	l.commit(plain)
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
	l.isOverlaid(0, false)
}

// put writes a file of the repository; the next commit has it.
func (l *lab) put(name, text string) {
	l.t.Helper()
	file := filepath.Join(l.repo, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) isOverlaid(minReady int32, policy bool) {
	l.t.Helper()
	d, err := l.client("west").AppsV1().Deployments("linkerd-multicluster").Get(l.t.Context(), "controller-east", metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	if _, labelled := d.Labels["example.com/team"]; d.Spec.MinReadySeconds != minReady || labelled != policy {
		l.t.Errorf("the controller: minReadySeconds %d, labels %v", d.Spec.MinReadySeconds, d.Labels)
	}
	_, err = l.client("west").NetworkingV1().NetworkPolicies("linkerd-multicluster").Get(l.t.Context(), "quiet", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) || (err == nil) != policy {
		l.t.Errorf("the policy: %v, want it there: %t", err, policy)
	}
}

// fixed: an overlay's ConfigMap that is immutable and changes holds the end that it is in; diff says so, too. Where the
// SyncPolicy lets it, diff shows that it is replaced, and sync replaces it.
func (l *lab) fixed() {
	both := strings.Replace(l.clusters(), "spec: {access: {kubeconfigSecret: {name: west}}", "spec: {overlay: overlays/fixed, access: {kubeconfigSecret: {name: west}}", 1) +
		link("west", "east", "") + link("east", "west", "")
	change := func(value, more string) {
		l.put("overlays/fixed/settings.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\nimmutable: true\ndata: {v: "+value+"}\n")
		l.commit(both + more)
	}
	kinds := []string{"--overlay-kinds", "ConfigMap"}
	l.put("overlays/fixed/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [settings.yaml]\n")
	change("one", "")
	l.must(cli.ExitDone, []string{"2 links: "}, append(kinds, "sync")...)
	change("two", "")
	held := []string{"ImmutableField", "spec.replace: [{kind: ConfigMap}]"}
	l.must(cli.ExitPartial, held, append(kinds, "diff")...)
	l.must(cli.ExitPartial, held, append(kinds, "sync")...)
	change("two", policy("replace: [{kind: ConfigMap}], prune: {policy: UpsertOnly}"))
	l.must(cli.ExitPartial, []string{"UpsertOnly"}, append(kinds, "diff")...)
	change("two", policy("replace: [{kind: ConfigMap}]"))
	l.must(cli.ExitDifferent, []string{"replace ConfigMap linkerd-multicluster/settings", "the SyncPolicy allows linkwright to replace a ConfigMap", "+  v: two"}, append(kinds, "diff")...)
	if live, err := l.client("west").CoreV1().ConfigMaps("linkerd-multicluster").Get(l.t.Context(), "settings", metav1.GetOptions{}); err != nil || live.Data["v"] != "one" {
		l.t.Errorf("after a diff: %v, %v", live.Data, err)
	}
	l.must(cli.ExitDone, []string{"2 links: ", "the SyncPolicy allows linkwright to replace a ConfigMap"}, append(kinds, "sync")...)
	l.must(cli.ExitDone, []string{"nothing to write"}, append(kinds, "sync")...)
	l.git("rm", "-rq", "overlays")
	l.commit(l.clusters() + link("west", "east", "") + link("east", "west", ""))
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
}
