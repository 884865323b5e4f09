package linkerd

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Found is an object that Linkerd's own tools made for a link to Target. Legacy: `linkerd multicluster link` made it, and what
// the chart and link-gen make takes its place.
type Found struct {
	Target api.ClusterName
	Legacy bool
}

// Labels of the older set (linkerd2 multicluster/charts/linkerd-multicluster-link).
const (
	legacyComponent = "service-mirror"
	// LegacyPodComponent is what its pods carry.
	LegacyPodComponent = "linkerd-service-mirror"
)

// LegacyLocalAccess is the name of its ClusterRole, one for each link, and of the binding to that.
func LegacyLocalAccess(target api.ClusterName) string {
	return "linkerd-service-mirror-access-local-resources-" + string(target)
}

// LegacyReadCredentials is the name of its Role and RoleBinding.
func LegacyReadCredentials(target api.ClusterName) string {
	return "linkerd-service-mirror-read-remote-creds-" + string(target)
}

const rbac = "rbac.authorization.k8s.io"

// form is how objects of one kind are called and labelled for a link. Some carry a label that counts but no other.
type form struct {
	group, kind string
	name        func(api.ClusterName) string
	labels      map[string]string // beside that of the target, which is ClusterNameLabel unless by says otherwise
	by          string            // "-": none
	proof       func(madeObject, api.ClusterName) bool
	place       place
	legacy      bool
}

type place uint8

const (
	inMulticluster place = iota
	inControlPlane
	clusterWide
)

// forms is the table of what may be taken over (linkerd2 multicluster/charts/linkerd-multicluster/templates/controller,
// multicluster/cmd/link-gen.go, multicluster/charts/linkerd-multicluster-link). The older set's ClusterRole is not in it: to
// mark it one must hold all its rights, and once its binding is gone it gives nobody any.
func forms() []form {
	part := map[string]string{ExtensionLabel: Extension, ComponentLabel: Component}
	old := map[string]string{ExtensionLabel: Extension, ComponentLabel: legacyComponent}
	probe := map[string]string{ExtensionLabel: Extension, GatewayLabel: "true"}
	named := func(target api.ClusterName) string { return string(target) }
	return []form{
		{group: Group, kind: "Link", name: named, by: "-", proof: linksTo},
		{kind: "Secret", name: Credentials, by: "-", proof: isCredential},
		{kind: "Secret", name: Credentials, by: RemoteClusterLabel, proof: isCredential, place: inControlPlane},
		{group: "apps", kind: "Deployment", name: Controller, labels: part},
		{kind: "ServiceAccount", name: Controller, labels: part},
		{kind: "Service", name: ProbeService, labels: probe},
		{group: rbac, kind: "Role", name: ReadCredentials, labels: part},
		{group: rbac, kind: "RoleBinding", name: ReadCredentials, labels: part},
		{group: rbac, kind: "ClusterRoleBinding", name: LocalAccess, labels: part, place: clusterWide},
		{group: "policy", kind: "PodDisruptionBudget", name: Controller, labels: map[string]string{ComponentLabel: Component}, by: "-"},

		{group: "apps", kind: "Deployment", name: LegacyController, labels: old, legacy: true},
		{kind: "ServiceAccount", name: LegacyController, labels: old, legacy: true},
		{kind: "Service", name: LegacyProbeService, labels: probe, legacy: true},
		{group: rbac, kind: "Role", name: LegacyReadCredentials, labels: old, legacy: true},
		{group: rbac, kind: "RoleBinding", name: LegacyReadCredentials, labels: old, legacy: true},
		{group: rbac, kind: "ClusterRoleBinding", name: LegacyLocalAccess, labels: old, place: clusterWide, legacy: true},
		{group: "policy", kind: "PodDisruptionBudget", name: LegacyController, labels: map[string]string{ComponentLabel: LegacyPodComponent}, by: "-", legacy: true},
	}
}

// madeObject is what of an object tells whose it is.
type madeObject struct {
	Type     string `json:"type"`
	Metadata struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Target api.ClusterName `json:"targetClusterName"`
	} `json:"spec"`
}

func liveOf(body object.Body) (o madeObject, ok bool) {
	return o, !body.IsZero() && json.Unmarshal(body.Bytes(), &o) == nil
}

func linksTo(o madeObject, target api.ClusterName) bool { return o.Spec.Target == target }

func isCredential(o madeObject, _ api.ClusterName) bool { return o.Type == KubeconfigSecretType }

// Called tells by its name alone which link to target an object would belong to; false: to none.
func Called(l api.Linkerd, k object.Key, target api.ClusterName) (Found, bool) {
	for _, f := range forms() {
		if f.fits(l, k, target) {
			return Found{target, f.legacy}, true
		}
	}
	return Found{}, false
}

