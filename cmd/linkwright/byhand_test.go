package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/hack/testbed"
)

// legacyParts are the chart's as `linkerd multicluster link` names and labels them, with a ClusterRole of their own.
func legacyParts() string {
	text := strings.NewReplacer(
		"linkerd-multicluster-controller-access-local-resources", "linkerd-service-mirror-access-local-resources-TARGET",
		"linkerd-multicluster-controller-access-local-resources-TARGET", "linkerd-service-mirror-access-local-resources-TARGET",
		"controller-read-remote-creds-TARGET", "linkerd-service-mirror-read-remote-creds-TARGET",
		"controller-TARGET", "linkerd-service-mirror-TARGET",
		"probe-TARGET", "probe-gateway-TARGET",
		"{linkerd.io/extension: multicluster, component: controller,", "{linkerd.io/extension: multicluster, component: service-mirror,",
		"matchLabels: {component: controller,", "matchLabels: {component: linkerd-service-mirror,",
		"ctrl-admin", "svcmi-admin", "name: controller\n", "name: service-mirror\n",
	).Replace("\n" + testbed.HandMadeController())
	text = strings.ReplaceAll(text, "resources-TARGET-TARGET", "resources-TARGET")
	pod := "labels: {linkerd.io/extension: multicluster, component: service-mirror, mirror.linkerd.io/cluster-name: TARGET}\n      annotations"
	text = strings.Replace(text, pod, strings.Replace(pod, "component: service-mirror", "component: linkerd-service-mirror", 1), 1)
	return `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: linkerd-service-mirror-access-local-resources-TARGET, labels: {linkerd.io/extension: multicluster, component: service-mirror, mirror.linkerd.io/cluster-name: TARGET}}
rules:
- {apiGroups: [""], resources: [endpoints, services], verbs: [list, get, watch, create, delete, update]}
- {apiGroups: [""], resources: [namespaces], verbs: [list, get, watch]}
---` + text
}

// byHand links two clusters as people do without linkwright.
func (l *lab) byHand(source, target string, legacy bool) {
	l.t.Helper()
	fill := strings.NewReplacer("TARGET", target, "KUBECONFIG", l.linkGen(target)).Replace
	if legacy {
		l.make(source, "kubectl-client-side-apply", fill(legacyParts()))
	} else {
		l.make(source, "helm", fill(testbed.HandMadeController()))
	}
	l.make(source, "kubectl-client-side-apply", fill(testbed.HandMadeLink()))
}

// linkGen is the kubeconfig that link-gen prints: with the token of the account that all sources share.
func (l *lab) linkGen(target string) string {
	l.t.Helper()
	s, err := l.client(target).CoreV1().Secrets("linkerd-multicluster").Get(l.t.Context(), "linkerd-service-mirror-remote-access-default-token", metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	cfg := l.Cluster(target).Config
	ca := cfg.CAData
	if len(ca) == 0 {
		if ca, err = os.ReadFile(cfg.CAFile); err != nil {
			l.t.Fatal(err)
		}
	}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "admin@" + target,
		"clusters": []any{map[string]any{"name": target, "cluster": map[string]any{"server": cfg.Host, "certificate-authority-data": ca}}},
		"users":    []any{map[string]any{"name": "linkerd-service-mirror-remote-access-default", "user": map[string]any{"token": string(s.Data["token"])}}},
		"contexts": []any{map[string]any{"name": "admin@" + target, "context": map[string]any{"cluster": target, "user": "linkerd-service-mirror-remote-access-default"}}},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// make creates objects as a manager does that knows nothing of server-side apply, with the marks that it leaves.
func (l *lab) make(cluster, manager, text string) {
	l.t.Helper()
	client := dynamic.NewForConfigOrDie(l.Cluster(cluster).Config)
	for doc := range strings.SplitSeq(text, "\n---") {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			l.t.Fatal(err)
		}
		labels, annotations := o.GetLabels(), o.GetAnnotations()
		if labels == nil {
			labels = map[string]string{}
		}
		if annotations == nil {
			annotations = map[string]string{}
		}
		if manager == "helm" {
			labels["app.kubernetes.io/managed-by"] = "Helm"
			annotations["meta.helm.sh/release-name"], annotations["meta.helm.sh/release-namespace"] = "linkerd-multicluster", "linkerd-multicluster"
			o.SetLabels(labels)
		} else {
			raw, _ := o.MarshalJSON()
			annotations["kubectl.kubernetes.io/last-applied-configuration"] = string(raw)
		}
		o.SetAnnotations(annotations)
		if _, err := client.Resource(resourceOf(&o)).Namespace(o.GetNamespace()).Create(l.t.Context(), &o, metav1.CreateOptions{FieldManager: manager}); err != nil {
			l.t.Fatal(err)
		}
	}
}

func resourceOf(o *unstructured.Unstructured) schema.GroupVersionResource {
	gvk := o.GroupVersionKind()
	return gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s")
}

// inLink are all objects of a link in its source, by kind and name.
func (l *lab) inLink(cluster string) map[string]*unstructured.Unstructured {
	l.t.Helper()
	client := dynamic.NewForConfigOrDie(l.Cluster(cluster).Config)
	out := map[string]*unstructured.Unstructured{}
	for _, r := range []struct{ group, version, resource, ns string }{
		{"", "v1", "secrets", "linkerd-multicluster"},
		{"", "v1", "secrets", "linkerd"},
		{"", "v1", "services", "linkerd-multicluster"},
		{"", "v1", "serviceaccounts", "linkerd-multicluster"},
		{"apps", "v1", "deployments", "linkerd-multicluster"},
		{"multicluster.linkerd.io", "v1alpha3", "links", "linkerd-multicluster"},
		{"rbac.authorization.k8s.io", "v1", "clusterrolebindings", ""},
		{"rbac.authorization.k8s.io", "v1", "roles", "linkerd-multicluster"},
		{"rbac.authorization.k8s.io", "v1", "rolebindings", "linkerd-multicluster"},
		{"coordination.k8s.io", "v1", "leases", "linkerd-multicluster"},
		{"", "v1", "pods", "linkerd-multicluster"},
	} {
		list, err := client.Resource(schema.GroupVersionResource{Group: r.group, Version: r.version, Resource: r.resource}).Namespace(r.ns).List(l.t.Context(), metav1.ListOptions{})
		if err != nil {
			l.t.Fatal(err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			out[r.resource+" "+o.GetNamespace()+"/"+o.GetName()] = o
		}
	}
	return out
}

func TestLegacyParts(t *testing.T) {
	text := legacyParts()
	for _, want := range []string{"name: linkerd-service-mirror-TARGET,", "name: probe-gateway-TARGET", "name: linkerd-service-mirror-read-remote-creds-TARGET", "{component: linkerd-service-mirror,"} {
		if !strings.Contains(text, want) {
			t.Errorf("the older set has no %s:\n%s", want, text)
		}
	}
}
