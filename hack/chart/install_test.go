package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/linkwright/linkwright/hack/testbed"
)

// server is a real API server with Linkerd's namespaces, and the kind ServiceMonitor.
type server struct {
	*testing.T
	cluster *testbed.Cluster
	objects dynamic.Interface
	typed   kubernetes.Interface
}

// TestInstall is all that needs a server: one for all of it, since starting it takes longest.
func TestInstall(t *testing.T) {
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
	testbed.Need(t)
	s := newServer(t)
	for _, c := range combinations() {
		t.Run(c.name, func(t *testing.T) { s.on(t).installs(c) })
	}
	t.Run("upgrade to other values", func(t *testing.T) { s.on(t).upgrades() })
	t.Run("upgrade from the commit before", func(t *testing.T) { s.on(t).upgradesFromBefore() })
	t.Run("two releases of one owner", func(t *testing.T) { s.on(t).twoOfOneOwner() })
	t.Run("beside values that linkwright sets", func(t *testing.T) { s.on(t).besideValues() })
	t.Run("beside linkwright cluster add", func(t *testing.T) { s.on(t).besideClusterAdd() })
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{T: t}
	bed, err := testbed.Start(t.Context(), testbed.Options{Names: []string{"west"}, Light: true})
	s.must(err)
	t.Cleanup(func() { s.must(bed.Close()) })
	s.cluster = bed.Cluster("west")
	s.objects, err = dynamic.NewForConfig(s.cluster.Config)
	s.must(err)
	s.typed, err = kubernetes.NewForConfig(s.cluster.Config)
	s.must(err)
	s.must(testbed.InstallLinkerd(t.Context(), s.cluster.Config, testbed.Linkerd{}))
	s.serves("servicemonitors", "ServiceMonitor")
	s.serves("prometheusrules", "PrometheusRule")
	return s
}

// serves has the server take objects of a kind of the Prometheus operator, whatever they hold.
func (s *server) serves(plural, kind string) {
	s.Helper()
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + ".monitoring.coreos.com"},
		"spec": map[string]any{
			"group": "monitoring.coreos.com", "scope": "Namespaced", "names": map[string]any{"plural": plural, "kind": kind},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	_, err := s.objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).
		Create(s.Context(), crd, metav1.CreateOptions{})
	s.must(err)
	s.must(wait.PollUntilContextTimeout(s.Context(), 100*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := s.objects.Resource(schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: plural}).List(ctx, metav1.ListOptions{})
		return err == nil, nil
	}))
}

func (s *server) on(t *testing.T) *server {
	out := *s
	out.T = t
	return &out
}

func (s *server) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// namespace makes a namespace that admits only restricted pods, and an account there.
func (s *server) namespace(name string) {
	s.Helper()
	_, err := s.typed.CoreV1().Namespaces().Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	s.must(err)
	_, err = s.typed.CoreV1().ServiceAccounts(name).Create(s.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}, metav1.CreateOptions{})
	s.must(err)
}

// helm is Helm for a namespace, as its program sets it up.
func (s *server) helm(namespace string) *action.Configuration {
	s.Helper()
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = &s.cluster.Kubeconfig, &namespace
	out := action.NewConfiguration()
	s.must(out.Init(flags, namespace, "secret"))
	return out
}

func (s *server) install(release, namespace string, values map[string]any, dry action.DryRunStrategy) error {
	s.Helper()
	_, err := s.newInstall(release, namespace, dry).Run(loaded(s), values)
	return err
}

func (s *server) newInstall(release, namespace string, dry action.DryRunStrategy) *action.Install {
	s.Helper()
	i := action.NewInstall(s.helm(namespace))
	i.ReleaseName, i.Namespace, i.WaitStrategy, i.DryRunStrategy = release, namespace, kube.HookOnlyStrategy, dry
	return i
}

func (s *server) upgrade(release string, c *chart.Chart, values map[string]any) {
	s.Helper()
	u := action.NewUpgrade(s.helm(release))
	u.Namespace, u.WaitStrategy, u.ServerSideApply = release, kube.HookOnlyStrategy, "auto"
	_, err := u.Run(release, c, values)
	s.must(err)
}

// uninstall leaves nothing but the namespace whose accounts links use.
func (s *server) uninstall(release, namespace string) {
	s.Helper()
	u := action.NewUninstall(s.helm(namespace))
	u.WaitStrategy = kube.HookOnlyStrategy
	_, err := u.Run(release)
	s.must(err)
	if left := ids(s.live(release)); len(left) > 0 {
		s.Errorf("after uninstall there are %v", left)
	}
}

