package plan

import (
	"slices"
	"testing"
	"unique"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
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
			return rest(t, "", func(s *sim) { s.snapshot.Fleet = declareAs(t, three, clusters, links) })
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
				s.down["north"], s.snapshot.Fleet = true, declare(t, three, linkDoc("west", "east", all))
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
			i.snapshot.Fleet = declare(t, two, linkDoc("west", "east", all+"  suspend: true\n"))
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
	r := s.live[c].Live.Record(k)
	r.Mark, r.ForeignManagers = m, unique.Make("kubectl")
	record(&s.live[c].Live, k, r)
}

// A step that does anything but write back what others changed or deleted is no repair.
func TestRepairs(t *testing.T) {
	s := linked(t, "")
	w := s.now()
	write := func(a object.Action, k object.Key, code string) object.Change {
		return object.Change{End: westEast, Action: a, Key: k, Why: object.Reason{Code: reason.Code(code)}}
	}
	step := func(standing Row, changes ...object.Change) Step {
		out := Next(w, "west", s.renderer())
		i := slices.IndexFunc(out.Rows, func(r Row) bool { return r.End == westEast })
		standing.End = westEast
		out.Rows[i], out.Changes = standing, changes
		return out
	}
	changing, edited, deleted := Row{Phase: Changing}, write(object.Update, linkKey("east"), "Drift"), write(object.Create, deployment("east"), "Missing")
	for name, tt := range map[string]struct {
		step Step
		do   func(*Step)
		want bool
	}{
		"drift":                   {step(changing, edited, deleted), nil, true},
		"nothing":                 {step(Row{Phase: Ready}), nil, false},
		"another declaration":     {step(changing, edited, write(object.Update, deployment("east"), "Changed")), nil, false},
		"a replacement":           {step(changing, write(object.Replace, deployment("east"), "Drift")), nil, false},
		"a drain":                 {step(changing, write(object.Drain, linkKey("east"), "Drift")), nil, false},
		"a deletion":              {step(changing, write(object.Delete, deployment("east"), "Drift")), nil, false},
		"an inventory":            {step(changing, edited), func(s *Step) { s.Ahead = s.Changes }, false},
		"the end of an inventory": {step(changing, edited), func(s *Step) { s.After = s.Changes }, false},
		"a token":                 {step(changing, edited), func(s *Step) { s.TokenRequests = make([]TokenRequest, 1) }, false},
		"a look":                  {step(changing, edited), func(s *Step) { s.ReadFirst = []api.ClusterName{"east"} }, false},
		"refused":                 {step(changing, edited), func(s *Step) { s.Denied = object.Because("No", "no") }, false},
		"for a reason":            {step(Row{Phase: Changing, Why: object.Because("No", "no")}, edited), nil, false},
	} {
		if tt.do != nil {
			tt.do(&tt.step)
		}
		if got := tt.step.Repairs(); got != tt.want {
			t.Errorf("%s: repairs %t, want %t", name, got, tt.want)
		}
	}
}

// Repaired is reported as in place.
func TestRepaired(t *testing.T) {
	step := Step{Changes: make([]object.Change, 1), Rows: []Row{{End: westEast, Phase: Changing}, {Phase: Blocked}}}
	got := step.Repaired()
	if len(got.Changes) > 0 || got.Rows[0].Phase != Ready || got.Rows[1].Phase != Blocked || step.Rows[0].Phase != Changing {
		t.Errorf("repaired: %+v, before %+v", got, step)
	}
}
