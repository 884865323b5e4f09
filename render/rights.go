package render

import (
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	rbacac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// rights renders the controller's account and what it may do in the source (templates/controller/*.yaml).
func rights(b *builder) {
	ns := b.source().MulticlusterNamespace
	account := object.Key{Kind: "ServiceAccount", Namespace: ns, Name: linkerd.Controller(b.target())}

	sa := coreac.ServiceAccount(account.Name, ns)
	b.add(b.rightsIdentity(account, &sa.ObjectMetaApplyConfiguration), sa)

	name := linkerd.LocalAccess(b.target())
	crb := rbacac.ClusterRoleBinding(name).
		WithRoleRef(roleRef("ClusterRole", linkerd.LocalAccessRole)).WithSubjects(subject(account))
	b.add(b.rightsIdentity(object.Key{Group: rbacGroup, Kind: "ClusterRoleBinding", Name: name}, &crb.ObjectMetaApplyConfiguration), crb)

	name = linkerd.ReadCredentials(b.target())
	role := rbacac.Role(name, ns).WithRules(
		rule("", []string{"secrets"}, "list", "get", "watch").WithResourceNames(b.Link.Spec.SecretFor(b.target())),
		rule(linkerd.Group, []string{"links"}, "list", "get", "watch"),
		rule(linkerd.Group, []string{"links/status"}, "update", "patch"),
		rule("coordination.k8s.io", []string{"leases"}, "create", "get", "update", "patch"),
	)
	b.add(b.rightsIdentity(object.Key{Group: rbacGroup, Kind: "Role", Namespace: ns, Name: name}, &role.ObjectMetaApplyConfiguration), role)

	rb := rbacac.RoleBinding(name, ns).WithRoleRef(roleRef("Role", name)).WithSubjects(subject(account))
	bound := b.rightsIdentity(object.Key{Group: rbacGroup, Kind: "RoleBinding", Namespace: ns, Name: name}, &rb.ObjectMetaApplyConfiguration)
	bound.phase = object.PhaseBindings
	b.add(bound, rb)
}

func rule(group string, resources []string, verbs ...string) *rbacac.PolicyRuleApplyConfiguration {
	return rbacac.PolicyRule().WithAPIGroups(group).WithResources(resources...).WithVerbs(verbs...)
}
