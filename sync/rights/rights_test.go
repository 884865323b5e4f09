package rights

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

// declare returns what is known of a new fleet of west and east with a link.
func declare(t *testing.T, source, target api.ClusterName, spec string) state.Snapshot {
	t.Helper()
	text := fmt.Sprintf("---\napiVersion: %s\nkind: Link\nmetadata: {name: %s-%s}\nspec:\n  source: %s\n  target: %s\n%s\n", api.GroupVersion, source, target, source, target, spec)
	for _, c := range []string{"west", "east"} {
		text += fmt.Sprintf("---\napiVersion: %s\nkind: Cluster\nmetadata: {name: %s}\nspec: {access: {kubeconfigSecret: {name: %s}}}\n", api.GroupVersion, c, c)
	}
	f, problems := fleet.Load("", fstest.MapFS{"fleet.yaml": {Data: []byte(text)}})
	if f == nil {
		t.Fatalf("declare: %v", problems)
	}
	return state.Snapshot{Installation: object.Installation{Owner: object.DefaultOwner}, Declarations: state.Declarations{Fleet: f}}
}

func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: -want +got\n%s", what, diff)
	}
}

// rights returns those of west in a fleet in which it is linked to east, or east to it, as "namespace: resources names verbs".
func rights(t *testing.T, d Duty, source, target api.ClusterName, spec string) []string {
	t.Helper()
	return rightsFor(t, source, target, spec, d)
}

func rightsFor(t *testing.T, source, target api.ClusterName, spec string, duties ...Duty) []string {
	t.Helper()
	w := declare(t, source, target, spec)
	west, _ := w.Fleet.Cluster("west")
	got, err := For(w, *west, render.New(w.Owner), duties...)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, ns := range slices.Sorted(maps.Keys(got)) {
		for _, r := range got[ns] {
			out = append(out, strings.Join(strings.Fields(fmt.Sprint(ns, ": ", strings.Join(r.Resources, ","), " ", strings.Join(r.ResourceNames, ","), " ", strings.Join(r.Verbs, ","))), " "))
		}
	}
	return out
}

// What is declared decides of the control plane's Secrets: only those of targets that need one. What tokens and controllers take is
// granted ahead of the links that need it.
func TestFor(t *testing.T) {
	plane := func(all []string) []string {
		return slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, api.DefaultNamespace+": secrets") })
	}
	const discovers = "  remoteDiscoverySelector: {matchLabels: {a: b}}\n"
	none := []string{}
	same(t, "a link without remote discovery", none, plane(rights(t, Writing, "west", "east", "")))
	same(t, "with it", []string{"linkerd: secrets cluster-credentials-east get,list,watch,create,patch,delete"}, plane(rights(t, Writing, "west", "east", discovers)))
	same(t, "in its target", none, plane(rights(t, Writing, "east", "west", discovers)))
	same(t, "to read", []string{"linkerd: secrets cluster-credentials-east get,list,watch"}, plane(rights(t, Reading, "west", "east", discovers)))
	same(t, "by a secret manager", []string{"linkerd: secrets cluster-credentials-east get,list,watch"},
		plane(rights(t, Writing, "west", "east", discovers+"  credentials: {mode: Existing}\n")))

	destination := func(all []string) []string {
		return slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, api.DefaultNamespace+": deployments") })
	}
	same(t, "its Deployment", []string{"linkerd: deployments linkerd-destination get,list,watch"}, destination(rights(t, Writing, "west", "east", discovers)))
	same(t, "and to tell it", []string{"linkerd: deployments linkerd-destination get,list,watch,patch"}, destination(rightsFor(t, "west", "east", discovers, Writing, ReportingStatus)))
	same(t, "of no link that needs it", none, destination(rightsFor(t, "west", "east", "", Writing, ReportingStatus)))
	all := []string{"linkerd: secrets get,list,watch,create,patch,delete"}
	same(t, "wide", all, plane(rights(t, Wide, "west", "east", discovers)))
	same(t, "wide, ahead of the first link", all, plane(rights(t, Wide, "east", "west", "")))
	for _, r := range []string{"linkwright-access: serviceaccounts/token create", "linkerd-multicluster: links/status update,patch"} {
		if !slices.Contains(rights(t, Writing, "west", "east", "  controller: {mode: External}\n"), r) { // ahead: for the next link
			t.Errorf("%q is not granted", r)
		}
	}
	for _, r := range rights(t, Reading, "west", "east", discovers+"  credentials: {mode: Bound}\n") {
		fields := strings.Fields(r)
		for verb := range strings.SplitSeq(fields[len(fields)-1], ",") {
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				t.Errorf("to read: %s", r)
			}
		}
	}
	same(t, "to sweep", []string{": endpoints get,delete", ": services get,patch,delete"}, rights(t, Sweeping, "west", "east", ""))
}

