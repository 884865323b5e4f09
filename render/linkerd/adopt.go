package linkerd

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// AdoptableObject is an object that Linkerd's own tools made for a link to Target. Legacy: `linkerd multicluster link` made it, and the
// objects of the chart and link-gen replace it.
type AdoptableObject struct {
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

const rbacGroup = "rbac.authorization.k8s.io"

// objectForm is the name and the labels that Linkerd's tools give to objects of one kind for a link.
type objectForm struct {
	group, kind string
	name        func(api.ClusterName) string
	labels      map[string]string // beside that of the target
	targetLabel string            // the label whose value is the target; empty: ClusterNameLabel; "-": none
	check       func(liveObject, api.ClusterName) bool
	scope       scope
	legacy      bool
}

type scope uint8

const (
	inMulticluster scope = iota
	inControlPlane
	clusterWide
)

// objectForms is the table of what may be adopted (linkerd2 multicluster/charts/linkerd-multicluster/templates/controller,
// multicluster/cmd/link-gen.go, multicluster/charts/linkerd-multicluster-link). The ClusterRole of the legacy set is not in it: to
// label it an account must hold all its rights, and without its binding it grants nothing.
func objectForms() []objectForm {
	current := map[string]string{ExtensionLabel: Extension, ComponentLabel: Component}
	legacy := map[string]string{ExtensionLabel: Extension, ComponentLabel: legacyComponent}
	probe := map[string]string{ExtensionLabel: Extension, GatewayLabel: "true"}
	named := func(target api.ClusterName) string { return string(target) }
	return []objectForm{
		{group: Group, kind: "Link", name: named, targetLabel: "-", check: linksTo},
		{kind: "Secret", name: Credentials, targetLabel: "-", check: isCredential},
		{kind: "Secret", name: Credentials, targetLabel: RemoteClusterLabel, check: isCredential, scope: inControlPlane},
		{group: "apps", kind: "Deployment", name: Controller, labels: current},
		{kind: "ServiceAccount", name: Controller, labels: current},
		{kind: "Service", name: ProbeService, labels: probe},
		{group: rbacGroup, kind: "Role", name: ReadCredentials, labels: current},
		{group: rbacGroup, kind: "RoleBinding", name: ReadCredentials, labels: current},
		{group: rbacGroup, kind: "RoleBinding", name: sharedBinding, labels: current},
		{group: rbacGroup, kind: "ClusterRoleBinding", name: LocalAccess, labels: current, scope: clusterWide},
		{group: "policy", kind: "PodDisruptionBudget", name: Controller, labels: map[string]string{ComponentLabel: Component}, targetLabel: "-"},

		{group: "apps", kind: "Deployment", name: LegacyController, labels: legacy, legacy: true},
		{kind: "ServiceAccount", name: LegacyController, labels: legacy, legacy: true},
		{kind: "Service", name: LegacyProbeService, labels: probe, legacy: true},
		{group: rbacGroup, kind: "Role", name: LegacyReadCredentials, labels: legacy, legacy: true},
		{group: rbacGroup, kind: "RoleBinding", name: LegacyReadCredentials, labels: legacy, legacy: true},
		{group: rbacGroup, kind: "ClusterRoleBinding", name: LegacyLocalAccess, labels: legacy, scope: clusterWide, legacy: true},
		{group: "policy", kind: "PodDisruptionBudget", name: LegacyController, labels: map[string]string{ComponentLabel: LegacyPodComponent}, targetLabel: "-", legacy: true},
	}
}

// liveObject has the fields of an object that show who made it.
type liveObject struct {
	Type     string `json:"type"`
	Metadata struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Target api.ClusterName `json:"targetClusterName"`
	} `json:"spec"`
}

func decodeObject(body object.Body) (o liveObject, ok bool) {
	return o, !body.IsZero() && json.Unmarshal(body.Bytes(), &o) == nil
}

func linksTo(o liveObject, target api.ClusterName) bool { return o.Spec.Target == target }

func isCredential(o liveObject, _ api.ClusterName) bool { return o.Type == KubeconfigSecretType }

// BelongsTo decides by its name alone whether an object belongs to a link to target; false: it does not.
func BelongsTo(l api.Linkerd, k object.Key, target api.ClusterName) (AdoptableObject, bool) {
	for _, f := range objectForms() {
		if f.hasKey(l, k, target) {
			return AdoptableObject{target, f.legacy}, true
		}
	}
	return AdoptableObject{}, false
}

// Adoptable reports whether Linkerd's own tools made an object for a link to target: by its name and labels, and if those
// tools set no labels, by its content. Body is its metadata; for a Link or a Secret it is the whole object.
func Adoptable(l api.Linkerd, k object.Key, body object.Body, target api.ClusterName) (AdoptableObject, bool) {
	o, ok := decodeObject(body)
	for _, f := range objectForms() {
		if ok && f.hasKey(l, k, target) && f.matches(o, target) {
			return AdoptableObject{target, f.legacy}, true
		}
	}
	return AdoptableObject{}, false
}

