package sync_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

// TestNonFastForwardUnread starts again at refused heads while clusters cannot be read, or their bases are gone.
func TestNonFastForwardUnread(t *testing.T) {
	r := newNonFastForward(t)
	for name, f := range map[string]func(*testing.T){
		"one cluster speaks":      r.alone,
		"none has a base":         r.absent,
		"no base is left":         r.bare,
		"none can be read at all": r.unseen,
	} {
		t.Run(name, func(t *testing.T) { r.t, r.h.t = t, t; f(t) })
	}
}

func (r *nonFastForward) pause(names ...api.ClusterName) { r.down(true, names) }

func (r *nonFastForward) resume(names ...api.ClusterName) { r.down(false, names) }

func (r *nonFastForward) down(down bool, names []api.ClusterName) {
	for _, n := range names {
		r.set.Cluster(n).Fault(func(f *memcluster.Faults) { f.Down = down })
	}
}

var base = inventory.Key(object.DefaultOwner, object.End{})

// unbase deletes the bases of clusters.
func (r *nonFastForward) unbase(names ...api.ClusterName) {
	r.t.Helper()
	for _, n := range names {
		if err := r.set.Cluster(n).Remove(base); err != nil {
			r.t.Fatal(err)
		}
	}
}

// rebase has a cluster's base tell another commit.
func (r *nonFastForward) rebase(name api.ClusterName, from, to api.Commit) {
	r.t.Helper()
	if err := r.set.Cluster(name).Edit("hand", base, func(content map[string]any) {
		data := content["data"].(map[string]any) //nolint:forcetypeassert // ours
		for k, v := range data {
			data[k] = strings.ReplaceAll(fmt.Sprint(v), string(from), string(to))
		}
	}); err != nil {
		r.t.Fatal(err)
	}
}

// nothing makes a sync that must have nothing in force.
func (r *nonFastForward) nothing(what string, words ...string) {
	r.t.Helper()
	if got := r.untouched(what, words...); got.Commit != "" {
		r.t.Errorf("%s: in force is %s", what, got.Commit)
	}
}

// alone: the others are down, or have no base; what the only one names is not put in force, and their commit is once they are back.
func (r *nonFastForward) alone(*testing.T) {
	evil := r.h.push(r.last, r.declarations(link("west", "east")))
	r.h.force(r.last)
	r.h.git(r.h.work, "push", "-q", "origin", string(evil)+":refs/pull/1/head")
	r.rebase("east", r.last, evil)
	r.unbase("west")
	r.pause("north")
	r.begin()
	r.nothing("east alone", string(evil), "allow non-fast-forward")
	r.resume("north")
	r.nothing("east and north", string(evil), "allow non-fast-forward")
	r.rebase("east", evil, r.last)
	r.onwards("alone")
}

// absent: what the clusters that are down carry is not known, so nothing is applied in the one that has lost its base.
func (r *nonFastForward) absent(*testing.T) {
	r.pause("east", "north")
	r.unbase("west")
	r.h.force(r.first)
	r.begin()
	r.nothing("west without a base", string(r.first), "allow non-fast-forward", "read the revision applied in")
	r.nothing("once more", string(r.first), "allow non-fast-forward", "read the revision applied in")
	r.resume("east", "north")
	got := r.syncOnce() // west has its base back
	if got.Commit != r.last || got.Counts().Ready != 12 {
		r.t.Errorf("once all are back: in force is %s, %+v", got.Commit, got.Counts())
	}
	r.keptUp("and then", r.first, string(r.last), "allow non-fast-forward")
	r.onwards("absent")
}

// bare: clusters that were read and have no base know of nothing.
func (r *nonFastForward) bare(*testing.T) {
	r.unbase("east", "north", "west")
	r.begin()
	r.onwards("bare")
}

// unseen: a head that was put in force while no cluster could be read is judged once one can.
func (r *nonFastForward) unseen(*testing.T) {
	r.pause("east", "north")
	r.h.force(r.first)
	r.begin("east", "north") // west, the home, is not theirs to ask
	if got := r.untouched("while they are down"); got.Commit != r.first || got.Counts().ClustersUnknown != 2 {
		r.t.Errorf("while they are down: in force is %s, %+v", got.Commit, got.Counts())
	}
	r.resume("east", "north")
	if got := r.untouched("once they are back", string(r.first), string(r.last), "allow non-fast-forward"); got.Commit != r.last {
		r.t.Errorf("once they are back: in force is %s", got.Commit)
	}
	r.begin()
	r.onwards("unseen")
}