// Adoptable reports whether Linkerd's own tools made an object for a link to target: by its name and its labels, and where those
// tools set none, by what it holds. Body is its metadata; of a Link and of a Secret all of it.
func Adoptable(l api.Linkerd, k object.Key, body object.Body, target api.ClusterName) (Found, bool) {
	o, ok := liveOf(body)
	for _, f := range forms() {
		if ok && f.fits(l, k, target) && f.shows(o, target) {
			return Found{target, f.legacy}, true
		}
	}
	return Found{}, false
}

func (f form) fits(l api.Linkerd, k object.Key, target api.ClusterName) bool {
	ns := [...]string{inMulticluster: l.MulticlusterNamespace, inControlPlane: l.Namespace, clusterWide: ""}[f.place]
	return k == object.Key{Group: f.group, Kind: f.kind, Namespace: ns, Name: f.name(target)}
}

func (f form) shows(o madeObject, target api.ClusterName) bool {
	for name, value := range f.labels {
		if o.Metadata.Labels[name] != value {
			return false
		}
	}
	if by := cmp.Or(f.by, ClusterNameLabel); by != "-" && o.Metadata.Labels[by] != string(target) {
		return false
	}
	return f.proof == nil || f.proof(o, target)
}

// AdoptWatches are looks at a source that let Adoptable tell, for links to targets: deeper ones at what is looked at anyway,
// and some at what is not.
func AdoptWatches(l api.Linkerd, targets []api.ClusterName) []object.Watch {
	type kind struct{ group, kind, ns string }
	names := map[kind][]string{}
	var order []kind
	for _, f := range forms() {
		k := kind{f.group, f.kind, [...]string{inMulticluster: l.MulticlusterNamespace, inControlPlane: l.Namespace, clusterWide: ""}[f.place]}
		if names[k] == nil {
			order = append(order, k)
		}
		for _, t := range targets {
			names[k] = append(names[k], f.name(t))
		}
	}
	var out []object.Watch
	for _, k := range order {
		w := object.Watch{Group: k.group, Version: "v1", Kind: k.kind, Namespace: k.ns, Names: names[k], Depth: object.Metadata}
		switch k.kind {
		case "Link":
			continue // all of them are read whole for facts
		case "Secret":
			w.Depth = object.Whole
		}
		out = append(out, w)
	}
	return out
}

// Owner is the value of the owner label of an object, whoever set it.
func Owner(body object.Body) string {
	o, _ := liveOf(body)
	return o.Metadata.Labels[object.OwnerLabel]
}

// Tool is who else keeps an object as it is: the name of the tool, of its own object for it, and how that is told to leave the
// object alone; zero: nobody who says so.
type Tool struct{ Name, Of, Leave string }

// IsZero reports whether there is none.
func (t Tool) IsZero() bool { return t == Tool{} }

// instanceLabel is what Argo CD marked objects by alone until 2.x, unless told otherwise. Helm's charts set it, too.
const instanceLabel = "app.kubernetes.io/instance"

// argoManagers are the field managers by which Argo CD applies (argoproj/argo-cd, common.ArgoCDSSAManager; the latter that of
// its older releases).
func argoManagers() []string { return []string{"argocd-controller", "argocd-application-controller"} }

// ToolOf reads the marks of Argo CD and Flux in an object's metadata, and of live who wrote it: the label that Argo CD shares
// with charts counts only where it did.
func ToolOf(body object.Body, live object.Record) Tool {
	o, _ := liveOf(body)
	labels, annotations := o.Metadata.Labels, o.Metadata.Annotations
	instance := labels["argocd.argoproj.io/instance"]
	if instance == "" && live.WrittenBy(argoManagers()...) {
		instance = labels[instanceLabel]
	}
	join := func(prefix string) string { return labels[prefix+"namespace"] + "/" + labels[prefix+"name"] }
	switch {
	case labels["helm.toolkit.fluxcd.io/name"] != "":
		return Tool{"Flux", "HelmRelease " + join("helm.toolkit.fluxcd.io/"), "remove the link from `controllers` in its values; adopt sets helm.sh/resource-policy: keep, so Helm does not delete the object"}
	case labels["kustomize.toolkit.fluxcd.io/name"] != "":
		return Tool{"Flux", "Kustomization " + join("kustomize.toolkit.fluxcd.io/"), "annotate it there with kustomize.toolkit.fluxcd.io/prune: disabled, and then remove it"}
	case annotations["argocd.argoproj.io/tracking-id"] != "" || instance != "":
		app, _, _ := strings.Cut(annotations["argocd.argoproj.io/tracking-id"], ":")
		return Tool{"Argo CD", "Application " + cmp.Or(app, instance), "annotate it there with argocd.argoproj.io/sync-options: Prune=false, and then remove it"}
	}
	return Tool{}
}

// ReleaseOf is the release of Helm's that an object belongs to; zero: none.
func ReleaseOf(body object.Body) Helm {
	o, _ := liveOf(body)
	if o.Metadata.Labels[HelmManagedBy] != HelmManager {
		return Helm{}
	}
	return Helm{o.Metadata.Annotations[HelmName], o.Metadata.Annotations[HelmNamespace]}
}
