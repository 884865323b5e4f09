package survey_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/rollout/survey"
)

// bed is a real control plane with an injector, and workloads.
type bed struct {
	*testing.T
	config   *rest.Config
	client   kubernetes.Interface
	injector *testbed.Injector
}

// TestRead: a survey says which workloads a restart would change, and in what. It restarts and creates nothing.
func TestRead(t *testing.T) {
	b := newBed(t)
	b.workloads()
	current := b.survey("shop", 0)
	want := survey.Cluster{
		Workloads: []survey.Workload{
			{Kind: "DaemonSet", Namespace: "shop", Name: "agent", OptsIn: true, Pods: 1},
			{Kind: "Deployment", Namespace: "shop", Name: "loud", Pods: 1},
			{Kind: "Deployment", Namespace: "shop", Name: "web", OptsIn: true, Pods: 2},
			{Kind: "StatefulSet", Namespace: "shop", Name: "db", Pods: 1},
		},
		Others: []survey.Pod{{Namespace: "shop", Name: "bare"}},
	}
	b.same("all are current", want, current)
	b.set("proxy.logLevel", `"debug"`)
	level := []string{"LINKERD2_PROXY_LOG"}
	for _, i := range []int{0, 2, 3} { // an annotation sets the level of loud
		want.Workloads[i].Outdated, want.Workloads[i].Differences = want.Workloads[i].Pods, level
	}
	before := b.injector.Calls()
	b.same("another log level", want, b.survey("shop", 0))
	if calls := b.injector.Calls() - before; calls != 4 {
		t.Errorf("%d dry runs of 4 workloads", calls)
	}
	b.restart("web")
	want.Workloads[2].Outdated, want.Workloads[2].Differences = 0, nil
	b.same("web was restarted", want, b.survey("shop", 0))
	b.same("another namespace", survey.Cluster{}, b.survey("default", 0))
	b.trust()
	b.byAnnotations()

	b.set("proxy.nativeSidecar", "true")
	b.set("proxy.waitBeforeExitSeconds", "30")
	for _, w := range b.survey("shop", 4).Workloads {
		if w.Err == nil || w.Outdated > 0 {
			t.Errorf("the injector rejects pods: got %+v", w)
		}
	}
	b.must(b.injector.Close(t.Context()))
	for _, w := range b.survey("shop", 4).Workloads {
		if !errors.Is(w.Err, survey.ErrNoProxy) || w.Outdated > 0 {
			t.Errorf("no injector answers: got %+v", w)
		}
	}
}

// byAnnotations compares without dry runs: by the version, and by values that a pod shows.
func (b *bed) byAnnotations() {
	b.Helper()
	before := b.injector.Calls()
	level := []string{"proxy.logLevel"}
	b.declared("another value", map[string][]string{"agent": level, "db": level})
	b.set("proxy.image.version", `"edge-99.9.9"`)
	version := []string{"version of the proxy"}
	both := append(version, level...)
	b.declared("another version", map[string][]string{"agent": both, "db": both, "loud": version, "web": version})
	b.set("proxy.image.version", `""`)
	b.asReader()
	if calls := b.injector.Calls() - before; calls > 0 {
		b.Errorf("%d dry runs", calls)
	}
}

// counted returns how many workloads could not be compared, and how many are outdated.
func counted(all []survey.Workload) (unknown, outdated int) {
	for _, w := range all {
		switch {
		case w.Err != nil:
			unknown++
		case w.Outdated > 0:
			outdated++
		}
	}
	return unknown, outdated
}

// asReader surveys as somebody who may create no pods, not even as a dry run: with the control plane's namespace, pods are compared without. Argo Rollouts
// are there, and are not read.
func (b *bed) asReader() {
	b.Helper()
	b.must(testbed.InstallArgoRollouts(b.Context(), b.config))
	admin, err := survey.NewClient(b.config)
	b.must(err)
	if all, err := survey.Read(b.Context(), admin, survey.Options{Namespace: "shop", Linkerd: testbed.ControlPlane, NoDryRun: true, ArgoRollouts: true}); err != nil || !all.ArgoRollouts {
		b.Errorf("Argo Rollouts are there: %v, got %+v", err, all)
	}
	reader := rbacv1.ClusterRole{ObjectMeta: meta("lists-workloads"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{"", "apps"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}}}}
	_, err = b.client.RbacV1().ClusterRoles().Create(b.Context(), &reader, metav1.CreateOptions{})
	b.must(err)
	_, err = b.client.RbacV1().ClusterRoleBindings().Create(b.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta("lists-workloads"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "lists-workloads"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "reader"}},
	}, metav1.CreateOptions{})
	b.must(err)
	cfg := rest.CopyConfig(b.config)
	cfg.Impersonate.UserName = "reader"
	client, err := survey.NewClient(cfg)
	b.must(err)
	for namespace, want := range map[string]int{"": 4, testbed.ControlPlane: 0} {
		unknown, outdated := 0, 0
		b.eventually("the reader may list", func() (bool, error) { // RBAC counts a moment after it is written
			found, err := survey.Read(b.Context(), client, survey.Options{Namespace: "shop", Linkerd: namespace, ArgoRollouts: true})
			if apierrors.IsForbidden(err) {
				return false, nil
			}
			if found.ArgoRollouts || !apierrors.IsForbidden(found.ArgoErr) {
				b.Errorf("somebody who may not list Argo Rollouts: %v", found.ArgoErr)
			}
			unknown, outdated = counted(found.Workloads)
			return true, err
		})
		if unknown != want || namespace != "" && outdated != 2 {
			b.Errorf("a forbidden dry run, Linkerd in %q: %d unknown, %d outdated", namespace, unknown, outdated)
		}
	}
}

