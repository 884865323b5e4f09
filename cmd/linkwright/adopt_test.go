package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/linkwright/linkwright/hack/testbed"
)

// full is what link-gen makes of a link, as declared.
const full = `, remoteDiscoverySelector: {matchLabels: {mirror.linkerd.io/exported: remote-discovery}}, federatedServiceSelector: {matchLabels: {mirror.linkerd.io/federated: member}}`

// handmade is a lab with a link by hand that mirrors a Service, and somebody who watches the mirror.
func handmade(t *testing.T, legacy bool) (l *lab, lost func() []string) {
	t.Helper()
	l = newLab(t, "east", "west")
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
	l.byHand("west", "east", legacy)
	l.eventually("the mirror is there", func() bool {
		_, err := l.client("west").CoreV1().Services("default").Get(t.Context(), "web-east", metav1.GetOptions{})
		return err == nil
	})
	return l, l.losses(ctx)
}

// losses watches the mirrors, and gives what of them was deleted.
func (l *lab) losses(ctx context.Context) func() []string {
	l.t.Helper()
	w, err := l.client("west").CoreV1().Services("default").Watch(ctx, metav1.ListOptions{LabelSelector: "mirror.linkerd.io/mirrored-service"})
	if err != nil {
		l.t.Fatal(err)
	}
	return func() (lost []string) {
		w.Stop()
		for e := range w.ResultChan() {
			if s, ok := e.Object.(*corev1.Service); ok && e.Type == watch.Deleted {
				lost = append(lost, s.Name)
			}
		}
		return lost
	}
}

// TestAdopt takes over a link that was made with link-gen and Helm's chart, while its controller mirrors a Service.
func TestAdopt(t *testing.T) {
	t.Parallel()
	l, lost := handmade(t, false)
	before := l.inLink("west")
	l.commit(l.clusters() + l.imports())
	l.must(exitPartial, []string{"Occupied"}, "sync")

	shown := l.must(exitPartial, []string{
		"Nothing was written", "linkerd-multicluster/linkerd-service-mirror-remote-access-default", "exclude lists", "goes on with the former token",
	}, "adopt", "west-east")
	for _, key := range []string{"Deployment.apps linkerd-multicluster/controller-east", "ServiceAccount linkerd-multicluster/controller-east", "Role.rbac"} {
		_, of, found := strings.Cut(shown.out, "  "+key)
		if _, then, ok := strings.Cut(of, "next sync   "); !found || !ok || !strings.HasPrefix(then, "nothing\n") {
			t.Errorf("%s: is not shown with a difference of nothing:\n%s", key, shown.out)
		}
	}
	if strings.Contains(shown.out, "eyJ") {
		t.Errorf("a token is shown:\n%s", shown.out)
	}
	l.same("shown only", before, l.inLink("west"), func(o *unstructured.Unstructured) string { return o.GetResourceVersion() }, "leases", "links")

	l.must(exitDone, []string{"adopted: 9 objects"}, "adopt", "--all", "--yes")
	adopted := l.inLink("west")
	l.same("adopted", before, adopted, func(o *unstructured.Unstructured) string { return string(o.GetUID()) })
	l.same("adopted", before, adopted, contentOf, "leases")
	for name, o := range adopted {
		mine, helm := o.GetLabels()["linkwright.dev/owner"] == "linkwright", o.GetLabels()["app.kubernetes.io/managed-by"] == "Helm"
		if keep := o.GetAnnotations()["helm.sh/resource-policy"]; helm != (keep == "keep") || helm && !mine {
			t.Errorf("%s: ours %t, of Helm %t, policy %q", name, mine, helm, keep)
		}
	}
	l.must(exitDone, []string{"nothing to adopt"}, "adopt", "--all")
	holder := leader(adopted)

	l.must(exitDone, []string{"1 link in place"}, "sync")
	l.must(exitDone, []string{"no difference"}, "diff")
	l.must(exitDone, []string{"nothing to adopt"}, "adopt", "--all", "--yes")
	after := l.inLink("west")
	l.same("synced", before, after, func(o *unstructured.Unstructured) string { return string(o.GetUID()) }) // pods, too: none was rolled
	if now := leader(after); now != holder || holder == "" {
		t.Errorf("the lease went from %q to %q", holder, now)
	}
	for name, o := range after {
		if o.GetLabels()["app.kubernetes.io/managed-by"] == "Helm" && o.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s: Helm would delete it", name)
		}
		if o.GetLabels()["linkwright.dev/owner"] != "" && o.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"] != "" {
			t.Errorf("%s: what kubectl once applied, the former token with it, is still written there", name)
		}
	}
	l.releases(after)
	if gone := lost(); len(gone) > 0 {
		t.Errorf("mirrors were deleted: %v", gone)
	}
	l.uninstalls()
}

// releases gives everything up, and takes it over again.
func (l *lab) releases(before map[string]*unstructured.Unstructured) {
	l.must(exitPartial, []string{"leave Link", "Nothing was written"}, "release", "--all")
	l.must(exitDone, []string{"Occupied from now on"}, "release", "--all", "--yes")
	l.must(exitDone, []string{"nothing to give up"}, "release", "--all", "--yes")
	after := l.inLink("west")
	l.same("released", before, after, func(o *unstructured.Unstructured) string { return string(o.GetUID()) })
	l.same("released", before, after, contentOf, "leases")
	for name, o := range after {
		if o.GetLabels()["linkwright.dev/owner"] != "" {
			l.t.Errorf("released: %s is still marked", name)
		}
	}
	l.recordless()
	l.must(exitPartial, []string{"1 link held"}, "sync")
	if accounts, err := l.client("east").CoreV1().ServiceAccounts("linkwright-access").List(l.t.Context(), metav1.ListOptions{}); err != nil || len(accounts.Items) != 2 {
		l.t.Errorf("released: accounts in east: %v, %v", accounts, err)
	}
}

func (l *lab) recordless() {
	l.t.Helper()
	if _, err := l.client("west").CoreV1().ConfigMaps("linkwright").Get(l.t.Context(), "linkwright-fleet", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		l.t.Errorf("the record of clusters: %v", err)
	}
}

// uninstalls takes it all away, of a link that is ours from the beginning.
func (l *lab) uninstalls() {
	l.commit(l.clusters() + link("east", "west", ""))
	l.must(exitDone, []string{"1 link in place"}, "sync")
	l.must(exitPartial, []string{"delete Deployment.apps linkerd-multicluster/controller-west", "Nothing was written"}, "uninstall")
	l.must(exitDone, []string{"linkwright-access stays"}, "uninstall", "--yes")
	l.must(exitDone, []string{"nothing of linkwright is left"}, "uninstall")
	l.recordless()
	for _, c := range []string{"east", "west"} {
		for name, o := range l.inLink(c) {
			if o.GetLabels()["linkwright.dev/owner"] != "" {
				l.t.Errorf("uninstalled: %s in %s is left", name, c)
			}
		}
	}
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
		!strings.Contains(docs[3], "federatedServiceSelector") || !strings.Contains(docs[3], "of Helm runs it") {
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
