package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render"
)

// with returns an object whose text is another.
func with(t *testing.T, o object.Object, replacements ...string) object.Object {
	t.Helper()
	text := string(o.Body.Bytes())
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(text, replacements[i]) {
			t.Fatalf("%s does not hold %s", text, replacements[i])
		}
	}
	o.Body = object.NewBody([]byte(strings.NewReplacer(replacements...).Replace(text)))
	return o
}

func link(ns, name, domain string) object.Object {
	body := fmt.Sprintf(`{"apiVersion":"multicluster.linkerd.io/v1alpha3","kind":"Link","metadata":{"name":%q,"namespace":%q},"spec":{`+
		`"targetClusterName":%q,"targetClusterDomain":%q,"targetClusterLinkerdNamespace":"linkerd","clusterCredentialsSecret":"x",`+
		`"gatewayAddress":"192.0.2.1","gatewayPort":"4143","gatewayIdentity":"g","probeSpec":{"path":"/ready","period":"3s","port":"4191"}}}`, name, ns, name, domain)
	return object.Object{
		Key:     object.Key{Group: "multicluster.linkerd.io", Kind: "Link", Namespace: ns, Name: name},
		Version: "v1alpha3", Body: object.NewBody([]byte(body)),
	}
}

// Of every kind that ends hold, what the server refuses for good, and what it takes.
func TestImmutable(t *testing.T) {
	c, _, ns := east(t)
	if err := testbed.InstallLinkerd(t.Context(), live.Config, testbed.Linkerd{}); err != nil {
		t.Fatal(err)
	}
	selector := []string{`"matchLabels":{"app":"a"}`, `"matchLabels":{"app":"b"}`}
	labels := []string{`"labels":{"app":"a"}`, `"labels":{"app":"b"}`}
	sealed := func(o object.Object) object.Object { return with(t, o, `"metadata":`, `"immutable":true,"metadata":`) }
	opaque, words := secret(t, ns, "a", corev1.SecretTypeOpaque), configMap(t, ns, "a", map[string]string{"k": "v"})
	secretB, wordsB := secret(t, ns, "b", corev1.SecretTypeOpaque), configMap(t, ns, "b", map[string]string{"k": "v"})
	tests := []struct {
		was, next object.Object
		field     string // "": it may change
	}{
		{opaque, with(t, opaque, `"type":"Opaque"`, `"type":"example.com/other"`), "type"},
		{sealed(secretB), with(t, sealed(secretB), `"kubeconfig":"`, `"kubeconfig":"aHVzaC1odXNo`), "data"},
		{words, with(t, words, `"v"`, `"w"`), ""},
		{sealed(wordsB), with(t, sealed(wordsB), `"v"`, `"w"`), "data"},
		{service(t, ns, "a"), with(t, service(t, ns, "a"), `"selector":{"app":"a"}`, `"selector":{"app":"b"}`), ""},
		{service(t, ns, "b"), with(t, service(t, ns, "b"), `"spec":{`, `"spec":{"clusterIP":"None",`), "spec.clusterIPs[0]"},
		{account(t, ns, "a"), with(t, account(t, ns, "a"), `"metadata":`, `"automountServiceAccountToken":false,"metadata":`), ""},
		{deployment(t, ns, "a"), with(t, deployment(t, ns, "a"), append(selector, labels...)...), "spec.selector"},
		{budget(t, ns, "a"), with(t, budget(t, ns, "a"), selector...), ""},
		{clusterBinding(t, ns, ns), with(t, clusterBinding(t, ns, ns), `"name":"view"`, `"name":"edit"`), "roleRef"},
		{role(t, ns, "a"), with(t, role(t, ns, "a"), `"verbs":["get"]`, `"verbs":["list"]`), ""},
		{binding(t, ns, "a", "x"), binding(t, ns, "a", "y"), "roleRef"},
		{link(ns, "east", "cluster.local"), link(ns, "east", "east.local"), ""},
	}
	tried := map[string]bool{}
	for _, tt := range tests {
		tried[tt.was.Key.Kind] = true
		_, err := c.Write(t.Context(), update(tt.next, write(t, c, create(tt.was))))
		field, ok := Immutable(err)
		if field != tt.field || ok != (tt.field != "") || !ok && err != nil {
			t.Errorf("Immutable(update of %s): got %q, %v of %v, want %q", tt.was.Key, field, ok, err, tt.field)
		}
		if ok && (Explain(err).Code != reason.ImmutableField || strings.Contains(err.Error(), "hush")) {
			t.Errorf("Explain(update of %s): got %+v, want %s", tt.was.Key, Explain(err), reason.ImmutableField)
		}
	}
	for _, k := range render.Kinds() {
		if !tried[k.Kind] {
			t.Errorf("no %s was tried", k.Kind)
		}
	}
}

