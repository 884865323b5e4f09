// Package confine renders the validating admission policies by which linkwright confines its own account. They restrict what RBAC
// cannot: prefixes of names, types and fields.
//
// The operator's login installs them. linkwright's account may not change them.
package confine

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Account is the account that policies confine in one cluster.
type Account struct {
	Owner               string
	Namespace, Name     string // of its ServiceAccount
	ManagementNamespace string // namespace of access Secrets, lease and record, if the cluster is the management cluster, too; empty: Namespace
	Multicluster        string // namespace of links there
	// Images are allowed prefixes of controllers' images beside Linkerd's own. Each ends at the end of a part of an image's name.
	Images []string
}

// prefix is that of a ServiceAccount's name as API servers know it.
const prefix = "system:serviceaccount:"

// User is the account's user name.
func (a Account) User() string { return prefix + a.Namespace + ":" + a.Name }

// Condition is the CEL condition that limits policies to the account's requests.
func (a Account) Condition() string { return "request.userInfo.username == " + quoted(a.User()) }

// Object is a policy, or the binding that enforces it.
type Object struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        Metadata `json:"metadata"`
	Spec            any      `json:"spec"`
}

// Metadata names an object, and has the label of the installation, by which all of them can be deleted.
type Metadata struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
}

// partOf is the label of all policies and bindings of an installation; its value is the installation's field manager.
const partOf = "app.kubernetes.io/part-of"

// Objects are the policies of an account with their bindings, in a fixed order. Each is for requests of this account alone.
func Objects(a Account) (out []Object) {
	for _, f := range []func(Account) rules{
		deployments, statefulSets, daemonSets, argoRollouts, dryRunPods, secrets, accounts, tokens, services, endpoints, clusterRoleBindings, roles, roleBindings, configMaps, leases,
	} {
		r := f(a)
		name := object.Manager(a.Owner) + "." + r.name()
		out = append(out, a.object("ValidatingAdmissionPolicy", name, a.policy(r)), a.object("ValidatingAdmissionPolicyBinding", name,
			admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}))
	}
	return out
}

func (a Account) object(kind, name string, spec any) Object {
	meta := Metadata{name, map[string]string{partOf: object.Manager(a.Owner)}}
	return Object{metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: kind}, meta, spec}
}

// rules are the checks of one policy for one resource.
type rules struct {
	resource  string // group/plural, with the subresource
	verbs     []admissionv1.OperationType
	variables []admissionv1.Variable
	checks    []check
}

// check is a CEL expression that must hold, and the message if it does not.
type check struct{ expression, message string }

// name is that of the resource, fit for the name of an object.
func (r rules) name() string {
	_, plural, _ := strings.Cut(r.resource, "/")
	return strings.ReplaceAll(plural, "/", "-")
}

func (a Account) policy(r rules) admissionv1.ValidatingAdmissionPolicySpec {
	group, plural, _ := strings.Cut(r.resource, "/")
	fail, equivalent, scope := admissionv1.Fail, admissionv1.Equivalent, admissionv1.AllScopes
	spec := admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail,
		MatchConstraints: &admissionv1.MatchResources{
			MatchPolicy: &equivalent, NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: r.verbs,
				Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{plural}, Scope: &scope},
			}}},
		},
		MatchConditions: []admissionv1.MatchCondition{{Name: "linkwright", Expression: a.Condition()}},
		Variables: append([]admissionv1.Variable{
			{Name: "one", Expression: "object == null ? oldObject : object"},
			{Name: "name", Expression: "variables.one.metadata.name"},
		}, r.variables...),
	}
	for _, c := range r.checks {
		spec.Validations = append(spec.Validations, admissionv1.Validation{Expression: c.expression, Message: c.message})
	}
	return spec
}

func written() []admissionv1.OperationType {
	return []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete}
}

// isShared is the CEL expression that an object has the name of the controller that links share.
func (a Account) isShared() string { return "variables.name == " + quoted(linkerd.Shared(a.Owner)) }

// quoted is a literal of CEL.
func quoted(text string) string { return strconv.Quote(text) }

// startsWith is the CEL expression that a text begins with one of some prefixes.
func startsWith(expression string, prefixes ...string) string {
	var out []string
	for _, p := range prefixes {
		out = append(out, fmt.Sprintf("%s.startsWith(%s)", expression, quoted(p)))
	}
	return "(" + strings.Join(out, " || ") + ")"
}

// equalExcept is the CEL expression that two maps are equal except for some keys.
func equalExcept(now, was string, keys ...string) string {
	other := "k == " + quoted(keys[0])
	if len(keys) > 1 {
		other = "k in [" + celList(keys) + "]"
	}
	return fmt.Sprintf("%[1]s.all(k, %[3]s || k in %[2]s && %[1]s[k] == %[2]s[k]) && %[2]s.all(k, %[3]s || k in %[1]s)", now, was, other)
}

// mapOrEmpty is a map of a live object in CEL, empty where it is absent; in is what has it.
func mapOrEmpty(in, field string) string {
	return fmt.Sprintf("%s != null && has(%s.metadata.%s) ? %s.metadata.%s : {}", in, in, field, in, field)
}

// head and oldHead are the metadata of an object now and before, for sameHead.
func head() admissionv1.Variable {
	return admissionv1.Variable{Name: "head", Expression: "dyn(object.metadata)"}
}

func oldHead() admissionv1.Variable {
	return admissionv1.Variable{Name: "oldHead", Expression: "dyn(oldObject.metadata)"}
}

// sameHead is the CEL expression that an update keeps the metadata that people and garbage collection act on.
func sameHead() string { return sameFields("labels", "annotations", "ownerReferences", "finalizers") }

// sameFields is the CEL expression that an update keeps these fields of the metadata.
func sameFields(names ...string) string {
	return "[" + celList(names) + "]" + `.all(k, (k in variables.head) == (k in variables.oldHead) && ` +
		`(!(k in variables.head) || variables.head[k] == variables.oldHead[k]))`
}

// images is the regular expression (RE2) of the images that controllers may run.
func (a Account) images() string {
	var out []string
	for _, p := range append([]string{linkerd.ControllerImage}, a.Images...) {
		if rest, ok := strings.CutSuffix(p, "/"); ok {
			out = append(out, regexp.QuoteMeta(rest)+`/\S*`)
			continue
		}
		out = append(out, regexp.QuoteMeta(p)+`(/\S*|[:@][^/\s]*)?`)
	}
	slices.Sort(out)
	return "^(" + strings.Join(out, "|") + ")$"
}
