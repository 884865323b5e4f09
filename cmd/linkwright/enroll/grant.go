package enroll

import (
	"cmp"
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

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/confine"
	"github.com/linkwright/linkwright/sync/report/output"
)

// admin is a cluster in which an operator may give rights.
type admin struct {
	client *kubernetes.Clientset
}

// openAdmin opens a login; timeout is the limit of one request.
func openAdmin(cfg *rest.Config, timeout time.Duration) (admin, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Timeout = -1, timeout
	client, err := kubernetes.NewForConfig(cfg)
	return admin{client}, err
}

// granting is how rights are given, and where that is reported.
type granting struct {
	cluster api.ClusterName // empty: the management cluster
	force   bool
	writing cli.Writing
	notes   io.Writer
	done    *results
}

func (g granting) where() string { return cmp.Or(string(g.cluster), "the management cluster") }

// fieldManager is the field manager of rights that `cluster add` gave: they are the operator's, and no part of what linkwright prunes.
const fieldManager = "linkwright-cluster-add"

// right is an account, a role or what it needs, as it is to be.
type right struct {
	key              object.Key
	kind, name, path string // path: of the object
	live             found
	head             metav1.PartialObjectMetadata // of the live object
	body             []byte
	is               map[string]any
}

// grant makes what is missing, and changes what is otherwise if it may; else nothing is written at all. After a signal it finishes the write
// that has begun, for which the client has a time limit, and begins no other.
func (o admin) grant(ctx context.Context, objects []any, g granting) error {
	var todo []right
	var others []string
	for _, each := range objects {
		r, err := rightOf(each)
		if err != nil {
			return err
		}
		switch err := o.compare(ctx, &r); {
		case err != nil:
			return fmt.Errorf("read %s %s: %w", r.kind, r.name, explained(err))
		case r.live == theirs && !g.force:
			others = append(others, r.kind+" "+r.name)
		case r.live != same:
			todo = append(todo, r)
		}
	}
	if len(others) > 0 {
		return differing{g.where(), others}
	}
	for _, r := range todo {
		if err := cli.Interrupted(ctx); err != nil {
			return err
		}
		unchecked, err := o.apply(context.WithoutCancel(ctx), r, g.writing.Mode)
		if err != nil {
			return fmt.Errorf("write %s %s: %w", r.kind, r.name, explained(err))
		}
		cli.Say(g.notes, fmt.Sprintf("%s: %s %s %s%s", g.where(), r.kind, r.name, g.writing.Would("written"), unchecked))
		g.done.wrote(output.Write{Cluster: string(g.cluster), Object: r.key}, r.live != missing)
	}
	return nil
}

// differing is the error that others wrote objects otherwise than they are to be.
type differing struct {
	where   string
	objects []string
}

func (d differing) Error() string {
	return fmt.Sprintf("%s: nothing was written, because others wrote %s differently: compare rights with what linkwright rbac prints, and overwrite all of this with --force", d.where, strings.Join(d.objects, ", "))
}

// supported is an account as a cluster can have it: without policies, and so without the rights that need them, where the cluster serves none.
func (a grantee) supported(ctx context.Context, there admin, g granting) (grantee, error) {
	confines, err := there.confines(ctx)
	switch {
	case err != nil:
		return a, fmt.Errorf("list the APIs of %s: %w", g.where(), explained(err))
	case confines:
		return a, there.checkAccountIsFree(ctx, a, g)
	case a.confined:
		cli.Say(g.notes, fmt.Sprintf("warning: %s: the cluster does not serve ValidatingAdmissionPolicy (Kubernetes does from 1.30 on), so only RBAC confines linkwright's account there", g.where()))
	}
	a.confined = false
	return a, nil
}

// checkAccountIsFree says that no policies there confine the same account for another installation: each would deny what the other one writes. This
// installation's own are known by their names.
func (o admin) checkAccountIsFree(ctx context.Context, a grantee, g granting) error {
	live, err := o.client.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) && !a.confined {
		cli.Say(g.notes, fmt.Sprintf("warning: %s: your login may not list validatingadmissionpolicies, so linkwright cannot check whether those of another installation confine the same account", g.where()))
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the admission policies of %s: %w", g.where(), explained(err))
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
		g.where(), strings.Join(others, ", "))
}

