package plan

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unique"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

var rules = []Policy{Suspend, PrunePolicy}

// rests are fleets that have come to rest, each in another way.
func rests() map[string]func(*testing.T) *sim {
	three := []api.ClusterName{"east", "north", "west"}
	links := linkDoc("west", "east", all) + linkDoc("east", "west", "") + linkDoc("west", "north", all)
	rest := func(t *testing.T, more string, then func(*sim)) *sim {
		s := newSim(t, declare(t, three, links+more), three...)
		s.extras = map[api.ClusterName][]object.Object{"west": {extra(t, policyKey, "a"), extra(t, budgetKey, "a")}}
		s.settle(rules...)
		then(s)
		s.settle(rules...)
		return s
	}
	as := func(clusters map[api.ClusterName]string, links string) func(*testing.T) *sim {
		return func(t *testing.T) *sim {
			return rest(t, "", func(s *sim) { s.world.Fleet = declareAs(t, three, clusters, links) })
		}
	}
	return map[string]func(*testing.T) *sim{
		"in place":       func(t *testing.T) *sim { return rest(t, "", func(*sim) {}) },
		"a cluster down": func(t *testing.T) *sim { return rest(t, "", func(s *sim) { s.down["north"] = true }) },
		"unlink waits":   func(t *testing.T) *sim { s := as(nil, "")(t); return s },
		"suspended link": as(nil, linkDoc("west", "east", all+suspended)+linkDoc("east", "west", "")),
		"suspended":      as(map[api.ClusterName]string{"east": ", suspend: true"}, links),
		"refused": as(nil, linkDoc("west", "east", "  controller: {mode: External}\n")+linkDoc("east", "west", "")+
			linkDoc("west", "north", all)+policyDoc("policy: UpsertOnly")),
		"too much": as(nil, linkDoc("west", "east", all)+policyDoc("maxLinks: 0%, minAllowed: 0")),
		"unlinking beside a dead cluster": func(t *testing.T) *sim {
			return rest(t, "", func(s *sim) {
				s.down["north"], s.world.Fleet = true, declare(t, three, linkDoc("west", "east", all))
			})
		},
		"occupied": func(t *testing.T) *sim {
			return rest(t, "", func(s *sim) { unmark(s, "west", deployment("east"), object.Theirs) })
		},
		"tokens that expire": func(t *testing.T) *sim {
			i := newIssuer(t, all+"  credentials: {mode: Bound}\n")
			i.settle(rules...)
			return i.sim
		},
		"outlived tokens": func(t *testing.T) *sim {
			i := newIssuer(t, all+"  credentials: {mode: Bound}\n")
			i.settle(rules...)
			i.world.Fleet = declare(t, two, linkDoc("west", "east", all+"  suspend: true\n"))
			i.settle(rules...)
			return i.sim
		},
		"a secret manager": func(t *testing.T) *sim {
			s := newSim(t, declare(t, two, linkDoc("west", "east", all+vault)), two...)
			s.manage(theToken, vaultKey, planeKey)
			s.settle(rules...)
			return s
		},
	}
}

func unmark(s *sim, c api.ClusterName, k object.Key, m object.Mark) {
	r := s.live[c].Seen.Record(k)
	r.Mark, r.Rivals = m, unique.Make("kubectl")
	record(&s.live[c].Seen, k, r)
}

