// Package rights lists the rights that an account needs in a cluster.
package rights

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// Rules are those of RBAC by namespace, in a fixed order; those of the namespace "" are for the whole cluster.
type Rules map[string][]rbacv1.PolicyRule

// Duty is what an account has rights for.
type Duty string

// Duties.
const (
	Reading Duty = "reading" // what is needed to tell how all stands
	Writing Duty = "writing" // that, and all that steps write but for ReportingStatus and Sweeping
	// ReportingStatus has Linkerd's destination controller start again with a credential that changed. RBAC grants that by the right to change all of its
	// Deployment, so it is for accounts that admission policies confine.
	ReportingStatus Duty = "reporting status"
	// Restarting has linkwright restart workloads with outdated proxies, where that is declared. RBAC grants it by the right to change all of them, and
	// to create pods, so it is for accounts that admission policies confine.
	Restarting Duty = "restarting"
	Sweeping   Duty = "sweeping" // taking away mirrors that Linkerd's controllers leave, in all namespaces
	// Wide is Writing with all Secrets of the control plane's namespace: those for clusters that are not declared yet, and with
	// them the key of Linkerd's issuer. RBAC grants by names that are known, or all.
	Wide Duty = "writing, wide"
)

// For returns what an account needs in a cluster for some duties, and nothing more: from what is watched there and what ends hold. Only what the
// fleet declares is known here, not what former declarations left.
func For(w state.Snapshot, c fleet.Cluster, r plan.Renderer, duties ...Duty) (Rules, error) {
	g := ruleSet{rules: map[resource][]string{}}
	for _, d := range duties {
		switch d {
		case ReportingStatus:
			if reported := linkerd.Destination(c.Spec.Linkerd); len(w.Discovering(c.Name)) > 0 || slices.Contains(duties, Wide) {
				g.grant(resource{reported.Namespace, reported.Group, reported.Kind, reported.Name}, "patch")
			}
		case Restarting:
			g.restarts(c)
		case Sweeping:
			g.grant(resource{kind: "Service"}, "get", "patch", "delete")
			g.grant(resource{kind: "Endpoints"}, "get", "delete")
		default:
			if err := g.grantAll(w, c, r, d); err != nil {
				return nil, err
			}
		}
	}
	return g.all(), nil
}

// grantAll grants what reading or writing needs.
func (g ruleSet) grantAll(w state.Snapshot, c fleet.Cluster, r plan.Renderer, d Duty) error {
	watches, err := plan.Watches(w, c, r, object.Observation{})
	if err != nil {
		return err
	}
	for _, one := range watches {
		g.grantRead(one)
	}
	kinds := g.kindsHeld(w, c, r)
	for _, t := range kinds {
		g.grant(t, "get") // a diff asks for single ones again
	}
	if d == Writing || d == Wide {
		g.writes(c, kinds)
		g.controlPlane(w, c, d == Wide)
	}
	return nil
}

// Sweeps reports whether links from a cluster need Sweeping in their ordinary life: linkwright takes members out of federated Services, and nobody
// may be there to take the mirrors of an External link away. Other links need it only if their controller does not do that in time.
func Sweeps(w state.Snapshot, c fleet.Cluster) bool {
	_, out, _ := w.Declared(c.Name)
	return slices.ContainsFunc(out, func(l fleet.Link) bool {
		return l.Spec.Controller.Mode == api.External || l.Spec.Federates()
	})
}

// resource is what rules are about; names are sorted and joined.
type resource struct{ namespace, group, kind, names string }

type ruleSet struct{ rules map[resource][]string } // verbs

func (g ruleSet) grant(t resource, verbs ...string) {
	g.rules[t] = append(g.rules[t], verbs...)
}

func (g ruleSet) grantWrite(t resource) { g.grant(t, "create", "patch", "delete") }

func (g ruleSet) grantRead(w object.Watch) {
	names := slices.Sorted(slices.Values(w.Names))
	t := resource{w.Namespace, w.Group, w.Kind, strings.Join(names, ",")}
	switch {
	case len(names) > 0:
		g.grant(t, "get", "list", "watch")
	default:
		g.grant(t, "list", "watch")
	}
}

// kindsHeld returns the kinds that ends hold in the cluster, and those that its overlay brings in.
func (g ruleSet) kindsHeld(w state.Snapshot, c fleet.Cluster, r plan.Renderer) (out []resource) {
	for _, k := range render.Kinds() {
		for scope, namespace := range map[render.Scope]string{
			render.Multicluster: c.Spec.Linkerd.MulticlusterNamespace, render.Access: object.AccessNamespace, render.ClusterWide: "",
		} {
			if k.Scope&scope != 0 {
				out = append(out, resource{namespace: namespace, group: k.Group, kind: k.Kind})
			}
		}
	}
	for _, e := range plan.Extras(w, c, r) {
		out = append(out, resource{namespace: e.Namespace, group: e.Group, kind: e.Kind})
	}
	return out
}

