package plan

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/state"
)

// TestReplaceIsAllowed: what the SyncPolicy names is replaced for an immutable field, and nothing else: not under a policy that deletes nothing, not
// what people keep, not before the cluster was read in this sync.
func TestReplaceIsAllowed(t *testing.T) {
	const both = "replace: [{kind: Deployment}, {kind: Service}]"
	service := object.Key{Kind: "Service", Namespace: mc, Name: "probe-east"}
	tests := []struct {
		key   object.Key
		field string
		by    string
		spec  string
		keep  bool
		old   bool
		want  Phase
		says  string
	}{
		{key: deployment("east"), field: "spec.selector", spec: both, want: Changing},
		{key: service, field: "spec.clusterIPs[0]", spec: both, want: Changing},
		{key: service, field: "spec.clusterIPs[0]", spec: "replace: [{kind: Deployment}]", want: Blocked, says: "spec.replace: [{kind: Service}]"},
		{key: deployment("east"), field: "spec.selector", want: Blocked, says: "spec.replace: [{kind: Deployment}]"},
		{key: linkKey("east"), field: "spec", spec: both, want: Blocked, says: "or delete the object (linkwright creates it again)"},
		{key: deployment("east"), field: "spec.selector", spec: both, keep: true, want: Blocked, says: object.PruneAnnotation},
		{key: deployment("east"), field: "spec.selector", spec: both + ", prune: {policy: UpsertOnly}", want: Denied, says: "UpsertOnly"},
		{key: deployment("east"), field: "spec.selector", spec: both + ", prune: {policy: CreateOnly}", want: Denied, says: "CreateOnly"},
		{key: deployment("east"), field: "spec.selector", spec: both, old: true, want: Waiting},
		{key: service, field: "spec.ports[1].name", by: "kubectl-edit", spec: both, want: Changing},
		{key: service, field: "spec.ports[1].name", by: "kubectl-edit", want: Blocked, says: "(others with items in that list: kubectl-edit): remove that item, or delete the object (linkwright creates it again); or let the SyncPolicy replace it (spec.replace: [{kind: Service}])"},
		{key: service, field: "spec.ports[1].name", by: "kubectl-edit", spec: both, keep: true, want: Blocked, says: object.PruneAnnotation},
	}
	for _, tt := range tests {
		s := linked(t, "")
		s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", "")+syncDoc(tt.spec))
		s.settle()
		drifted(s, "west", tt.key)
		r := s.live["west"].Live.Record(tt.key)
		r.PruneDisabled = tt.keep
		record(&s.live["west"].Live, tt.key, r)
		digest := Next(s.now(), "west", s.renderer()).Changes[0].Object.Digest
		s.snapshot.Immutable = map[api.ClusterName]map[object.Key]state.Refusal{"west": {tt.key: {Rejection: object.Rejection{Field: tt.field, By: tt.by}, Digest: digest, Was: r}}}
		w := s.now()
		if tt.old {
			w = aged(w, "west")
		}
		step := Next(w, "west", s.renderer(), PrunePolicy)
		got := row(t, step, westEast)
		if got.Phase != tt.want || tt.says != "" && !strings.Contains(got.Why.Message, tt.says) {
			t.Errorf("%s of %s with {%s}: %s, %v", tt.field, tt.key, tt.spec, got.Phase, got.Why)
		}
		if tt.want != Changing {
			same(t, "of what is not replaced", nil, actions(step))
			continue
		}
		same(t, "a replacement", []string{"replace " + tt.key.String()}, describe(step))
		if c := step.Changes[0]; c.Was != r || c.Why.Message != tt.field+" cannot be changed in place, and the SyncPolicy allows linkwright to replace a "+tt.key.Kind {
			t.Errorf("%s is replaced as of %+v, since %s", tt.key, c.Was, c.Why.Message)
		}
	}
}

// FuzzInstead: whatever a policy says and whatever a server calls immutable, nothing is replaced with which more would go.
func FuzzInstead(f *testing.F) {
	for _, k := range []object.Key{
		linkKey("east"),
		deployment("east"),
		baseKey,
		mirrorKey,
		{Kind: "Namespace", Name: "x"},
		{Kind: "ServiceAccount", Namespace: mc, Name: "x"},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "x"},
		{Kind: "Service", Namespace: mc, Name: "x"},
		{Group: "multicluster.linkerd.io", Kind: "Deployment", Namespace: mc, Name: "x"},
	} {
		f.Add(k.Group, k.Kind, k.Namespace, k.Name, "spec", "", false)
	}
	f.Fuzz(func(t *testing.T, group, kind, namespace, name, field, by string, keep bool) {
		k := object.Key{Group: group, Kind: kind, Namespace: namespace, Name: name}
		policy := api.SyncPolicy{Replace: []api.Replace{
			{Kind: api.ReplacedKind(kind)}, {Kind: "Link"}, {Kind: "Namespace"}, {Kind: "CustomResourceDefinition"}, {Kind: "Secret"},
		}}
		was := object.Change{Action: object.Update, Key: k, Was: object.Record{PruneDisabled: keep}}
		got, why := Replacement(policy, was, object.Rejection{Field: field, By: by})
		if replaces := got.Action == object.Replace; replaces != (why == nil) {
			t.Fatalf("%s is replaced: %t, though %v", k, replaces, why)
		}
		if why != nil {
			return
		}
		harmless := map[[3]string]bool{
			{"rbac.authorization.k8s.io", "RoleBinding", "roleRef"}: true, {"rbac.authorization.k8s.io", "ClusterRoleBinding", "roleRef"}: true, {"", "Secret", "type"}: true,
		}[[3]string{group, kind, field}]
		let := map[string]string{"Deployment": "apps", "Service": "", "ConfigMap": "", "ResourceQuota": ""}
		of, listed := let[kind]
		switch {
		case keep:
			t.Errorf("%s is replaced, though people keep it", k)
		case kind == "Link" || kind == "Namespace" || kind == "CustomResourceDefinition" || kind == "ServiceAccount":
			t.Errorf("%s is replaced", k)
		case namespace == object.AccessNamespace && kind == "ConfigMap":
			t.Errorf("%s, which may be an inventory, is replaced", k)
		case (!listed || of != group) && !harmless:
			t.Errorf("%s of %s is replaced", field, k)
		}
	})
}
