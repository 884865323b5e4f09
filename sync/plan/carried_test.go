package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// crowd returns a snapshot of many clusters that all carry a commit. Of n names some are not read, have no identity, or share one with others; of
// these some are accepted.
func crowd(t *testing.T, r *rand.Rand, n int) state.Snapshot {
	t.Helper()
	w := state.Snapshot{Installation: object.Installation{Owner: owner}, Clusters: map[api.ClusterName]state.Cluster{}, Record: state.Record{Accepted: map[api.ClusterName]string{}}}
	for i := range n {
		name := api.ClusterName(fmt.Sprintf("c%d", i))
		current := state.Cluster{Reading: state.Read}
		if r.IntN(10) == 0 {
			current.Reading = state.Unread
		}
		current.Facts = linkerd.Facts{UID: fmt.Sprint("uid-", r.IntN(2*n))}
		if r.IntN(20) == 0 {
			current.Facts.UID = ""
		}
		if r.IntN(10) == 0 {
			w.Accepted[name] = current.Facts.UID
		}
		base, err := inventory.Inventory{End: object.End{Cluster: name}, Commit: api.Commit("of " + name)}.Object(owner)
		if err != nil {
			t.Fatal(err)
		}
		edit(&current.Live, base.Key, object.Written(base), base.Body)
		w.Clusters[name] = current
	}
	return w
}

// identities returns how many known names each identity has, by the plainest count.
func identities(w state.Snapshot) map[string]int {
	out := map[string]int{}
	for _, current := range w.Clusters {
		if current.Known() {
			out[current.Facts.UID]++
		}
	}
	return out
}

// Who is asked about one by one is judged as in a sync over all, where identities are counted together: a cluster under two names carries nothing,
// under either.
func TestCarriedTellsTwinsApart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		w := crowd(t, r, n)
		count, want := identities(w), map[api.ClusterName]api.Commit{}
		for name, current := range w.Clusters {
			if current.Known() && current.Facts.UID != "" && count[current.Facts.UID] == 1 {
				want[name] = "of " + api.Commit(name)
			}
			if one := state.Identify(w).Applied(name); one != want[name] {
				t.Errorf("%d clusters: Applied(%s): got %q, want %q", n, name, one, want[name])
			}
		}
		if diff := cmp.Diff(want, state.Identify(w).AllApplied()); diff != "" {
			t.Errorf("%d clusters: Carried: -want +got\n%s", n, diff)
		}
	}
}