func (g ruleSet) writes(c fleet.Cluster, kinds []resource) {
	for _, t := range kinds {
		g.grantWrite(t)
	}
	g.grantWrite(resource{namespace: object.AccessNamespace, kind: inventory.Watch().Kind})
	roles := []string{linkerd.LocalAccessRole, linkerd.RemoteAccessRole}
	slices.Sort(roles)
	g.grant(resource{"", rbacv1.GroupName, "ClusterRole", strings.Join(roles, ",")}, "bind")
	mc := c.Spec.Linkerd.MulticlusterNamespace
	if len(c.Values) > 0 {
		config := linkerd.ConfigKey(c.Spec.Linkerd)
		g.grant(resource{config.Namespace, config.Group, config.Kind, config.Name}, "patch")
	}
	g.grant(resource{namespace: mc, group: "coordination.k8s.io", kind: "Lease"}, "get", "delete")
	g.grant(resource{namespace: mc, kind: "Endpoints"}, "get", "delete") // the probe's: they outlive its Service
	// Held only to be granted, without escalate, to the controllers of links; and what issues tokens of accounts of linkwright. All but the control
	// plane's Secrets is granted ahead of the first link.
	g.grant(resource{namespace: mc, group: linkerd.Group, kind: "Link/status"}, "update", "patch")
	g.grant(resource{namespace: mc, group: "coordination.k8s.io", kind: "Lease"}, "create", "update", "patch")
	g.grant(resource{namespace: object.AccessNamespace, kind: "ServiceAccount/token"}, "create")
}

// restarts adds what a rollout needs, if one is declared for the cluster.
func (g ruleSet) restarts(c fleet.Cluster) {
	if c.Rollout == nil {
		return
	}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		g.grant(resource{group: "apps", kind: kind}, "list", "watch", "patch")
	}
	if c.Rollout.ArgoRollouts {
		g.grant(resource{group: "argoproj.io", kind: "Rollout"}, "list", "watch", "patch")
	}
	g.grant(resource{group: "policy", kind: "PodDisruptionBudget"}, "list", "watch")
	g.grant(resource{kind: "Namespace"}, "list", "watch")
	g.grant(resource{kind: "Pod"}, "list")
	g.grant(resource{kind: "Event"}, "create")
	g.grant(resource{namespace: object.AccessNamespace, kind: inventory.Watch().Kind}, "get", "patch")
	if c.Rollout.Detection == api.DetectByDryRun {
		g.grant(resource{kind: "Pod"}, "create")
	}
}

// controlPlane adds the Secrets of the control plane's namespace, by name or, if wide, all of them, and a watch of the Deployment that is told of their
// changes.
func (g ruleSet) controlPlane(w state.Snapshot, c fleet.Cluster, wide bool) {
	var names []string
	for _, name := range w.Discovering(c.Name) {
		names = append(names, linkerd.Credentials(name))
	}
	if slices.Sort(names); len(names) == 0 && !wide {
		return
	}
	secrets := resource{c.Spec.Linkerd.Namespace, "", "Secret", strings.Join(names, ",")}
	if wide {
		secrets.names = ""
		g.grant(secrets, "get", "list", "watch")
	}
	g.grantWrite(secrets)
	reported := linkerd.Destination(c.Spec.Linkerd)
	g.grant(resource{reported.Namespace, reported.Group, reported.Kind, reported.Name}, "get", "list", "watch")
}

// all puts what has the same verbs into one rule.
func (g ruleSet) all() Rules {
	type alike struct{ namespace, group, names, verbs string }
	resources := map[alike][]string{}
	for t, verbs := range g.rules {
		if g.covered(t, verbs) {
			continue
		}
		verbs = slices.SortedFunc(slices.Values(verbs), func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
		a := alike{t.namespace, t.group, t.names, strings.Join(slices.Compact(verbs), ",")}
		resources[a] = append(resources[a], resourceOf(t))
	}
	out := Rules{}
	for _, a := range slices.SortedFunc(maps.Keys(resources), func(a, b alike) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(slices.Min(resources[a]), slices.Min(resources[b])), cmp.Compare(a.names, b.names))
	}) {
		rule := rbacv1.PolicyRule{APIGroups: []string{a.group}, Resources: slices.Sorted(slices.Values(resources[a])), Verbs: strings.Split(a.verbs, ",")}
		if a.names != "" {
			rule.ResourceNames = strings.Split(a.names, ",")
		}
		out[a.namespace] = append(out[a.namespace], rule)
	}
	return out
}

// covered reports whether names add nothing to what is granted of all.
func (g ruleSet) covered(t resource, verbs []string) bool {
	all := t
	all.names = ""
	return t.names != "" && !slices.ContainsFunc(verbs, func(v string) bool { return !slices.Contains(g.rules[all], v) })
}

// rank orders verbs as people write them.
func rank(verb string) int {
	return slices.Index([]string{"get", "list", "watch", "create", "update", "patch", "delete", "bind"}, verb)
}

// resourceOf returns the plural of a kind, as API servers build it, with the subresource.
func resourceOf(t resource) string {
	kind, sub, _ := strings.Cut(t.kind, "/")
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: t.group, Kind: kind})
	return strings.TrimSuffix(plural.Resource+"/"+sub, "/")
}