// What is wrong otherwise is never called immutable.
func TestOtherRefusalsAreNotImmutable(t *testing.T) {
	c, _, ns := east(t)
	d := deployment(t, ns, "a")
	was := write(t, c, create(d))
	for _, ch := range []object.Change{
		update(with(t, d, `"matchLabels":{"app":"a"}`, `"matchLabels":{"app":"b"}`), was), // and does not fit its template any more
		update(with(t, d, `"containerPort":9999`, `"containerPort":99999`), was),
		create(d),
		update(d, object.Record{UID: "00000000-0000-0000-0000-000000000000"}),
		{Action: object.Delete, Key: d.Key, Was: object.Record{UID: was.UID, ResourceVersion: "1"}},
	} {
		if _, err := c.Write(t.Context(), ch); err == nil || isImmutable(err) {
			t.Errorf("%s: got %v, want an error that is not immutable", ch.Action, err)
		}
	}
}

func TestImmutableBelievesTheServerAlone(t *testing.T) {
	group := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	fixed := field.Invalid(field.NewPath("spec", "selector"), "x", "field is immutable")
	good := apierrors.NewInvalid(group, "a", field.ErrorList{fixed})
	if f, ok := Immutable(fmt.Errorf("update: %w", errors.Join(errors.New("x"), good))); f != "spec.selector" || !ok {
		t.Errorf("Immutable(%v): got %q, %v", good, f, ok)
	}
	edited := func(f func(*metav1.Status)) error {
		e := &apierrors.StatusError{ErrStatus: *good.ErrStatus.DeepCopy()}
		f(&e.ErrStatus)
		return e
	}
	for _, err := range []error{
		nil,
		errors.New("spec.selector: field is immutable"),
		edited(func(s *metav1.Status) { s.Code, s.Reason = http.StatusConflict, metav1.StatusReasonConflict }),
		edited(func(s *metav1.Status) { s.Message = `admission webhook "x" denied the request: ` + s.Message }),
		edited(func(s *metav1.Status) { s.Details.Causes = nil }),
		edited(func(s *metav1.Status) { s.Details = nil }),
		edited(func(s *metav1.Status) { s.Details.Causes[0].Type = metav1.CauseTypeFieldValueRequired }),
		edited(func(s *metav1.Status) { s.Details.Causes[0].Field = "metadata.uid" }),
		edited(func(s *metav1.Status) { s.Details.Causes[0].Message = `Invalid value: "field is immutable"` }),
		edited(func(s *metav1.Status) { s.Details.Causes[0].Message = "" }),
		apierrors.NewInvalid(group, "a", field.ErrorList{fixed, field.Required(field.NewPath("spec"), "")}),
		apierrors.NewInvalid(group, "a", field.ErrorList{field.Invalid(field.NewPath("roleRef"), "x", "cannot change roleRef")}),
	} {
		if f, ok := Immutable(err); f != "" || ok {
			t.Errorf("Immutable(%v): got %q, %v", err, f, ok)
		}
	}
}

func TestSomeKindsAreNeverReplaced(t *testing.T) {
	c := hostile(t, answers{})
	for _, k := range []object.Key{
		{Kind: "Namespace", Name: "a"},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "a"},
		{Group: "multicluster.linkerd.io", Kind: "Link", Namespace: "ns", Name: "a"},
	} {
		_, err := c.Write(t.Context(), object.Change{Action: object.Replace, Key: k, Was: object.Record{UID: "u", ResourceVersion: "1"}})
		if !errors.Is(err, errIrreplaceable) {
			t.Errorf("replace %s: got %v, want a refusal", k, err)
		}
	}
}
