package enroll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/render/confine"
)

// office is a cluster in which an operator may give rights.
type office struct {
	client *kubernetes.Clientset
}

func openOffice(cfg *rest.Config) (office, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Timeout = -1, 15*time.Second
	client, err := kubernetes.NewForConfig(cfg)
	return office{client}, err
}

// granting is how rights are given, and where that is told.
type granting struct {
	where string
	force bool
	notes io.Writer
}

// clerk is the field manager of rights that `cluster add` gave: they are the operator's, and no part of what linkwright prunes.
const clerk = "linkwright-cluster-add"

// right is an account, a role or what it needs, as it is to be.
type right struct {
	kind, name, path string // path: of the object
	body             []byte
	is               map[string]any
}

// grant makes what is missing, and changes what is otherwise if it may; else nothing is written at all.
func (o office) grant(ctx context.Context, objects []any, g granting) error {
	var todo []right
	var others []string
	for _, each := range objects {
		r, err := rightOf(each)
		if err != nil {
			return err
		}
		live, err := o.has(ctx, r)
		switch {
		case err != nil:
			return fmt.Errorf("read %s %s: %w", r.kind, r.name, explained(err))
		case live == theirs && !g.force:
			others = append(others, r.kind+" "+r.name)
		case live != same:
			todo = append(todo, r)
		}
	}
	if len(others) > 0 {
		return fmt.Errorf("%s: nothing was written, because others wrote %s with different rights: compare them with what linkwright rbac prints, and overwrite them with --force", g.where, strings.Join(others, ", "))
	}
	for _, r := range todo {
		if err := o.apply(ctx, r); err != nil {
			return fmt.Errorf("write %s %s: %w", r.kind, r.name, explained(err))
		}
		cli.Say(g.notes, fmt.Sprintf("%s: %s %s written", g.where, r.kind, r.name))
	}
	return nil
}

// fit is an account as a cluster can have it: without policies, and so without the rights that need them, where the cluster serves none.
func (a grantee) fit(ctx context.Context, there office, g granting) (grantee, error) {
	confines, err := there.confines(ctx)
	switch {
	case err != nil:
		return a, fmt.Errorf("list the APIs of %s: %w", g.where, explained(err))
	case confines:
		return a, there.alone(ctx, a, g)
	case a.confined:
		cli.Say(g.notes, fmt.Sprintf("warning: %s: the cluster does not serve ValidatingAdmissionPolicy (Kubernetes does from 1.30 on), so only RBAC confines linkwright's account there", g.where))
	}
	a.confined = false
	return a, nil
}

// alone says that no policies there confine the same account for another installation: each would deny what the other one writes. This
// installation's own are known by their names.
func (o office) alone(ctx context.Context, a grantee, g granting) error {
	live, err := o.client.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) && !a.confined {
		cli.Say(g.notes, fmt.Sprintf("warning: %s: your login may not list validatingadmissionpolicies, so linkwright cannot check whether those of another installation confine the same account", g.where))
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the admission policies of %s: %w", g.where, explained(err))
	}
	about := confine.Account{Namespace: a.namespace, Name: a.account}.Condition()
	var others []string
	for _, p := range live.Items {
		if !strings.HasPrefix(p.Name, a.name+".") && slices.ContainsFunc(p.Spec.MatchConditions, func(c admissionv1.MatchCondition) bool { return c.Expression == about }) {
			others = append(others, p.Name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("%s: policies of another installation confine the same account, and each would deny what the other one writes: %s: give this one its own account with --account, or, if that installation is gone, delete these policies and the bindings of the same names",
		g.where, strings.Join(others, ", "))
}

// confines says that the cluster serves admission policies.
func (o office) confines(ctx context.Context) (bool, error) {
	raw, err := o.rest().Get().AbsPath("/apis", admissionv1.SchemeGroupVersion.String()).Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var served metav1.APIResourceList
	err = json.Unmarshal(raw, &served)
	return slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == "validatingadmissionpolicies" }), err
}

func (o office) rest() rest.Interface { return o.client.CoreV1().RESTClient() }

// found says how an object of a right is there.
type found int

const (
	missing found = iota
	same          // as it is to be
	ours          // otherwise, and this command wrote what differs
	theirs        // otherwise, and somebody else wrote what differs
)

// has looks for the object. Of namespaces and accounts it is enough that they are there.
func (o office) has(ctx context.Context, r right) (found, error) {
	raw, err := o.rest().Get().AbsPath(r.path).Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		return missing, nil
	}
	if err != nil {
		return missing, err
	}
	var live map[string]any
	var head metav1.PartialObjectMetadata
	if err := errors.Join(json.Unmarshal(raw, &live), json.Unmarshal(raw, &head)); err != nil {
		return missing, err
	}
	how := same
	for _, field := range r.fields() {
		switch {
		case reflect.DeepEqual(live[field], r.is[field]):
		case owns(head.ManagedFields, field):
			how = max(how, ours)
		default:
			how = theirs
		}
	}
	return how, nil
}

// confines says that it is an admission policy, or what has one enforced.
func (r right) confines() bool { return strings.HasPrefix(r.kind, "ValidatingAdmissionPolicy") }

// fields are those of an object that count.
func (r right) fields() []string {
	if r.confines() {
		return []string{"spec"}
	}
	return []string{"rules", "roleRef", "subjects"}
}

// owns says that a field was last written by this command: whoever changes it takes it out of the command's entry.
func owns(entries []metav1.ManagedFieldsEntry, field string) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == clerk && e.Operation == metav1.ManagedFieldsOperationApply && e.FieldsV1 != nil &&
			strings.Contains(e.FieldsV1.GetRawString(), `"f:`+field+`"`)
	})
}

func (o office) apply(ctx context.Context, r right) error {
	return o.rest().Patch(types.ApplyPatchType).AbsPath(r.path).
		Param("fieldManager", clerk).Param("force", "true").Body(r.body).Do(ctx).Error()
}

func rightOf(o any) (right, error) {
	r := right{}
	var err error
	if r.body, err = json.Marshal(o); err != nil {
		return right{}, err
	}
	if err := json.Unmarshal(r.body, &r.is); err != nil {
		return right{}, err
	}
	var head struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
	}
	if err := json.Unmarshal(r.body, &head); err != nil {
		return right{}, err
	}
	r.kind, r.name = head.Kind, head.Metadata.Name
	path := []string{"/apis", head.APIVersion}
	if head.APIVersion == "v1" {
		path[0] = "/api"
	}
	if head.Metadata.Namespace != "" {
		r.name = head.Metadata.Namespace + "/" + head.Metadata.Name
		path = append(path, "namespaces", head.Metadata.Namespace)
	}
	plural, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind))
	r.path = strings.Join(append(path, plural.Resource, head.Metadata.Name), "/")
	return r, nil
}

// mayRenew is the right to ask for tokens of the account, and of no other.
func (a grantee) mayRenew() []any {
	return a.role(a.namespace, a.name+"-renewal", []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{a.account}, Verbs: []string{"create"}},
	})
}

// mayWrite is the right to read one access Secret of the management cluster, and to write a token into it.
func (a grantee) mayWrite(home, secret string) []any {
	return append([]any{namespace(home)}, a.role(home, a.name+"-renewal-"+secret, []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{secret}, Verbs: []string{"get", "list", "watch", "patch"}},
	})...)
}
