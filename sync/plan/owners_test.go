package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
)

// owners are two installations on the same clusters; each sees the other's marks as another's.
type owners struct {
	*sim
	fleets map[string]*fleet.Fleet
}

const replacementOwner = "blue"

// as lets one of them act until it writes nothing, and gives its last steps and all that it took.
func (o owners) as(name string) (map[api.ClusterName]Step, []string) {
	if o.snapshot.Owner != name {
		for _, c := range two {
			o.swap(c)
		}
		o.snapshot.Owner = name
	}
	o.snapshot.Fleet = o.fleets[name]
	return o.settled()
}

// swap shows each one's marks as the other sees them.
func (o owners) swap(c api.ClusterName) {
	e := o.live[c].Live.Edit()
	for k, r := range o.live[c].Live.Records() {
		switch r.Mark {
		case object.Ours:
			r.Mark = object.Theirs
		case object.Theirs:
			r.Mark = object.Ours
		default:
			continue
		}
		e.Put(k, r, bodyOf(o.live[c].Live, k))
	}
	o.live[c].Live = e.Observation()
}

// mark gives an object in west another mark, as the new one sees it, and lets both act: neither takes anything.
func (o owners) mark(t *testing.T, k object.Key, as object.Mark) {
	t.Helper()
	r := o.live["west"].Live.Record(k)
	r.Mark = as
	record(&o.live["west"].Live, k, r)
	for _, who := range []string{owner, replacementOwner} {
		_, taken := o.as(who)
		same(t, who+" takes, with "+k.String()+" changed", nil, taken)
	}
}

// A changed owner: the new one's end is occupied by the old one's marks, and nobody deletes anything: not while both
// run, nor while the new one takes over object by object, nor when the old one gives the link up.
func TestOwnerChanged(t *testing.T) {
	t.Run("adopted from it", func(t *testing.T) { changeOwner(t, object.Theirs) })
	t.Run("released first", func(t *testing.T) { changeOwner(t, object.Unmarked) })
}

func changeOwner(t *testing.T, between object.Mark) {
	o := owners{sim: linked(t, all), fleets: map[string]*fleet.Fleet{}}
	for _, who := range []string{owner, replacementOwner} {
		o.fleets[who] = declare(t, two, linkDoc("west", "east", all))
	}
	o.checked = false // by the inventories of one owner
	before := o.names("west")
	last, taken := o.as(replacementOwner)
	same(t, "the new one takes", nil, taken)
	if got := row(t, last["west"], westEast); got.Phase != Blocked || got.Why.Code != reason.ObjectExists {
		t.Errorf("the new one's end is %s: %v", got.Phase, got.Why)
	}
	for _, k := range o.marked() {
		if between == object.Unmarked { // the old one runs with a part of it released
			o.mark(t, k, between)
		}
		o.mark(t, k, object.Ours)
	}
	last, _ = o.as(replacementOwner)
	allInPlace(t, "west", last["west"])
	o.fleets[owner] = declare(t, two, "")
	_, taken = o.as(owner)
	if slices.ContainsFunc(taken, func(k string) bool { return strings.HasPrefix(k, "west:") }) {
		t.Errorf("the old one gives the link up: %s", taken)
	}
	last, taken = o.as(replacementOwner)
	same(t, "the new one takes at last", nil, taken)
	for c, step := range last {
		allInPlace(t, c, step)
	}
	for _, k := range before {
		if !slices.Contains(o.names("west"), k) && k != "ConfigMap linkwright-access/linkwright.west.east" {
			t.Errorf("%s is gone", k)
		}
	}
}

// marked returns the objects of the link in west, in order, but for what is read by nobody else.
func (o owners) marked() (out []object.Key) {
	for k, r := range o.live["west"].Live.Records() {
		if r.Mark == object.Theirs && k.Namespace != object.AccessNamespace && k.Kind != "Namespace" {
			out = append(out, k)
		}
	}
	return out
}
