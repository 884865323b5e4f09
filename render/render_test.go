package render

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// The same input gives the same bytes, in the same order, and nothing the goldens show is out of order.
func TestRenderIsDeterministic(t *testing.T) {
	for _, file := range archives(t) {
		again := read(t, file).ends
		for i, want := range read(t, file).ends {
			for j, o := range want.Objects {
				if !bytes.Equal(o.Body.Bytes(), again[i].Objects[j].Body.Bytes()) {
					t.Errorf("%s: %s differs the second time", file, o.Key)
				}
			}
			sorted := slices.IsSortedFunc(want.Objects, func(a, b object.Object) int {
				if a.Phase != b.Phase {
					return int(a.Phase) - int(b.Phase)
				}
				return a.Key.Compare(b.Key)
			})
			if !sorted {
				t.Errorf("%s: the objects of %s are not sorted", file, want.End)
			}
		}
	}
}

// What must never be rendered: owner references, a Namespace, and a key that two ends share.
func TestRenderNever(t *testing.T) {
	for _, file := range archives(t) {
		held := map[string]object.End{}
		for _, want := range read(t, file).ends {
			for _, o := range want.Objects {
				where := string(want.End.Cluster) + " " + o.Key.String()
				if other, ok := held[where]; ok {
					t.Errorf("%s: %s is wanted by %s and %s", file, where, other, want.End)
				}
				held[where] = want.End
				if strings.Contains(string(o.Body.Bytes()), "ownerReferences") || o.Key.Kind == "Namespace" {
					t.Errorf("%s: %s must not be", file, o.Key)
				}
			}
		}
	}
}

// Secrets of the control plane's namespace are asked for by name alone: the issuer's key is among them.
func TestWatchesOfControlPlane(t *testing.T) {
	l := api.Linkerd{Namespace: "linkerd", MulticlusterNamespace: "linkerd-multicluster"}
	tests := []struct {
		targets []api.ClusterName
		want    []object.Watch
	}{
		{nil, nil},
		{[]api.ClusterName{"east", "north"}, []object.Watch{{
			Version: "v1", Kind: "Secret", Namespace: "linkerd", Names: []string{"cluster-credentials-east", "cluster-credentials-north"},
			Depth: object.Metadata,
		}}},
	}
	for _, tt := range tests {
		var got []object.Watch
		for _, w := range Watches(l, tt.targets) {
			if w.Namespace == "linkerd" || w.Namespace == "" && w.Kind == "Secret" {
				got = append(got, w)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Watches(%v): -want +got\n%s", tt.targets, diff)
		}
	}
}

// Whole kinds are looked at where ends hold them, so that what stands in the way is seen without our label.
func TestWatchesCoverObjectsInTheWay(t *testing.T) {
	l := api.Linkerd{Namespace: "linkerd", MulticlusterNamespace: "links"}
	seen := map[string]bool{}
	facts := slices.DeleteFunc(linkerd.Watches(api.Cluster{Linkerd: l}.WithDefaults()), func(w object.Watch) bool { return len(w.Names) > 0 })
	for _, w := range append(Watches(l, nil), facts...) {
		if w.Selector != "" || len(w.Names) > 0 {
			t.Errorf("Watches: %s in %q is narrowed", w.Kind, w.Namespace)
		}
		seen[w.Kind+" in "+w.Namespace] = true
	}
	for _, want := range []string{
		"Deployment in links", "Link in ", "PodDisruptionBudget in links", "Role in links", "RoleBinding in links", "Secret in links",
		"Secret in linkwright-access", "Service in links", "ServiceAccount in links", "ServiceAccount in linkwright-access", "ClusterRoleBinding in ",
	} {
		if !seen[want] {
			t.Errorf("Watches: nothing looks for %s", want)
		}
	}
}

// markInSpec gives a mark of ours in what an object specifies; without a spec, the first of all.
func markInSpec(o object.Object) string {
	_, spec, _ := strings.Cut(string(o.Body.Bytes()), `"spec":`)
	for _, mark := range append(object.MarkLabels(), object.MarkAnnotations()...) {
		if spec == "" || strings.Contains(spec, mark) {
			return mark
		}
	}
	return ""
}

// No mark of ours is on a pod template: to give an object up, or to take it over, rolls nothing.
func TestPodTemplatesHaveNoMarks(t *testing.T) {
	found := 0
	for _, file := range archives(t) {
		for _, want := range read(t, file).ends {
			for _, o := range want.Objects {
				if o.Key.Kind != "Deployment" {
					continue
				}
				found++
				if mark := markInSpec(o); mark != "" {
					t.Errorf("%s: the spec of %s carries %s", file, o.Key, mark)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no Deployment is rendered")
	}
}