// The right to change Linkerd's configuration is granted by name, and only where a ProxyConfig is declared.
func TestRightsOfValues(t *testing.T) {
	const value = "---\napiVersion: linkwright.dev/v1alpha1\nkind: ProxyConfig\nmetadata: {name: a}\nspec: {clusters: {}, proxy: {%s}}\n"
	config := func(duty Duty, spec string) []string {
		return slices.DeleteFunc(rights(t, duty, "west", "east", spec), func(s string) bool { return !strings.Contains(s, "linkerd: ") })
	}
	const read, write = "linkerd: configmaps linkerd-config get,list,watch", "linkerd: configmaps linkerd-config get,list,watch,patch"
	roots := "linkerd: configmaps linkerd-identity-trust-roots get,list,watch"
	flags := "linkerd: deployments linkerd-destination get,list,watch"
	same(t, "without", []string{read, roots}, config(Writing, ""))
	same(t, "with a value", []string{write, roots}, config(Writing, fmt.Sprintf(value, "logLevel: warn")))
	same(t, "with a value that is a flag, too", []string{write, roots, flags}, config(Writing, fmt.Sprintf(value, `opaquePorts: "25"`)))
	same(t, "to read", []string{read, roots}, config(Reading, fmt.Sprintf(value, "logLevel: warn")))
}

// The rights of a rollout are granted only where one is declared, and that to create pods only for dry runs.
func TestRightsOfRollout(t *testing.T) {
	const config = "---\napiVersion: linkwright.dev/v1alpha1\nkind: ProxyConfig\nmetadata: {name: a}\nspec: {clusters: {}, %s}\n"
	of := func(spec string) []string { return rights(t, Restarting, "west", "east", fmt.Sprintf(config, spec)) }
	same(t, "without", nil, of("proxy: {logLevel: warn}"))
	want := []string{
		": events create", ": namespaces list,watch", ": pods list", ": daemonsets,deployments,statefulsets list,watch,patch",
		": poddisruptionbudgets list,watch", "linkwright-access: configmaps get,patch",
	}
	same(t, "by annotations", want, of("rollout: {detection: Annotations}"))
	want[2] = ": pods list,create"
	same(t, "by dry runs", want, of("rollout: {}"))
	want = slices.Insert(want, 4, ": rollouts list,watch,patch")
	same(t, "with Argo Rollouts", want, of("rollout: {argoRollouts: true}"))
}

// What overlays bring in is written in the cluster that it is brought into.
func TestForExtras(t *testing.T) {
	w := declare(t, "west", "east", "")
	for _, c := range w.Fleet.Clusters {
		got, err := For(w, c, bringing{render.New(w.Owner)}, Writing)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(got[api.DefaultMulticlusterNamespace])
		if strings.Contains(text, "[get list watch create patch delete] [networking.k8s.io] [networkpolicies]") != (c.Name == "west") {
			t.Errorf("%s: got %s", c.Name, text)
		}
	}
}

// bringing plays an overlay of west, which brings in a NetworkPolicy.
type bringing struct{ render.Renderer }

func (r bringing) Complete(c fleet.Cluster, ends []object.Desired) []object.Desired {
	ends = r.Renderer.Complete(c, ends)
	for i, want := range ends {
		if want.End.IsBase() && c.Name == "west" {
			k := object.Key{Group: "networking.k8s.io", Kind: "NetworkPolicy", Namespace: api.DefaultMulticlusterNamespace, Name: "a"}
			ends[i].Objects = []object.Object{{Key: k, Version: "v1"}}
		}
	}
	return ends
}
