package enroll

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// retain keeps in the Role of the control plane's namespace the Secrets that it named before and that are still there: a link that is
// declared no more may not be through, and its Secret can be deleted only by who may do so.
func (o admin) retain(ctx context.Context, ns string, objects []any) (retained []string, err error) {
	i := slices.IndexFunc(objects, func(x any) bool { r, ok := x.(*rbacv1.Role); return ok && r.Namespace == ns })
	if i < 0 {
		return nil, nil
	}
	role := objects[i].(*rbacv1.Role)
	live, err := o.client.RbacV1().Roles(ns).Get(ctx, role.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Role %s/%s: %w", ns, role.Name, explained(err))
	}
	for _, name := range secretsIn(live.Rules) {
		if !strings.HasPrefix(name, linkerd.Credentials("")) || slices.Contains(secretsIn(role.Rules), name) {
			continue
		}
		switch _, err := o.client.CoreV1().Secrets(ns).Get(ctx, name, metav1.GetOptions{}); {
		case err == nil:
			retained = append(retained, name)
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("read Secret %s/%s: %w", ns, name, explained(err))
		}
	}
	if len(retained) > 0 {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: retained, Verbs: removing()})
	}
	return retained, nil
}

// removing are the verbs by which linkwright removes what is not declared any more: it reads it, and deletes it with preconditions. What is declared
// again is granted the rest by linkwright cluster add.
func removing() []string { return []string{"get", "list", "watch", "delete"} }

// secretsIn are the Secrets that rules name.
func secretsIn(rules []rbacv1.PolicyRule) (names []string) {
	for _, r := range rules {
		if slices.Contains(r.Resources, "secrets") {
			names = append(names, r.ResourceNames...)
		}
	}
	return names
}

// recorded returns the objects that the base of a cluster may hold, as its inventory there records them.
func (o admin) recorded(ctx context.Context, owner string, base object.End) ([]object.Key, error) {
	key := inventory.Key(owner, base)
	live, err := o.client.CoreV1().ConfigMaps(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, explained(err))
	}
	body, err := json.Marshal(live)
	if err != nil {
		return nil, err
	}
	observed := object.Observation{}.Edit()
	observed.Put(key, object.Reduce(&live.ObjectMeta, owner), object.NewBody(body))
	inv, _ := inventory.Of(owner, base, observed.Observation())
	return inv.Entries, nil
}

// retainKinds keeps rights on the kinds of what a base still holds and no overlay brings in any more: who may not delete it could not remove it. It
// returns the resources that it adds to the first role of each namespace. linkwright's own account writes the inventory, so an entry is no reason to
// grant it more than an overlay could: mayHold reports whether an overlay may bring in such an object.
func retainKinds(objects []any, recorded []object.Key, mayHold func(object.Key) bool) (retained []string) {
	for _, k := range recorded {
		if !mayHold(k) {
			continue
		}
		rules := rulesIn(objects, k.Namespace)
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: k.Group, Kind: k.Kind})
		grants := func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.APIGroups, k.Group) && slices.Contains(r.Resources, plural.Resource) && len(r.ResourceNames) == 0 && slices.Contains(r.Verbs, "delete")
		}
		if rules == nil || slices.ContainsFunc(*rules, grants) {
			continue
		}
		*rules = append(*rules, rbacv1.PolicyRule{
			APIGroups: []string{k.Group}, Resources: []string{plural.Resource}, Verbs: removing(),
		})
		retained = append(retained, plural.GroupResource().String())
	}
	return retained
}

// rulesIn are those of the first role of a namespace; nil: there is none.
func rulesIn(objects []any, ns string) *[]rbacv1.PolicyRule {
	for _, x := range objects {
		if r, ok := x.(*rbacv1.Role); ok && r.Namespace == ns {
			return &r.Rules
		}
	}
	return nil
}