// declared compares without dry runs, and fails unless the workloads differ like that.
func (b *bed) declared(what string, want map[string][]string) {
	b.Helper()
	found, err := survey.Read(b.Context(), survey.Client{Core: b.client.CoreV1(), Apps: b.client.AppsV1()}, survey.Options{
		Namespace: "shop", Linkerd: testbed.ControlPlane, NoDryRun: true,
	})
	b.must(err)
	got := map[string][]string{}
	for _, w := range found.Workloads {
		if b.must(w.Err); w.Outdated > 0 {
			got[w.Name] = w.Differences
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(found.Workloads) != 4 {
		b.Errorf("%s: %d workloads, -want +got\n%s", what, len(found.Workloads), diff)
	}
}

func newBed(t *testing.T) *bed {
	t.Helper()
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
	testbed.Need(t)
	b := &bed{T: t}
	planes, err := testbed.Start(t.Context(), testbed.Options{Names: []string{"east"}})
	b.must(err)
	t.Cleanup(func() { b.must(planes.Close()) })
	cfg := planes.Clusters[0].Config
	b.must(testbed.InstallLinkerd(t.Context(), cfg, testbed.Linkerd{}))
	b.injector, err = testbed.StartInjector(t.Context(), cfg)
	b.must(err)
	b.config = cfg
	b.client, err = kubernetes.NewForConfig(cfg)
	b.must(err)
	return b
}

func (b *bed) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bed) same(what string, want, got survey.Cluster) {
	b.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(survey.Workload{}, "Live")); diff != "" {
		b.Errorf("%s: -want +got\n%s", what, diff)
	}
}

// survey reads once: so many workloads are unknown.
func (b *bed) survey(namespace string, unknown int) (out survey.Cluster) {
	b.Helper()
	got, err := survey.Read(b.Context(), survey.Client{Core: b.client.CoreV1(), Apps: b.client.AppsV1()}, survey.Options{Namespace: namespace})
	b.must(err)
	n := 0
	for _, w := range got.Workloads {
		if w.Err != nil {
			n++
		}
	}
	if n != unknown {
		b.Errorf("%d workloads are unknown, want %d: %+v", n, unknown, got)
	}
	return got
}

// set changes one value of Linkerd's installation.
func (b *bed) set(path, value string) {
	b.Helper()
	b.must(testbed.SetValue(b.Context(), b.client, path, value))
}

// workloads makes some of each kind in a namespace, and waits for their pods.
func (b *bed) workloads() {
	b.Helper()
	ctx, apps := b.Context(), b.client.AppsV1()
	b.must(testbed.MakeNamespace(ctx, b.client, "shop"))
	two := int32(2)
	web, loud := testbed.MeshedDeployment("web", map[string]string{rollout.Reconcile: rollout.Auto}), testbed.MeshedDeployment("loud", map[string]string{"config.linkerd.io/proxy-log-level": "trace"})
	web.Spec.Replicas = &two
	unmeshed := testbed.MeshedDeployment("unmeshed", nil)
	unmeshed.Spec.Template.Annotations = nil
	for _, d := range []*appsv1.Deployment{web, loud, unmeshed} {
		_, err := apps.Deployments("shop").Create(ctx, d, metav1.CreateOptions{})
		b.must(err)
	}
	_, err := apps.DaemonSets("shop").Create(ctx, &appsv1.DaemonSet{ObjectMeta: meta("agent"), Spec: appsv1.DaemonSetSpec{
		Selector: selects("agent"), Template: testbed.MeshedTemplate("agent", map[string]string{rollout.Reconcile: rollout.Auto}),
	}}, metav1.CreateOptions{})
	b.must(err)
	db := &appsv1.StatefulSet{ObjectMeta: meta("db"), Spec: appsv1.StatefulSetSpec{Selector: selects("db"), Template: testbed.MeshedTemplate("db", nil), VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
		ObjectMeta: meta("data"), Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}}}}
	db.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	_, err = apps.StatefulSets("shop").Create(ctx, db, metav1.CreateOptions{})
	b.must(err)
	bare := &corev1.Pod{ObjectMeta: testbed.MeshedTemplate("bare", nil).ObjectMeta, Spec: testbed.MeshedTemplate("bare", nil).Spec}
	bare.Name = "bare"
	_, err = b.client.CoreV1().Pods("shop").Create(ctx, bare, metav1.CreateOptions{})
	b.must(err)
	b.pods(6)
}

// pods waits until there are so many meshed pods.
func (b *bed) pods(n int) {
	b.Helper()
	b.eventually(fmt.Sprintf("there are %d meshed pods", n), func() (bool, error) {
		l, err := b.client.CoreV1().Pods("shop").List(b.Context(), metav1.ListOptions{LabelSelector: rollout.Meshed})
		if err != nil {
			return false, err
		}
		return len(l.Items) == n, nil
	})
}

// restart restarts a Deployment as kubectl does, and waits until its former pods are gone.
func (b *bed) restart(name string) {
	b.Helper()
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339))
	_, err := b.client.AppsV1().Deployments("shop").Patch(b.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	b.must(err)
	b.eventually(name+" is restarted", func() (bool, error) {
		d, err := b.client.AppsV1().Deployments("shop").Get(b.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		l, err := b.client.CoreV1().Pods("shop").List(b.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
		return d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == *d.Spec.Replicas && len(l.Items) == int(*d.Spec.Replicas), err
	})
}

func (b *bed) eventually(what string, done func() (bool, error)) {
	b.Helper()
	err := wait.PollUntilContextTimeout(b.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return done() })
	if err != nil {
		b.Fatalf("%s: %v", what, err)
	}
}

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func selects(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}