// meddle is one foreign write somewhere in a cluster.
func meddle(s *sim, c api.ClusterName, random *rand.Rand) {
	side := s.live[c]
	var all []object.Key
	for k := range side.Seen.Records() {
		all = append(all, k)
	}
	k := all[random.IntN(len(all))]
	r, body := side.Seen.Record(k), bodyOf(side.Seen, k)
	r.ResourceVersion, r.Rivals = "meddled", unique.Make("kubectl")
	how := random.IntN(10)
	if k.Kind == "ConfigMap" {
		how %= 3 // one that cannot be read leaves nothing to look at
	}
	switch how {
	case 0:
		remove(side, k)
		return
	case 1:
		r.Digest++
	case 2, 3, 4:
		r.Fields = unique.Make(`{"f:metadata":{"f:labels":{}}}`)
	case 5:
		r.Mark = []object.Mark{object.Unmarked, object.Theirs, object.Copied, object.Ours}[random.IntN(4)]
	case 6:
		r.Going = true
	case 7:
		r.Keep = !r.Keep
	case 8:
		body = object.NewBody([]byte(`{"metadata":{"labels":{"mirror.linkerd.io/cluster-name":"east"}}}`))
	case 9:
		k.Name += []string{"-2", "-token", "-east"}[random.IntN(3)] // beside it, with the same mark
		r = object.Record{UID: "meddled", Mark: []object.Mark{object.Unmarked, object.Ours}[random.IntN(2)], Rivals: r.Rivals}
		body = object.Body{}
	}
	edit(&side.Seen, k, r, body)
}

// moved are the keys that differ between two looks.
func moved(a, b object.Observation) (out []object.Key) {
	differs := func(k object.Key) bool {
		return a.Record(k) != b.Record(k) || string(bodyOf(a, k).Bytes()) != string(bodyOf(b, k).Bytes())
	}
	for k := range a.Records() {
		if differs(k) {
			out = append(out, k)
		}
	}
	for k := range b.Records() {
		if a.Record(k).IsZero() {
			out = append(out, k)
		}
	}
	return out
}

// tally counts what was asked for, and the writes that were planned.
type tally struct{ nothing, alone, whole, planned, restored int }