func (f objectForm) hasKey(l api.Linkerd, k object.Key, target api.ClusterName) bool {
	ns := [...]string{inMulticluster: l.MulticlusterNamespace, inControlPlane: l.Namespace, clusterWide: ""}[f.scope]
	return k == object.Key{Group: f.group, Kind: f.kind, Namespace: ns, Name: f.name(target)}
}

func (f objectForm) matches(o liveObject, target api.ClusterName) bool {
	return len(f.missing(o, target)) == 0 && (f.check == nil || f.check(o, target))
}

// missing returns the labels of the form that an object lacks, as name=value, sorted.
func (f objectForm) missing(o liveObject, target api.ClusterName) (out []string) {
	want := maps.Clone(f.labels)
	if label := cmp.Or(f.targetLabel, ClusterNameLabel); label != "-" {
		if want == nil {
			want = map[string]string{}
		}
		want[label] = string(target)
	}
	for name, value := range want {
		if o.Metadata.Labels[name] != value {
			out = append(out, name+"="+value)
		}
	}
	slices.Sort(out)
	return out
}

// MissingLabels returns the labels, as name=value, without which an object that has the name of a part of a link to target is not
// Adoptable; none if it was not read. Body is at least its metadata.
func MissingLabels(l api.Linkerd, k object.Key, body object.Body, target api.ClusterName) []string {
	o, ok := decodeObject(body)
	for _, f := range objectForms() {
		if ok && f.hasKey(l, k, target) {
			return f.missing(o, target)
		}
	}
	return nil
}

// sharedKeys are the keys of what a source's shared controller consists of.
func sharedKeys(l api.Linkerd, owner string) []object.Key {
	ns, name := l.MulticlusterNamespace, Shared(owner)
	return []object.Key{
		{Kind: "ServiceAccount", Namespace: ns, Name: name},
		{Group: "apps", Kind: "Deployment", Namespace: ns, Name: name},
		{Group: "policy", Kind: "PodDisruptionBudget", Namespace: ns, Name: name},
		{Group: rbacGroup, Kind: "ClusterRoleBinding", Name: name},
		{Group: rbacGroup, Kind: "Role", Namespace: ns, Name: name},
		{Group: rbacGroup, Kind: "RoleBinding", Namespace: ns, Name: name},
	}
}

// IsShared reports whether an object has the name of a part of a source's shared controller, and the labels that linkwright gives such a part. Body is
// at least its metadata.
func IsShared(l api.Linkerd, owner string, k object.Key, body object.Body) (named, labelled bool) {
	o, _ := decodeObject(body)
	labels := o.Metadata.Labels
	return slices.Contains(sharedKeys(l, owner), k), labels[ExtensionLabel] == Extension && labels[ComponentLabel] == Component
}

// AdoptWatches are the watches in a source that Adoptable needs for links to targets, and IsShared for the controller that they may share.
func AdoptWatches(l api.Linkerd, owner string, targets []api.ClusterName) []object.Watch {
	type kind struct{ group, kind, ns string }
	names := map[kind][]string{}
	var order []kind
	for _, f := range objectForms() {
		k := kind{f.group, f.kind, [...]string{inMulticluster: l.MulticlusterNamespace, inControlPlane: l.Namespace, clusterWide: ""}[f.scope]}
		if names[k] == nil {
			order = append(order, k)
		}
		for _, t := range targets {
			names[k] = append(names[k], f.name(t))
		}
	}
	for _, k := range sharedKeys(l, owner) {
		of := kind{k.Group, k.Kind, k.Namespace}
		names[of] = append(names[of], k.Name)
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
	o, _ := decodeObject(body)
	return o.Metadata.Labels[object.OwnerLabel]
}

// Tool is a GitOps tool that manages an object: its name, its own object for it, and how a user makes it leave the
// object alone; zero: none.
type Tool struct{ Name, Of, Leave string }

// IsZero reports whether there is none.
func (t Tool) IsZero() bool { return t == Tool{} }

// instanceLabel is the only mark of Argo CD until 2.x, by default. Helm charts set it, too.
const instanceLabel = "app.kubernetes.io/instance"

// argoManagers are the field managers by which Argo CD applies (argoproj/argo-cd, common.ArgoCDSSAManager; the latter that of
// its older releases).
func argoManagers() []string { return []string{"argocd-controller", "argocd-application-controller"} }

// ToolOf reads the marks of Argo CD and Flux in an object's metadata. The label that Argo CD shares with charts counts only if
// Argo CD is one of the object's field managers.
func ToolOf(body object.Body, live object.Record) Tool {
	o, _ := decodeObject(body)
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

// ReleaseOf is the Helm release that an object belongs to; zero: none.
func ReleaseOf(body object.Body) Helm {
	o, _ := decodeObject(body)
	if o.Metadata.Labels[HelmManagedBy] != HelmManager {
		return Helm{}
	}
	return Helm{o.Metadata.Annotations[HelmName], o.Metadata.Annotations[HelmNamespace]}
}
