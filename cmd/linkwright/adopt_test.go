package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/sync/report/output"
)

// full is what link-gen makes of a link, as declared.
const full = `, remoteDiscoverySelector: {matchLabels: {mirror.linkerd.io/exported: remote-discovery}}, federatedServiceSelector: {matchLabels: {mirror.linkerd.io/federated: member}}`

// exporting is a lab in which east exports a Service, which the controllers of links in west mirror.
func exporting(t *testing.T) *lab {
	t.Helper()
	l := newLab(t, "east", "west")
	if err := testbed.Export(t.Context(), l.Cluster("east").Config, testbed.Exported{Namespace: "default", Name: "web"}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() {
		done <- testbed.RunMirrors(ctx, l.Cluster("west").Config, testbed.MirrorOptions{Period: 100 * time.Millisecond})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l
}

// handmade is a lab with a link by hand that mirrors a Service, and somebody who watches the mirror.
func handmade(t *testing.T, legacy bool) (*lab, *testbed.MirrorObserver) {
	t.Helper()
	l := exporting(t)
	l.byHand("west", "east", legacy)
	l.eventually("the mirror is there", func() bool {
		_, err := l.client("west").CoreV1().Services("default").Get(t.Context(), "web-east", metav1.GetOptions{})
		return err == nil
	})
	w, err := testbed.NewWitness(context.WithoutCancel(t.Context()), l.Cluster("west").Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.End)
	return l, w
}

// unnoticed holds that these controllers led the link, in this order, and that no mirror was interrupted until then.
func (l *lab) unnoticed(w *testbed.MirrorObserver, controllers ...string) {
	l.t.Helper()
	var led []string
	defer func() {
		if l.t.Failed() {
			l.t.Logf("the link was led by %v", led)
		}
	}()
	// A sync may end before the new controller holds the Lease. If the former one lost its rights before it could give the Lease
	// up, the new one waits until that expires.
	l.eventually(fmt.Sprintf("the link was led by pods of %v, and by no others", controllers), func() bool {
		led = w.Leaders("east")
		return slices.EqualFunc(led, controllers, func(pod, c string) bool { return strings.HasPrefix(pod, "linkerd-multicluster/"+c+"-") })
	})
	if lost, err := w.Lost(l.t.Context()); err != nil || len(lost) > 0 {
		l.t.Errorf("mirrors were interrupted: %v, %v", lost, err)
	}
}

// TestAdopt takes over a link that was made with link-gen and Helm's chart, while its controller mirrors a Service.
func TestAdopt(t *testing.T) {
	t.Parallel()
	l, w := handmade(t, false)
	l.keptBy("argocd-controller", "mesh")
	imported := l.imports()
	l.commit(l.clusters() + imported)
	for _, how := range []string{"--yes", "--dry-run=client", "--dry-run=server"} {
		l.must(cli.ExitPartial, []string{"ManagedByOtherTool", "managed by Argo CD (Application mesh)"}, "adopt", "--all", how)
	}
	l.keptBy("argocd-controller", "")
	before := l.inLink("west")
	l.must(cli.ExitPartial, []string{"ObjectExists", "linkwright adopt west/east"}, "sync")

	shown := l.must(cli.ExitPartial, []string{
		"othing was written", "linkerd-multicluster/linkerd-service-mirror-remote-access-default", "exclude lists", "uses the former token",
		"removes annotation kubectl.kubernetes.io/last-applied-configuration", "the next sync writes 9 adopted objects once more",
	}, "adopt", "west-east")
	for _, key := range []string{"Deployment.apps linkerd-multicluster/controller-east", "ServiceAccount linkerd-multicluster/controller-east", "Role.rbac"} {
		_, of, found := strings.Cut(shown.out, "  "+key)
		if _, then, ok := strings.Cut(of, "next sync   "); !found || !ok || !strings.HasPrefix(then, "writes it once more, with the same content\n") {
			t.Errorf("%s: is not shown as written once more without a difference:\n%s", key, shown.out)
		}
	}
	if strings.Contains(shown.out, "eyJ") {
		t.Errorf("a token is shown:\n%s", shown.out)
	}
	l.same("shown only", before, l.inLink("west"), func(o *unstructured.Unstructured) string { return o.GetResourceVersion() }, "leases", "links")

	l.dryRuns([]string{"linkerd-multicluster/linkerd-service-mirror-remote-access-default"}, "adopt", "--all")
	done := l.must(cli.ExitDone, []string{"adopted: 9 objects"}, "adopt", "--all", "--yes", "-o", "json")
	answered{"adopt --yes", cli.ExitDone, output.KindSyncReport}.holds(t, done)
	adopted := l.inLink("west")
	l.same("adopted", before, adopted, func(o *unstructured.Unstructured) string { return string(o.GetUID()) })
	l.same("adopted", before, adopted, contentOf, "leases")
	for name, o := range adopted {
		mine, helm := o.GetLabels()["linkwright.dev/owner"] == "linkwright", o.GetLabels()["app.kubernetes.io/managed-by"] == "Helm"
		if keep := o.GetAnnotations()["helm.sh/resource-policy"]; helm != (keep == "keep") || helm && !mine {
			t.Errorf("%s: ours %t, of Helm %t, policy %q", name, mine, helm, keep)
		}
	}
	l.must(cli.ExitDone, []string{"nothing to adopt"}, "adopt", "--all")
	holder := leader(adopted)

	if first := l.must(cli.ExitDifferent, []string{"first sync after the adoption"}, "diff"); strings.Contains(first.out, "changed by") {
		t.Errorf("nobody changed what was adopted:\n%s", first.out)
	}
	l.dryRuns([]string{"east"}, "sync")
	l.must(cli.ExitDone, []string{"1 link: "}, "sync")
	if code, out := l.bare("status", "-o", "wide"); code != cli.ExitDone || !regexp.MustCompile(`west +east +True +Ready`).MatchString(out) {
		t.Errorf("right after the sync: exit code %d, want a link that is ready\n%s", code, out)
	}
	l.must(cli.ExitDone, []string{"no difference"}, "diff")
	l.must(cli.ExitDone, []string{"nothing to adopt"}, "adopt", "--all", "--yes")
	after := l.inLink("west")
	l.same("synced", before, after, func(o *unstructured.Unstructured) string { return string(o.GetUID()) }) // pods, too: none was rolled
	if now := leader(after); now != holder || holder == "" {
		t.Errorf("the lease went from %q to %q", holder, now)
	}
	l.keeps(after)
	l.commit(l.clusters() + strings.Replace(imported, "spec:\n", "spec:\n  controller: {replicas: 2}\n", 1))
	l.must(cli.ExitDone, []string{"1 link: "}, "sync")
	l.keeps(l.inLink("west"))
	l.commit(l.clusters() + imported)
	l.must(cli.ExitDone, []string{"1 link: "}, "sync")
	l.must(cli.ExitDone, []string{"no difference"}, "diff")
	l.keeps(l.inLink("west"))
	for name, o := range after {
		if o.GetLabels()["linkwright.dev/owner"] != "" && o.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"] != "" {
			t.Errorf("%s: what kubectl once applied, the former token with it, is still written there", name)
		}
	}
	l.releases(after)
	l.owners()
	l.unnoticed(w, "controller-east")
	l.shared()
}

// keptBy has a tool apply the label app.kubernetes.io/instance to the controller of a link by hand, or, empty, give it up.
func (l *lab) keptBy(tool, instance string) {
	l.t.Helper()
	labels := ""
	if instance != "" {
		labels = `"labels":{"app.kubernetes.io/instance":"` + instance + `"}`
	}
	_, err := l.client("west").AppsV1().Deployments(testbed.Multicluster).Patch(l.t.Context(), "controller-east", types.ApplyPatchType,
		[]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{`+labels+`}}`), metav1.PatchOptions{FieldManager: tool})
	if err != nil {
		l.t.Fatal(err)
	}
}

// keeps looks for what the next `helm upgrade` without the link would delete: what is of its release and does not say keep.
// Later applies of ours do not name that annotation, and must not take it away.
func (l *lab) keeps(objects map[string]*unstructured.Unstructured) {
	l.t.Helper()
	n := 0
	for name, o := range objects {
		if o.GetLabels()["app.kubernetes.io/managed-by"] != "Helm" {
			continue
		}
		if n++; o.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
			l.t.Errorf("%s: Helm would delete it", name)
		}
	}
	if n != 6 {
		l.t.Errorf("%d objects are of Helm's release, want 6", n)
	}
}

// TestAdoptLegacy takes over what `linkerd multicluster link` made, while its controller mirrors a Service: the present one
// stands before the older one goes, and no mirror is lost.
func TestAdoptLegacy(t *testing.T) {
	t.Parallel()
	l, w := handmade(t, true)
	before := l.inLink("west")
	l.commit(l.clusters() + link("west", "east", full))
	l.must(cli.ExitPartial, []string{"ObjectExists"}, "sync")
	l.must(cli.ExitPartial, []string{
		"Deployment.apps linkerd-multicluster/linkerd-service-mirror-east", "deletes it, because it is not declared or has a replacement",
		"note: ClusterRole linkerd-service-mirror-access-local-resources-east in west stays", "othing was written",
	}, "adopt", "west/east")

	l.must(cli.ExitDone, []string{"adopted: 9 objects"}, "adopt", "west/east", "--yes")
	adopted := l.inLink("west")
	l.same("adopted", before, adopted, func(o *unstructured.Unstructured) string { return string(o.GetUID()) })
	l.same("adopted", before, adopted, contentOf, "leases")

	l.must(cli.ExitDone, []string{"1 link: "}, "sync", "--wait", "1m")
	l.must(cli.ExitDone, []string{"no difference"}, "diff")
	l.must(cli.ExitDone, []string{"nothing to adopt"}, "adopt", "--all")
	after := l.inLink("west")
	for name, o := range after {
		_, own, _ := strings.Cut(name, "/")
		if o.GetDeletionTimestamp() == nil && strings.HasSuffix(own, "-east") && (strings.HasPrefix(own, "linkerd-service-mirror-") || strings.HasPrefix(own, "probe-gateway-")) {
			t.Errorf("%s of the older set is left", name)
		}
	}
	for _, name := range []string{"links linkerd-multicluster/east", "secrets linkerd-multicluster/cluster-credentials-east", "secrets linkerd/cluster-credentials-east"} {
		if after[name] == nil || after[name].GetUID() != before[name].GetUID() {
			t.Errorf("%s was made anew", name)
		}
	}
	l.unnoticed(w, "linkerd-service-mirror-east", "controller-east")
	l.secretGone()
	l.deadOnes()
}

// imports prints declarations of what is live, which are valid, and gives the Link's.
func (l *lab) imports() string {
	l.t.Helper()
	merged := clientcmdapi.NewConfig()
	for _, name := range []string{"east", "west"} {
		c, err := clientcmd.LoadFromFile(l.Cluster(name).Kubeconfig)
		if err != nil {
			l.t.Fatal(err)
		}
		at := c.Contexts[c.CurrentContext]
		merged.Clusters[name], merged.AuthInfos[name] = c.Clusters[at.Cluster], c.AuthInfos[at.AuthInfo]
		merged.Contexts["admin-"+name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	dir := l.t.TempDir()
	if err := clientcmd.WriteToFile(*merged, dir+"/config"); err != nil {
		l.t.Fatal(err)
	}
	out, err := exec.Command("linkwright", "import", "--kubeconfig", dir+"/config", //nolint:noctx // it ends by itself
		"--context", "admin-east", "--context", "admin-west", "--name", "admin-east=east", "--name", "admin-west=west").Output()
	if err != nil {
		l.t.Fatalf("import: %v", err)
	}
	if err := os.WriteFile(dir+"/fleet.yaml", out, 0o600); err != nil {
		l.t.Fatal(err)
	}
	if said, err := exec.Command("linkwright", "validate", dir+"/fleet.yaml").CombinedOutput(); err != nil { //nolint:noctx // as above
		l.t.Errorf("what was imported is not valid: %v\n%s\n%s", err, said, out)
	}
	docs := strings.Split(string(out), "---\n")
	if len(docs) != 4 || strings.Contains(string(out), "gateway:") || strings.Contains(string(out), "eyJ") ||
		!strings.Contains(docs[3], "federatedServiceSelector") || !strings.Contains(docs[3], "of Helm runs it") ||
		!strings.Contains(docs[3], "Argo CD (Application mesh) manages Deployment.apps linkerd-multicluster/controller-east") {
		l.t.Errorf("import:\n%s", out)
	}
	return docs[len(docs)-1] + "---\n"
}

func leader(objects map[string]*unstructured.Unstructured) string {
	o := objects["leases linkerd-multicluster/service-mirror-write-east"]
	if o == nil {
		return ""
	}
	holder, _, _ := unstructured.NestedString(o.Object, "spec", "holderIdentity")
	return holder
}

// contentOf is all of an object but its metadata and status.
func contentOf(o *unstructured.Unstructured) string {
	c := o.DeepCopy()
	delete(c.Object, "metadata")
	delete(c.Object, "status")
	text, _ := json.Marshal(c.Object)
	return string(text)
}

// same compares every object that there was before, but for some kinds.
func (l *lab) same(when string, before, after map[string]*unstructured.Unstructured, of func(*unstructured.Unstructured) string, but ...string) {
	l.t.Helper()
	for name, o := range before {
		kind, _, _ := strings.Cut(name, " ")
		switch now := after[name]; {
		case slices.Contains(but, kind):
		case now == nil:
			l.t.Errorf("%s: %s is gone", when, name)
		case of(o) != of(now):
			l.t.Errorf("%s: %s: was %s, is %s", when, name, of(o), of(now))
		}
	}
}
