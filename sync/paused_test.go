package sync

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// pause sets linkwright.dev/paused on the inventory of a cluster's base, or removes it.
func (r *memoryEnv) pause(name api.ClusterName, paused bool) {
	r.t.Helper()
	if err := r.Cluster(name).Edit("kubectl", inventory.Key("linkwright", object.End{}), func(c map[string]any) {
		meta := c["metadata"].(map[string]any) //nolint:forcetypeassert // an object has some
		annotations, _ := meta["annotations"].(map[string]any)
		if delete(annotations, object.PausedAnnotation); paused {
			annotations[object.PausedAnnotation] = "true"
		}
	}); err != nil {
		r.t.Fatal(err)
	}
}

// reasons returns what the reports since this was asked last show as Events.
func (r *memoryEnv) reasons(shown *report.Notices) (out []string) {
	r.t.Helper()
	for _, p := range r.reported() {
		var all []report.Notice
		*shown, all = shown.Next(p)
		for _, n := range all {
			out = append(out, n.Object+" "+n.Reason)
			if !strings.Contains(n.Message, "linkwright.base linkwright.dev/paused-") {
				r.t.Errorf("the Event does not say how to resume: %+v", n)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// wrote returns what was written to a cluster since this was asked last.
func (r *memoryEnv) wrote(name api.ClusterName) (out []string) {
	r.t.Helper()
	for _, q := range r.asked() {
		if request, in := strings.CutPrefix(q, string(name)+": "); in && (strings.HasPrefix(request, "update") || strings.HasPrefix(request, "delete")) {
			out = append(out, request)
		}
	}
	return out
}

// A cluster that is paused from inside is left as it is, at once and whatever is declared, and says how to resume it. Its peers go on. Once it is
// resumed, it is as declared at once. Events tell of both transitions.
func TestPaused(t *testing.T) {
	turns(t, memcluster.Options{}, memoryMesh, func(r *memoryEnv) {
		r.clean(time.Minute, 12)
		shown := report.Notices{}
		r.declare("c2", memoryMesh)
		time.Sleep(2 * time.Second)
		if got := r.reasons(&shown); len(got) > 0 {
			t.Errorf("the first sync of a process finds %q", got)
		}
		r.pause("west", true)
		time.Sleep(5 * time.Second)
		r.asked()
		r.edit("west", probe, 1)
		r.declare("c3", memoryMesh)
		time.Sleep(5 * time.Second)
		if got := r.wrote("west"); len(got) > 0 || !strings.Contains(fmt.Sprint(r.Cluster("west").Object(probe)), "edit-1") {
			t.Errorf("west is paused, and was written to: %q", got)
		}
		wanted := []string{"cluster/west Suspended", "link/east/west Suspended", "link/north/west Suspended", "link/west/east Suspended", "link/west/north Suspended"}
		if got := r.reasons(&shown); !slices.Equal(got, wanted) {
			t.Errorf("events of a pause: %q, want %q", got, wanted)
		}
		r.pause("west", false)
		last := r.clean(5*time.Second, 12)
		if slices.ContainsFunc(last.Clusters, func(c report.Cluster) bool { return c.Paused }) || strings.Contains(fmt.Sprint(r.Cluster("west").Object(probe)), "edit-1") {
			t.Error("west was resumed, and is paused, or not as declared")
		}
	})
}

// A paused cluster says where it is paused, and how to resume it.
func TestPausedSaysHowToResume(t *testing.T) {
	why := plan.PausedCluster("linkwright", "west").Message
	const command = "kubectl -n linkwright-access annotate configmap linkwright.base linkwright.dev/paused-"
	if !strings.Contains(why, command) || !strings.Contains(why, "cluster west is paused from inside") {
		t.Error(why)
	}
}
