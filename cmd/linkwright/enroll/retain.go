package enroll

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	verbs := []string{"get", "list", "watch", "create", "patch", "delete"}
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
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: retained, Verbs: verbs})
	}
	return retained, nil
}

// secretsIn are the Secrets that rules name.
func secretsIn(rules []rbacv1.PolicyRule) (names []string) {
	for _, r := range rules {
		if slices.Contains(r.Resources, "secrets") {
			names = append(names, r.ResourceNames...)
		}
	}
	return names
}