// Whatever others write into a fleet at rest: what Asks passes over changes nothing, what Drift plans is what the whole
// plan would, takes nothing away, and leaves nothing to do. Where all is found so, the rows are the whole plan's.
func TestDriftIsPartOfThePlan(t *testing.T) {
	var n tally
	for name, rest := range rests() {
		t.Run(name, func(t *testing.T) {
			s := rest(t)
			live := map[api.ClusterName]object.Observation{}
			for c, side := range s.live {
				live[c] = side.Seen
			}
			for seed := range uint64(80) {
				for c := range s.live {
					s.live[c].Seen = live[c]
				}
				if n.meddled(t, s, rand.New(rand.NewPCG(seed, 3))); t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
	t.Logf("%+v", n)
	if min(n.nothing, n.alone, n.whole, n.planned, n.restored) < 40 {
		t.Error("the worlds are too much alike")
	}
}

// meddled lets others write into one cluster, and compares drift and whole plan.
func (n *tally) meddled(t *testing.T, s *sim, random *rand.Rand) {
	c := s.world.Fleet.Clusters[random.IntN(len(s.world.Fleet.Clusters))].Name
	before := s.now()
	last := Cluster(before, c, s.renderer(), rules...)
	if last.Writes() > 0 {
		t.Fatalf("%s is not at rest: %v", c, words(last))
	}
	for range 1 + random.IntN(2) {
		meddle(s, c, random)
	}
	w := s.now()
	keys := moved(before.Sides[c].Seen, w.Sides[c].Seen)
	full := Cluster(w, c, s.renderer(), rules...)
	ends, whole := Asks(w, last, keys)
	n.count(ends, whole)
	if whole { // each of them, whatever it is worth
		for _, row := range full.Rows {
			ends = append(ends, row.End)
		}
	}
	d := Drift(w, last, ends, s.renderer(), rules...)
	n.planned += len(d.Changes)
	within(t, d, full)
	if !whole && !d.Whole {
		agree(t, last.With(d), full, d)
		after := w
		after.Sides = maps.Clone(w.Sides)
		after.Sides[c] = After(w.Sides[c], d)
		same(t, "left to do", nil, words(Cluster(after, c, s.renderer(), rules...)))
	}
	if Restores(w, full) {
		n.restored++
		restored(t, s, w, full)
	}
	if t.Failed() {
		t.Errorf("%s: moved %v, asks for %v, whole %t\nlast %v\nfull %v %v\ndrift %v %v", c, keys, ends, whole,
			standings(last), standings(full), words(full), standings(d), words(d))
	}
}

// restored says that after a whole plan that only restores, drift of what it wrote finds all that another whole plan would.
func restored(t *testing.T, s *sim, w World, full Step) {
	t.Helper()
	var keys []object.Key
	for _, c := range full.Changes {
		if keys = append(keys, c.Key); c.Action.Takes() {
			t.Errorf("%s of %s restores nothing", c.Action, c.Key)
		}
	}
	w.Sides = maps.Clone(w.Sides)
	w.Sides[full.Cluster] = After(w.Sides[full.Cluster], full)
	ends, whole := Asks(w, full.Restored(), keys)
	d, again := Drift(w, full.Restored(), ends, s.renderer(), rules...), Cluster(w, full.Cluster, s.renderer(), rules...)
	if whole || d.Whole {
		t.Errorf("what was restored asks for the whole: %t, drift: %t", whole, d.Whole)
	}
	agree(t, full.Restored().With(d), again, d)
}

func (n *tally) count(ends []object.End, whole bool) {
	switch {
	case whole:
		n.whole++
	case len(ends) == 0:
		n.nothing++
	default:
		n.alone++
	}
}

// Drift plans nothing for an end that was not in place, in a cluster that is refused now, for another commit, or where
// something would go; it says then that the whole is to be planned.
func TestDriftLeavesToTheWhole(t *testing.T) {
	drain := linkDoc("west", "east", "  selector: {}\n")
	tests := []struct {
		name   string
		do     func(*sim)
		last   func(*Step)
		writes int
	}{
		{"drift alone", func(*sim) {}, func(*Step) {}, 1},
		{"another commit", func(s *sim) { s.world.Fleet = declare(t, two, "# another\n"+linkDoc("west", "east", "")) }, func(*Step) {}, 0},
		{"a drain", func(s *sim) { s.world.Fleet = declare(t, two, drain) }, func(s *Step) { s.Commit = declare(t, two, drain).Commit }, 0},
		{"a stranger", func(s *sim) { strange(s, "west") }, func(*Step) {}, 0},
		{"a later term", func(s *sim) { s.world.Term = 0 }, func(*Step) {}, 0},
		{"was refused", func(*sim) {}, func(s *Step) { s.Refused = object.Because("No", "no") }, 0},
		{"was held", func(*sim) {}, func(s *Step) { s.Rows[1].Standing = Held }, 0},
		{"is going", func(*sim) {}, func(s *Step) { s.Rows[1].Going = []object.Key{deployment("east")} }, 0},
		{"suspended now", func(s *sim) {
			s.world.Fleet = declare(t, two, linkDoc("west", "east", suspended))
		}, func(s *Step) { s.Commit = declare(t, two, linkDoc("west", "east", suspended)).Commit }, 0},
		{"occupied", func(s *sim) { unmark(s, "west", linkKey("east"), object.Theirs) }, func(*Step) {}, 0},
		{"its inventory is gone", func(s *sim) { remove(s.live["west"], inventory.Key(owner, westEast)) }, func(*Step) {}, 0},
	}
	for _, tt := range tests {
		s := linked(t, "")
		last := Cluster(s.now(), "west", s.renderer(), rules...)
		remove(s.live["west"], deployment("east"))
		tt.do(s)
		tt.last(&last)
		d := Drift(s.now(), last, []object.End{westEast, westEast}, s.renderer(), rules...)
		if len(d.Changes) != tt.writes || d.Whole != (tt.writes == 0) {
			t.Errorf("%s: %v, whole %t", tt.name, words(d), d.Whole)
		}
	}
}

// A step that does anything but write back what ends in place hold is none that restores, or one of which something asks for the
// whole.
func TestRestores(t *testing.T) {
	s := linked(t, "")
	w := s.now()
	write := func(a object.Action, k object.Key, code string) object.Change {
		return object.Change{End: westEast, Action: a, Key: k, Why: object.Reason{Code: code}}
	}
	step := func(standing Row, changes ...object.Change) Step {
		out := Cluster(w, "west", s.renderer())
		i := slices.IndexFunc(out.Rows, func(r Row) bool { return r.End == westEast })
		standing.End = westEast
		out.Rows[i], out.Changes = standing, changes
		return out
	}
	changing, edited, deleted := Row{Standing: Changing}, write(object.Update, linkKey("east"), "Drift"), write(object.Create, deployment("east"), "Missing")
	for name, tt := range map[string]struct {
		step Step
		do   func(*Step)
		want bool
	}{
		"drift":                      {step(changing, edited, deleted), nil, true},
		"nothing":                    {step(Row{Standing: InPlace}), nil, false},
		"another declaration":        {step(changing, edited, write(object.Update, deployment("east"), "Changed")), nil, false},
		"a replacement":              {step(changing, write(object.Replace, deployment("east"), "Drift")), nil, false},
		"a drain":                    {step(changing, write(object.Drain, linkKey("east"), "Drift")), nil, false},
		"a deletion":                 {step(changing, write(object.Delete, deployment("east"), "Drift")), nil, false},
		"an inventory":               {step(changing, edited), func(s *Step) { s.Ahead = s.Changes }, false},
		"the end of an inventory":    {step(changing, edited), func(s *Step) { s.After = s.Changes }, false},
		"a token":                    {step(changing, edited), func(s *Step) { s.Needs = make([]Need, 1) }, false},
		"a look":                     {step(changing, edited), func(s *Step) { s.Look = []api.ClusterName{"east"} }, false},
		"refused":                    {step(changing, edited), func(s *Step) { s.Refused = object.Because("No", "no") }, false},
		"of an end that is leaving":  {step(Row{Standing: Changing, Leaving: true}, edited), nil, false},
		"beside what is to go":       {step(Row{Standing: Changing, Going: []object.Key{mirrorKey}}, edited), nil, false},
		"of an end that is held":     {step(Row{Standing: Held}, edited), nil, false},
		"for a reason":               {step(Row{Standing: Changing, Why: object.Because("No", "no")}, edited), nil, false},
		"what asks for the whole":    {step(changing, write(object.Update, inventory.Key(owner, object.End{Cluster: "west"}), "Drift")), nil, false},
		"what its end does not hold": {step(changing, write(object.Update, deployment("north"), "Drift")), nil, false},
	} {
		if tt.do != nil {
			tt.do(&tt.step)
		}
		if got := Restores(w, tt.step); got != tt.want {
			t.Errorf("%s: restores %t, want %t", name, got, tt.want)
		}
	}
}

// within says that a drift is part of a whole plan and can take nothing away.
func within(t *testing.T, d, full Step) {
	t.Helper()
	if len(d.Ahead)+len(d.After)+len(d.Needs) > 0 {
		t.Errorf("more than changes: %v", words(d))
	}
	for _, c := range d.Changes {
		same := func(o object.Change) bool { return reflect.DeepEqual(c, o) }
		if c.Action.Takes() || c.Key.Kind == "ConfigMap" || !slices.ContainsFunc(full.Changes, same) {
			t.Errorf("%s of %s is not in the whole plan, or takes something away", c.Action, c.Key)
		}
	}
}

// agree says that a whole plan found no more than the drift of these ends.
func agree(t *testing.T, now, full, d Step) {
	t.Helper()
	same(t, "writes", words(full), words(d))
	for _, row := range full.Rows {
		i := slices.IndexFunc(now.Rows, func(r Row) bool { return r.End == row.End })
		if i < 0 {
			t.Errorf("%s: no row", row.End)
		} else if row.Standing != Changing && !reflect.DeepEqual(row, now.Rows[i]) {
			t.Errorf("%s is %s %v, told as %s %v", row.End, row.Standing, row.Why, now.Rows[i].Standing, now.Rows[i].Why)
		}
	}
	if len(full.Rows) != len(now.Rows) || len(full.Needs) > 0 {
		t.Errorf("%d rows, not %d; %d tokens are needed", len(now.Rows), len(full.Rows), len(full.Needs))
	}
}
