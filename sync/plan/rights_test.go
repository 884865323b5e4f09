package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// rights are those of west in a fleet in which it is linked to east, or east to it, as "namespace: resources names verbs".
func rights(t *testing.T, d Duty, source, target api.ClusterName, spec string) []string {
	t.Helper()
	return rightsFor(t, source, target, spec, d)
}

func rightsFor(t *testing.T, source, target api.ClusterName, spec string, duties ...Duty) []string {
	t.Helper()
	s := newSim(t, declare(t, two, linkDoc(string(source), string(target), spec)), two...)
	west, _ := s.world.Fleet.Cluster("west")
	got, err := RightsFor(s.now(), *west, s.renderer(), duties...)
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
func TestRightsFor(t *testing.T) {
	plane := func(all []string) []string {
		return slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, cp+": secrets") })
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
		return slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, cp+": deployments") })
	}
	same(t, "its Deployment", []string{"linkerd: deployments linkerd-destination get,list,watch"}, destination(rights(t, Writing, "west", "east", discovers)))
	same(t, "and to tell it", []string{"linkerd: deployments linkerd-destination get,list,watch,patch"}, destination(rightsFor(t, "west", "east", discovers, Writing, Telling)))
	same(t, "of no link that needs it", none, destination(rightsFor(t, "west", "east", "", Writing, Telling)))
	all := []string{"linkerd: secrets get,list,watch,create,patch,delete"}
	same(t, "wide", all, plane(rights(t, Wide, "west", "east", discovers)))
	same(t, "wide, ahead of the first link", all, plane(rights(t, Wide, "east", "west", "")))
	for _, r := range []string{"linkwright-access: serviceaccounts/token create", "linkerd-multicluster: links/status update,patch"} {
		if !slices.Contains(rights(t, Writing, "west", "east", "  controller: {mode: External}\n"), r) { // ahead: for the next link
			t.Errorf("%q is not granted", r)
		}
	}
	for _, r := range rights(t, Reading, "west", "east", discovers+bound) {
		fields := strings.Fields(r)
		for verb := range strings.SplitSeq(fields[len(fields)-1], ",") {
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				t.Errorf("to read: %s", r)
			}
		}
	}
	same(t, "to sweep", []string{": endpoints get,delete", ": services get,patch,delete"}, rights(t, Sweeping, "west", "east", ""))
}

// What overlays bring in is written in the cluster that it is brought into.
func TestRightsForExtras(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", "")), two...)
	s.extras = map[api.ClusterName][]object.Object{"west": {extra(t, policyKey, "a")}}
	for _, c := range s.world.Fleet.Clusters {
		got, err := RightsFor(s.now(), c, s.renderer(), Writing)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(got[mc])
		if strings.Contains(text, "[get list watch create patch delete] [networking.k8s.io] [networkpolicies]") != (c.Name == "west") {
			t.Errorf("%s: got %s", c.Name, text)
		}
	}
}
