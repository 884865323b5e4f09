package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
)

func sweptKinds() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		{Version: "v1", Resource: "namespaces"},
		{Version: "v1", Resource: "configmaps"},
		{Version: "v1", Resource: "secrets"},
		{Version: "v1", Resource: "serviceaccounts"},
		{Version: "v1", Resource: "services"},
		{Version: "v1", Resource: "endpoints"},
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
		{Group: "multicluster.linkerd.io", Version: "v1alpha3", Resource: "links"},
		{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
	}
}

func (l *lab) list(c *testbed.Cluster, kind schema.GroupVersionResource) []unstructured.Unstructured {
	l.t.Helper()
	list, err := dynamic.NewForConfigOrDie(c.Config).Resource(kind).List(l.t.Context(), metav1.ListOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return list.Items
}

// passing is what differs from one making to the next and stands in the middle of a text: tokens, fingerprints of them, commit
// and term, when an unlink began or a place was given up, and what the record has of removed links.
var passing = regexp.MustCompile(`eyJ[A-Za-z0-9_.-]+|credential-[0-9a-f]+|linkwright\.dev/credential":"[0-9a-f]+|linkwright\.dev/credentials":"[^"]+"|\\?"commit\\?":\\?"[0-9a-f]+\\?"|\\?"term\\?":[0-9]+|\\?"(since|appliedSince|uninstallSince)\\?":\\?"[^"\\]+\\?"|\\?"(applied|observed|by|revision|at)\\?":\\?"[^"\\]+\\?"`)

// lasting is an object as JSON, by what must be alike wherever the same was declared. Who owns which field counts; of digests, that
// a further run writes nothing says more.
func lasting(o unstructured.Unstructured) string {
	managers := managedOf(o)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	// A restart of the destination controller is another revision, and happens once five minutes have passed since the last one.
	for _, note := range []string{object.DigestAnnotation, "kubernetes.io/service-account.uid", "linkwright.dev/credentials", "deployment.kubernetes.io/revision", "mirror.linkerd.io/remote-resource-version"} {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", note)
	}
	unstructured.RemoveNestedField(o.Object, "metadata", "labels", "kubernetes.io/legacy-token-last-used") // by the server
	delete(o.Object, "status")
	switch o.GetKind() {
	case "Lease":
		delete(o.Object, "spec")
	case "Service":
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIPs")
	case "Secret":
		reduceSecret(o)
	}
	text, err := json.Marshal(o.Object)
	if err != nil {
		panic(err) // it was JSON
	}
	return passing.ReplaceAllString(string(text), "…") + managers
}

// reduceSecret keeps what a value says beside its token.
func reduceSecret(o unstructured.Unstructured) {
	var s struct{ Data map[string][]byte }
	text, err := json.Marshal(o.Object)
	if err != nil || json.Unmarshal(text, &s) != nil {
		panic("a Secret that is none")
	}
	data := map[string]any{}
	for key, value := range s.Data {
		data[key] = string(value)
	}
	o.Object["data"] = data
}

// managedOf is what linkwright's field managers own, without when they wrote.
func managedOf(o unstructured.Unstructured) string {
	var lines []string
	for _, m := range o.GetManagedFields() {
		if m.Manager == object.Manager(object.DefaultOwner) && m.FieldsV1 != nil {
			lines = append(lines, "\n"+m.Manager+" "+string(m.Operation)+" "+passing.ReplaceAllString(m.FieldsV1.GetRawString(), "…"))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
