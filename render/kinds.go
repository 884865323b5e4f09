package render

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

const rbacGroup = "rbac.authorization.k8s.io"

// Kind is a kind that ends hold, with the version in which linkwright writes it.
type Kind struct {
	Group, Kind, Version string
	Scope                Scope
}

// Scope is where objects of a kind are.
type Scope uint8

// Scopes.
const (
	Multicluster Scope = 1 << iota // in Linkerd's multicluster namespace
	Access                         // in object.AccessNamespace
	ClusterWide
)

// Kinds lists every kind that ends hold. Watches follow from it: an object of a kind that is
// not here would never be pruned.
func Kinds() []Kind {
	return []Kind{
		{"", "Secret", "v1", Multicluster | Access},
		{"", "Service", "v1", Multicluster},
		{"", "ServiceAccount", "v1", Multicluster | Access},
		{"apps", "Deployment", "v1", Multicluster},
		{linkerd.Group, "Link", linkerd.LinkVersion, Multicluster},
		{"policy", "PodDisruptionBudget", "v1", Multicluster},
		{rbacGroup, "ClusterRoleBinding", "v1", ClusterWide},
		{rbacGroup, "Role", "v1", Multicluster},
		{rbacGroup, "RoleBinding", "v1", Multicluster},
	}
}

// VersionOf returns the version in which a kind is read, or the empty string for a kind that no end holds.
func VersionOf(group, kind string) string {
	for _, k := range Kinds() {
		if k.Group == group && k.Kind == kind {
			return k.Version
		}
	}
	return ""
}

// Watches lists what to read in a cluster to see all objects that ends hold, and all that have their names: whole kinds, without a
// label selector. Links are among linkerd.Watches. The control plane's secrets are named one by one, because the issuer's key is
// among the others.
func Watches(l api.Linkerd, targets []api.ClusterName) []object.Watch {
	var out []object.Watch
	for _, k := range Kinds() {
		w := object.Watch{Group: k.Group, Kind: k.Kind, Version: k.Version, Health: k.Kind == "Deployment"}
		if k.Scope&Multicluster != 0 && k.Kind != "Link" {
			w.Namespace = l.MulticlusterNamespace
			out = append(out, w)
		}
		if k.Scope&Access != 0 {
			w.Namespace = object.AccessNamespace
			if k.Kind == "Secret" {
				w.Depth = object.Whole // tokens
			}
			out = append(out, w)
		}
		if k.Scope&ClusterWide != 0 {
			w.Namespace = ""
			out = append(out, w)
		}
	}
	if len(targets) > 0 {
		names := make([]string, len(targets))
		for i, t := range targets {
			names[i] = linkerd.Credentials(t)
		}
		out = append(out, object.Watch{Version: "v1", Kind: "Secret", Namespace: l.Namespace, Names: names, Depth: object.Metadata})
	}
	return out
}