// confines says that the cluster serves admission policies.
func (o admin) confines(ctx context.Context) (bool, error) {
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

func (o admin) rest() rest.Interface { return o.client.CoreV1().RESTClient() }

// found says how an object of a right is there.
type found int

const (
	missing found = iota
	same          // as it is to be
	ours          // otherwise, and this command wrote what differs
	theirs        // otherwise, and somebody else wrote what differs
)

// compare compares the object with the live one. Of namespaces and accounts it is enough that they are there.
func (o admin) compare(ctx context.Context, r *right) error {
	raw, err := o.rest().Get().AbsPath(r.path).Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var live map[string]any
	if err := errors.Join(json.Unmarshal(raw, &live), json.Unmarshal(raw, &r.head)); err != nil {
		return err
	}
	r.live = same
	for _, field := range r.fields() {
		switch {
		case reflect.DeepEqual(live[field], r.is[field]):
		case owns(r.head.ManagedFields, field) && (r.kind != "Secret" || !shares(r.head.ManagedFields, field)):
			r.live = max(r.live, ours)
		default:
			r.live = theirs
		}
	}
	return nil
}

// confines says that it is an admission policy, or what has one enforced.
func (r right) confines() bool { return strings.HasPrefix(r.kind, "ValidatingAdmissionPolicy") }

// fields are those of an object that count.
func (r right) fields() []string {
	switch {
	case r.confines():
		return []string{"spec"}
	case r.kind == "Secret":
		return []string{"data"}
	}
	return []string{"rules", "roleRef", "subjects"}
}

// owns says that a field was last written by this command: whoever changes it takes it out of the command's entry.
func owns(entries []metav1.ManagedFieldsEntry, field string) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == fieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.FieldsV1 != nil &&
			strings.Contains(e.FieldsV1.GetRawString(), `"f:`+field+`"`)
	})
}

// shares says that others wrote into a field, too: of a map, each entry has its own manager.
func shares(entries []metav1.ManagedFieldsEntry, field string) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager != fieldManager && e.FieldsV1 != nil && strings.Contains(e.FieldsV1.GetRawString(), `"f:`+field+`"`)
	})
}

// apply writes an object, or has the API server check it in a dry run. What it cannot check yet, because the object's namespace would be
// created first, is no error, and said.
func (o admin) apply(ctx context.Context, r right, mode cli.DryRun) (unchecked string, err error) {
	if mode == cli.DryRunClient {
		return "", nil
	}
	if r.kind == "Secret" && r.live == theirs {
		if err := o.remove(ctx, r, mode); err != nil {
			return "", err
		}
	}
	req := o.rest().Patch(types.ApplyPatchType).AbsPath(r.path).Param("fieldManager", fieldManager).Param("force", "true").Body(r.body)
	if mode == cli.DryRunServer {
		req = req.Param("dryRun", metav1.DryRunAll)
	}
	err = req.Do(ctx).Error()
	if mode == cli.DryRunServer && apierrors.IsNotFound(err) {
		return " (not checked, because its namespace does not exist yet)", nil
	}
	return "", err
}

// remove deletes a Secret that somebody else made, so that none of its keys and managers stay. It deletes no other than the one that was compared.
func (o admin) remove(ctx context.Context, r right, mode cli.DryRun) error {
	d := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.head.UID, ResourceVersion: &r.head.ResourceVersion}}
	if mode == cli.DryRunServer {
		d.DryRun = []string{metav1.DryRunAll}
	}
	err := o.client.CoreV1().Secrets(r.key.Namespace).Delete(ctx, r.key.Name, d)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
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
	r.key = object.Key{Group: group(head.APIVersion), Kind: head.Kind, Namespace: head.Metadata.Namespace, Name: head.Metadata.Name}
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
func (a grantee) mayWrite(ns, secret string) []any {
	return append([]any{namespace(ns)}, a.role(ns, a.name+"-renewal-"+secret, []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{secret}, Verbs: []string{"get", "list", "watch", "patch"}},
	})...)
}