// live returns the objects of a release, sorted as those that are rendered.
func (s *server) live(release string) (out []*unstructured.Unstructured) {
	s.Helper()
	for _, r := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "configmaps"},
		{Version: "v1", Resource: "serviceaccounts"},
		{Version: "v1", Resource: "services"},
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "batch", Version: "v1", Resource: "cronjobs"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
		{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
		{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
		{Group: "monitoring.coreos.com", Version: "v1", Resource: "servicemonitors"},
		{Group: "monitoring.coreos.com", Version: "v1", Resource: "prometheusrules"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
	} {
		list, err := s.objects.Resource(r).List(s.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + release})
		s.must(err)
		for _, o := range list.Items {
			out = append(out, &o)
		}
	}
	return out
}

// same compares what is live with what is rendered. The policies of a release without them must be gone, too.
func (s *server) same(release string, values map[string]any) {
	s.Helper()
	live, want := s.live(release), mustRender(s, release, values)
	if diff := gocmp.Diff(ids(want), ids(live)); diff != "" {
		s.Errorf("objects of the release: -rendered +live\n%s", diff)
	}
	for _, o := range live {
		if err := s.admitted(o); err != nil {
			s.Errorf("the pod of %s: %v", o.GetKind(), err)
		}
	}
}

// ids are those of all objects but the namespace linkwright-access, which stays.
func ids(objects []*unstructured.Unstructured) (out []string) {
	for _, o := range objects {
		if o.GetKind() == "Namespace" {
			continue
		}
		out = append(out, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
	}
	slices.Sort(out)
	return out
}

// admitted has the server admit the pod of an object, if it makes any, to its namespace.
func (s *server) admitted(o *unstructured.Unstructured) error {
	s.Helper()
	at := map[string][]string{"Deployment": {"spec", "template"}, "CronJob": {"spec", "jobTemplate", "spec", "template"}}[o.GetKind()]
	if at == nil {
		return nil
	}
	template, _, err := unstructured.NestedMap(o.Object, at...)
	if err != nil {
		return err
	}
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &pod); err != nil {
		return err
	}
	pod.Name, pod.Namespace = "dry", o.GetNamespace()
	_, err = s.typed.CoreV1().Pods(pod.Namespace).Create(s.Context(), &pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// combination is a set of values with objects of its own.
type combination struct{ name, values string }

// combinations are the parts with each other. What is on by a switch of its own, independently of all others, is on in one of them and off in another.
func combinations() (out []combination) {
	const (
		options = "networkPolicy: {enabled: true}\nmanagement: {secrets: [east], configMaps: [keys]}\nconfig: {max-links: 10}"
		daemon  = options + "\npodDisruptionBudget: {enabled: true}\nserviceMonitor: {enabled: true}\nprometheusRule: {enabled: true}\ndashboard: {enabled: true}"
	)
	management := []combination{
		{"", "management: {enabled: false}"},
		{"Deployment", "mode: Deployment"},
		{"Deployment with options", daemon},
		{"CronJob", "mode: CronJob"},
		{"CronJob with options", "mode: CronJob\n" + options},
	}
	member := []combination{
		{"", ""},
		{"member without policies", "member: {enabled: true, confine: false}"},
		{"member with options", "member: {enabled: true, targets: [east], sweep: true}"},
	}
	for _, a := range management {
		for _, b := range member {
			if name := strings.Trim(a.name+", "+b.name, ", "); name != "" {
				out = append(out, combination{name, a.values + "\n" + b.values})
			}
		}
	}
	return append(out, combination{"account of others", "serviceAccount: {create: false, name: theirs}"})
}

// installs installs and uninstalls. A dry run on the server before that succeeds, and changes nothing.
func (s *server) installs(c combination) {
	const release = "mesh"
	s.ensure(release)
	values := with(s, c.values)
	s.must(s.install(release, release, values, action.DryRunServer))
	if left := ids(s.live(release)); len(left) > 0 {
		s.Errorf("after a dry run there are %v", left)
	}
	s.must(s.install(release, release, values, action.DryRunNone))
	s.same(release, values)
	s.uninstall(release, release)
}

func (s *server) ensure(namespace string) {
	s.Helper()
	if _, err := s.typed.CoreV1().Namespaces().Get(s.Context(), namespace, metav1.GetOptions{}); err != nil {
		s.namespace(namespace)
	}
}
