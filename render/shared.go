package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsac "k8s.io/client-go/applyconfigurations/apps/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	policyac "k8s.io/client-go/applyconfigurations/policy/v1"
	rbacac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// isShared reports whether the source's shared controller mirrors the link.
func (in Input) isShared() bool { return in.Link.Spec.Controller.Mode == api.Shared || in.StillShared }

// mirrorLabels are those of the Linkerd Link by which the shared controller finds its links. They are on the Link and no arguments of the
// controller, so that a link that comes or goes starts no pod again, and one that leaves is drained.
func (b *builder) mirrorLabels() map[string]string {
	if !b.isShared() {
		return nil
	}
	return map[string]string{linkerd.MirrorLabel: b.owner}
}

func (b *builder) mirrorAnnotations() map[string]string {
	if !b.isShared() || !b.Link.Spec.Controller.Headless {
		return nil
	}
	return map[string]string{linkerd.HeadlessAnnotation: "true"}
}

// sharedBinding lets the shared controller read the link's credential and write the status of its Link.
func sharedBinding(b *builder) {
	key := linkerd.SharedBinding(b.source(), b.target())
	account := object.Key{Kind: "ServiceAccount", Namespace: key.Namespace, Name: linkerd.Shared(b.owner)}
	rb := rbacac.RoleBinding(key.Name, key.Namespace).WithRoleRef(roleRef("Role", linkerd.ReadCredentials(b.target()))).WithSubjects(subject(account))
	bound := b.rightsIdentity(key, &rb.ObjectMetaApplyConfiguration)
	bound.phase = object.PhaseBindings
	b.add(bound, rb)
}

// sharedInput is a cluster whose links share a controller, as the source of a link.
func sharedInput(c fleet.Cluster) Input {
	return Input{Link: fleet.Link{Source: &c, Target: &fleet.Cluster{}, Spec: &api.LinkSpec{Controller: *c.Shared}}}
}

// sharedController renders the controller of all links of a source that are Shared, its account and what it may do in the source for any link.
func sharedController(b *builder) {
	ns, name := b.source().MulticlusterNamespace, linkerd.Shared(b.owner)
	labels := map[string]string{linkerd.ExtensionLabel: linkerd.Extension, linkerd.ComponentLabel: linkerd.Component}
	in := func(group, kind string, phase object.Phase) identity {
		return identity{key: object.Key{Group: group, Kind: kind, Namespace: ns, Name: name}, version: "v1", phase: phase, labels: labels}
	}

	account := in("", "ServiceAccount", object.PhaseRights)
	sa := coreac.ServiceAccount(name, ns)
	account.meta = &sa.ObjectMetaApplyConfiguration
	b.add(account, sa)

	local := in(rbacGroup, "ClusterRoleBinding", object.PhaseRights)
	local.key.Namespace = ""
	crb := rbacac.ClusterRoleBinding(name).WithRoleRef(roleRef("ClusterRole", linkerd.LocalAccessRole)).WithSubjects(subject(account.key))
	local.meta = &crb.ObjectMetaApplyConfiguration
	b.add(local, crb)

	rules := in(rbacGroup, "Role", object.PhaseRights)
	role := rbacac.Role(name, ns).WithRules(
		rule(linkerd.Group, []string{"links"}, "list", "get", "watch"),
		rule("coordination.k8s.io", []string{"leases"}, "create", "get", "update", "patch"),
	)
	rules.meta = &role.ObjectMetaApplyConfiguration
	b.add(rules, role)

	bound := in(rbacGroup, "RoleBinding", object.PhaseBindings)
	rb := rbacac.RoleBinding(name, ns).WithRoleRef(roleRef("Role", name)).WithSubjects(subject(account.key))
	bound.meta = &rb.ObjectMetaApplyConfiguration
	b.add(bound, rb)

	controller := in("apps", "Deployment", object.PhaseControllers)
	c, selector := b.Link.Spec.Controller, map[string]string{linkerd.ComponentLabel: linkerd.Component, linkerd.MirrorLabel: b.owner}
	d := appsac.Deployment(name, ns).WithSpec(workload(c, selector, pod(selector, name, b.sharedContainer()), antiAffinity(linkerd.MirrorLabel, b.owner)))
	controller.meta = &d.ObjectMetaApplyConfiguration
	b.add(controller, d)

	if c.PodAntiAffinity {
		budget := in("policy", "PodDisruptionBudget", object.PhaseControllers)
		p := policyac.PodDisruptionBudget(name, ns).WithSpec(policyac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(1)).WithSelector(matching(selector)))
		budget.meta = &p.ObjectMetaApplyConfiguration
		b.add(budget, p)
	}
}

// sharedContainer runs linkwright mirror. It leaves the source's own members of federated Services to Linkerd's local mirror, which its chart runs.
func (b *builder) sharedContainer() *coreac.ContainerApplyConfiguration {
	c := b.Link.Spec.Controller
	probe := func(path string) *coreac.ProbeApplyConfiguration {
		return coreac.Probe().WithHTTPGet(coreac.HTTPGetAction().WithPath(path).WithPort(intstr.FromString(adminPort)).WithScheme(corev1.URISchemeHTTP)).WithPeriodSeconds(10)
	}
	return confined(c, c.Image, []string{
		"mirror", "--selector=" + linkerd.MirrorLabel + "=" + b.owner, "--multicluster-namespace=" + b.source().MulticlusterNamespace,
		"--local=false", "--log-level=" + mirrorLevel(c.LogLevel),
	}).WithLivenessProbe(probe("/ping")).WithReadinessProbe(probe("/ready"))
}

// mirrorLevel is the log level of linkwright mirror for one of Linkerd's.
func mirrorLevel(l api.LogLevel) string {
	levels := map[api.LogLevel]string{"panic": "error", "fatal": "error", "trace": "debug"}
	if level, other := levels[l]; other {
		return level
	}
	return string(l)
}
