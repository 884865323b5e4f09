package linkerd

import (
	"fmt"
	"slices"
	"testing"
	"unique"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Only what Linkerd's own tools made is adoptable: the name alone, or the labels alone, prove nothing.
func TestAdoptable(t *testing.T) {
	at := api.Linkerd{Namespace: "linkerd", MulticlusterNamespace: "mc"}
	part := `"linkerd.io/extension":"multicluster","component":"controller","mirror.linkerd.io/cluster-name":"east"`
	old := `"linkerd.io/extension":"multicluster","component":"service-mirror","mirror.linkerd.io/cluster-name":"east"`
	probe := `"linkerd.io/extension":"multicluster","mirror.linkerd.io/mirrored-gateway":"true","mirror.linkerd.io/cluster-name":"east"`
	for _, tt := range []struct{ kind, ns, name, labels, rest, want string }{
		{"apps/Deployment", "mc", "controller-east", part, "", "chart"},
		{"apps/Deployment", "mc", "controller-east", `"component":"controller"`, "", "no"},
		{"apps/Deployment", "mc", "controller-west", part, "", "no"},
		{"apps/Deployment", "other", "controller-east", part, "", "no"},
		{"apps/Deployment", "mc", "linkerd-service-mirror-east", old, "", "legacy"},
		{"apps/Deployment", "mc", "linkerd-service-mirror-east", part, "", "no"},
		{"/ServiceAccount", "mc", "controller-east", part, "", "chart"},
		{"/ServiceAccount", "mc", "linkerd-service-mirror-east", old, "", "legacy"},
		{"/Service", "mc", "probe-east", probe, "", "chart"},
		{"/Service", "mc", "probe-gateway-east", probe, "", "legacy"},
		{"/Service", "mc", "probe-east", part, "", "no"},
		{"rbac.authorization.k8s.io/Role", "mc", "controller-read-remote-creds-east", part, "", "chart"},
		{"rbac.authorization.k8s.io/RoleBinding", "mc", "linkerd-service-mirror-read-remote-creds-east", old, "", "legacy"},
		{"rbac.authorization.k8s.io/ClusterRoleBinding", "", "linkerd-multicluster-controller-access-local-resources-east", part, "", "chart"},
		{"rbac.authorization.k8s.io/ClusterRoleBinding", "", "linkerd-service-mirror-access-local-resources-east", old, "", "legacy"},
		{"rbac.authorization.k8s.io/ClusterRole", "", "linkerd-service-mirror-access-local-resources-east", old, "", "no"},
		{"policy/PodDisruptionBudget", "mc", "controller-east", `"component":"controller"`, "", "chart"},
		{"/Secret", "mc", "cluster-credentials-east", "", `,"type":"mirror.linkerd.io/remote-kubeconfig"`, "chart"},
		{"/Secret", "mc", "cluster-credentials-east", "", `,"type":"Opaque"`, "no"},
		{"/Secret", "linkerd", "cluster-credentials-east", "", `,"type":"mirror.linkerd.io/remote-kubeconfig"`, "no"},
		{"/Secret", "linkerd", "cluster-credentials-east", `"multicluster.linkerd.io/cluster-name":"east"`, `,"type":"mirror.linkerd.io/remote-kubeconfig"`, "chart"},
		{"multicluster.linkerd.io/Link", "mc", "east", "", `,"spec":{"targetClusterName":"east"}`, "chart"},
		{"multicluster.linkerd.io/Link", "mc", "east", "", `,"spec":{"targetClusterName":"west"}`, "no"},
	} {
		var group, kind string
		for i, c := range tt.kind {
			if c == '/' {
				group, kind = tt.kind[:i], tt.kind[i+1:]
			}
		}
		k := object.Key{Group: group, Kind: kind, Namespace: tt.ns, Name: tt.name}
		body := object.NewBody(fmt.Appendf(nil, `{"metadata":{"labels":{%s}}%s}`, tt.labels, tt.rest))
		found, ok := Adoptable(at, k, body, "east")
		got := "no"
		if ok {
			got = map[bool]string{false: "chart", true: "legacy"}[found.Legacy]
		}
		if got != tt.want {
			t.Errorf("Adoptable(%s, labels %s%s): got %s, want %s", k, tt.labels, tt.rest, got, tt.want)
		}
		if _, ok := Adoptable(at, k, object.Body{}, "east"); ok {
			t.Errorf("Adoptable(%s) without a body: got true", k)
		}
	}
}

// AdoptWatches looks at all that can be adopted: what is not looked for is not found.
func TestAdoptWatches(t *testing.T) {
	at := api.Linkerd{Namespace: "linkerd", MulticlusterNamespace: "mc"}
	watches := AdoptWatches(at, "linkwright", []api.ClusterName{"east", "north"})
	for _, f := range objectForms() {
		found := f.kind == "Link" // read whole in any case
		for _, w := range watches {
			for _, name := range w.Names {
				k := object.Key{Group: w.Group, Kind: w.Kind, Namespace: w.Namespace, Name: name}
				found = found || f.hasKey(at, k, "north") && w.Depth != object.Reduced
			}
		}
		if !found {
			t.Errorf("nobody looks for %s %s", f.kind, f.name("north"))
		}
	}
	for _, k := range sharedKeys(at, "linkwright") {
		if !slices.ContainsFunc(watches, func(w object.Watch) bool {
			return w.Group == k.Group && w.Kind == k.Kind && w.Namespace == k.Namespace && slices.Contains(w.Names, k.Name) && w.Depth != object.Reduced
		}) {
			t.Errorf("nobody looks for %s", k)
		}
	}
}

func TestToolOf(t *testing.T) {
	for marks, want := range map[string]string{
		``: "",
		`"labels":{"argocd.argoproj.io/instance":"mesh"}`:                                                            "Argo CD Application mesh",
		`"labels":{"helm.toolkit.fluxcd.io/name":"mc","helm.toolkit.fluxcd.io/namespace":"flux"}`:                    "Flux HelmRelease flux/mc",
		`"labels":{"kustomize.toolkit.fluxcd.io/name":"mesh","kustomize.toolkit.fluxcd.io/namespace":"flux-system"}`: "Flux Kustomization flux-system/mesh",
		`"annotations":{"argocd.argoproj.io/tracking-id":"mesh:apps/Deployment:mc/controller-east"}`:                 "Argo CD Application mesh",
	} {
		tool := ToolOf(object.NewBody([]byte(`{"metadata":{`+marks+`}}`)), object.Record{})
		got := tool.Name + " " + tool.Of
		if tool.IsZero() {
			got = ""
		}
		if got != want || tool.IsZero() != (tool.Leave == "") {
			t.Errorf("ToolOf(%s): got %q (%+v), want %q", marks, got, tool, want)
		}
	}
}

// The label that Argo CD shares with Helm's charts counts only where Argo CD wrote the object.
func TestToolOfByManager(t *testing.T) {
	body := object.NewBody([]byte(`{"metadata":{"labels":{"app.kubernetes.io/instance":"mesh"}}}`))
	for _, tt := range []struct{ writers, want string }{
		{"", ""},
		{"helm", ""},
		{"my-argocd-controller", ""},
		{"argocd-controller", "Application mesh"},
		{"argocd-application-controller,kubectl", "Application mesh"},
	} {
		live := object.Record{ForeignManagers: unique.Make(tt.writers)}
		if got := ToolOf(body, live).Of; got != tt.want {
			t.Errorf("ToolOf(%s), written by %q: got %q, want %q", body.Bytes(), tt.writers, got, tt.want)
		}
		if got := ToolOf(object.Body{}, live); !got.IsZero() {
			t.Errorf("ToolOf without the label, written by %q: got %+v", tt.writers, got)
		}
	}
}
