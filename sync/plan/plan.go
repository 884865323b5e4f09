// Package plan answers: given everything known now, what is one cluster's next step?
//
// It is a function from values to values: the same world gives the same step, byte for byte. First
// link, change of facts and unlink are no scripts but what falls out of comparing wanted ends with what is live.
package plan

import (
	"slices"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
)

// World is everything known at one moment. A cluster that was never read completely has no known Side.
type World struct {
	Owner string
	// Namespace is that of the record in the management cluster, as commands need it; empty: the usual one.
	Namespace string
	Term      int64
	Fleet     *fleet.Fleet
	Departed  []fleet.Cluster // of the record, but no longer declared
	Sides     map[api.ClusterName]pair.Side
	Twins     map[string]bool                 // identities that several known sides show; nil: they are counted
	Fresh     map[api.Pair]linkerd.Credential // stand-ins, or credentials not yet seen in place
	// Proofs are what trying credentials gave, by link; nil: nobody tries them here.
	Proofs map[api.Pair]pair.Proof
	// UIDs are the identities by which clusters are remembered; Accepted are those that people confirmed.
	UIDs, Accepted map[api.ClusterName]string
	// Debts are what clusters still hold of removed links, as the home record tells; Forget are clusters that people give up,
	// once they are declared no more.
	Debts  map[api.ClusterName][]inventory.Debt
	Forget map[api.ClusterName]bool
	// Guard limits what a revision may remove.
	Guard Guard
	// Suspended are people's decisions of the kind Suspend; what is over counts no more.
	Suspended []inventory.Decision
	// Grace is for how long a source that gives no answer keeps its access to the target of a removed link; zero: not at all.
	Grace time.Duration
	// Barred are the commits after which the fleet's must not be applied, as bases carry them, with the reason.
	Barred map[api.Commit]*object.Reason
	// Probe has credentials tried of clusters that are not written here, too.
	Probe bool
	// Elsewhere are clusters that other processes write: their terms are no fence to us.
	Elsewhere map[api.ClusterName]bool
	// Contested are objects that others changed again and again, as often as they were corrected; Immutable are those of
	// which the server refused the last write for good.
	Contested map[api.ClusterName]map[object.Key]Contest
	Immutable map[api.ClusterName]map[object.Key]Refusal
	// Failing are the ends of which a write failed in the last turn of their cluster: they change for as long as it does.
	Failing map[api.ClusterName]map[object.End]bool
	// Followed is when a link was last changed for nothing but its target's facts, since the fleet's commit is in force.
	Followed map[api.Pair]time.Time
	// Pass numbers the reading of clusters, all at once and by requests: what cannot be taken back is not decided on a Side
	// of another one.
	Pass int
	Now  time.Time
	// Once has no rate limit hold conditions back: a sync that runs once ends when it has persisted what it knows.
	Once bool
	// Adopt has steps adopt what others made for these links, and do nothing else; nil: ordinary steps. Rules widen what may be.
	Adopt map[api.Pair]bool
	Rules AdoptRules
	// Release has steps give up what it names, and do nothing else; nil: ordinary steps.
	Release *Releasing
	// RequireConfinement has nothing written to clusters whose admission policies do not confine linkwright's account.
	RequireConfinement bool
}

// Standing is where an end is.
type Standing string

// Standings of an end.
const (
	InPlace  Standing = "in place"
	Changing Standing = "changing" // writes are planned
	Held     Standing = "held"     // declared, but not renderable now
	Waiting  Standing = "waiting"  // something must happen by itself first
	Refused  Standing = "refused"  // by a guard or a policy
	Removed  Standing = "removed"  // its last write is planned, or nothing of it is left
	// Suspended is an end that is left as it is because people declared so, or one that waits for such an end.
	Suspended Standing = "suspended"
)

// Row is how one end stands. Other is the cluster of the link's other end, empty for a base. Going lists what of ours goes in the end,
// and Unready what of an end in place is not ready.
type Row struct {
	End      object.End
	Standing Standing
	Why      *object.Reason
	Leaving  bool
	Other    api.ClusterName
	Going    []object.Key
	Unready  []Unready
	Health   []pair.Verdict // of a declared link, at its source: all stages in order
	Until    time.Time      // of a drain: what is left then is swept; zero: Why is waited for as long as it takes
}

// Step is what to do in one cluster now. Refused: nothing may be written there at all.
type Step struct {
	Cluster api.ClusterName
	Commit  api.Commit
	Refused *object.Reason
	// Unconfined says why no admission policies confine linkwright's account there, and what to do; nil: they do, or it is not known.
	Unconfined *object.Reason
	Ahead      []object.Change // before anything else, one after the other: our namespace, the base, inventories
	Changes    []object.Change // by phase, then key; what takes something away last
	After      []object.Change // inventories of ends that are through
	Needs      []Need          // tokens to ask the cluster for, once all of that is done
	Tries      []Try           // credentials to try now: what comes of it is in the next World
	Retry      time.Time       // when there may be others to try, or conditions to tell, for which no pass waits; zero: never
	Rows       []Row           // sorted by end
	Next       time.Time       // when it may differ although nothing was written; zero: never
	// Look are clusters that must be read in this pass before what ends with the code Unread wait for can be decided; sorted.
	Look []api.ClusterName
	// Owed are ends in other clusters that nothing but the home record will tell of once this step is done: to be written there
	// first. Paid are debts of this cluster that the record need not tell of any more. Both are sorted.
	Owed []object.End
	Paid []api.Pair
	// Judged is what is new about removals: to be written to the record before anything else.
	Judged Judged
	// Strays carry our label and are not provably ours: the first of them by key, and how many more there are. They are only told.
	Strays     []Stray
	MoreStrays int
}

// Renderer is package render, or a memo of it with overlays applied: same input, same bytes.
type Renderer interface {
	Source(render.Input) object.Wanted
	Target(render.Input) object.Wanted
	// Complete makes of all that Source and Target gave for a cluster what is to be applied there, the base included;
	// without ends only the base. Nothing handed in is changed.
	Complete(c fleet.Cluster, ends []object.Wanted) []object.Wanted
}

// Policy lets an end's changes through (nil) or says why not: whole ends, so that no link is half written. One that lets
// not even no changes through closes the end: nothing of it is written, its inventory and the base's commit included.
type Policy func(w World, end object.End, changes []object.Change) *object.Reason

// soon is when a step that waits for others is asked again; there is no watch that would tell.
const soon = 300 * time.Millisecond

// Cluster gives the next step of one cluster. The program: identity, wanted ends, compare, prune, policies.
func Cluster(w World, name api.ClusterName, r Renderer, policies ...Policy) Step {
	s := Step{Cluster: name, Commit: w.commit()}
	p := &planner{World: w, name: name, side: w.Sides[name], renderer: r, policies: policies}
	s.Unconfined = p.unconfined()
	if w.handed(name) {
		p.step = &s
		if why := p.handingOver(); why != nil {
			p.tell(Row{End: object.End{Cluster: name}, Standing: Waiting, Why: why})
		}
		return s
	}
	switch {
	case (w.Adopt != nil || w.Release != nil) && p.unsure() != nil:
		s.Refused = p.unsure()
		return s
	case w.Adopt != nil:
		return p.adopt(s)
	case w.Release != nil:
		return p.release(s)
	}
	if p.forsaken(name) {
		s.Rows = []Row{p.forsake()}
		return s
	}
	p.wanted = p.wants(name)
	if s.Refused = p.refusal(); s.Refused != nil {
		s.Refused = p.parted(s.Refused)
		s.Rows = p.allHeld(s.Refused)
		return s
	}
	p.step = &s
	p.compare()
	p.left()
	p.warn()
	p.announce()
	p.checkup()
	p.condition()
	p.finish()
	p.judge()
	p.rotate()
	p.settleUp()
	p.astray()
	p.yields()
	p.orphaned()
	p.lookBack()
	return s
}

// planner holds what one call of Cluster works on.
type planner struct {
	World
	name       api.ClusterName
	side       pair.Side
	recorded   []inventory.Inventory
	rebuilds   []inventory.Inventory // what is recorded, with what was lost of it
	renderer   Renderer
	policies   []Policy
	wanted     []object.Wanted
	step       *Step
	formerBase bool                 // the base is of the cluster's former name
	base       *inventory.Inventory // to be written, its commit and term aside; nil: its entries are as they should be

	coverage    object.Coverage
	strays      []Stray
	granted     time.Time                                      // when the first access of a dead source goes; zero: none does
	calmed      time.Time                                      // when the first contested object is corrected again; zero: none
	strangers   map[api.ClusterName]*object.Reason             // memo of stranger
	issued      map[api.ClusterName]map[object.Key]pair.Issued // memo of pair.Side.Issued
	credentials map[api.Pair]given                             // memo of credential
	weighed     *prune.Removal                                 // memo of removal
	heard       *news                                          // memo of news
	pulses      map[api.ClusterName]linkerd.Pulse              // memo of what the cluster tells of its targets' gateways
}

func (w World) commit() api.Commit {
	if w.Fleet == nil {
		return ""
	}
	return w.Fleet.Commit
}

// declared gives a cluster with its links out and in; a departed cluster has none.
func (w World) declared(name api.ClusterName) (c *fleet.Cluster, out, in []fleet.Link) {
	if w.Fleet == nil {
		return nil, nil, nil
	}
	c, ok := w.Fleet.Cluster(name)
	if !ok {
		return nil, nil, nil
	}
	return c, w.Fleet.Out(name), w.Fleet.In(name)
}

// spec is the cluster's declaration, or what is remembered of it: Linkerd is then where the base says.
func (w World) spec(name api.ClusterName) api.Cluster {
	if c, _, _ := w.declared(name); c != nil {
		return c.Spec
	}
	for _, c := range w.Departed {
		if c.Name == name {
			c.Spec.Linkerd = w.installed(c, w.Sides[name].Seen)
			return c.Spec
		}
	}
	return api.Cluster{}.WithDefaults()
}

// leaves says that a cluster is declared to leave: all that it holds of ours goes.
func (w World) leaves(name api.ClusterName) bool {
	c, _, _ := w.declared(name)
	return c != nil && c.Spec.State == api.Leaving
}

// Wants gives every declared end of a cluster as it is to be, sorted: the base, then links. One that leaves has none.
func Wants(w World, name api.ClusterName, r Renderer) []object.Wanted {
	p := &planner{World: w, name: name, renderer: r}
	return p.wants(name)
}

// wants gives every declared end of a cluster; where only some are asked for, others may be left out.
func (p *planner) wants(name api.ClusterName, only ...object.End) []object.Wanted {
	c, out, in := p.declared(name)
	if c == nil || c.Spec.State == api.Leaving {
		return nil
	}
	asked := func(l fleet.Link) bool { // an overlay is built for all ends of its cluster
		return len(only) == 0 || c.Overlay != nil || slices.Contains(only, object.End{Cluster: name, Link: l.Pair()})
	}
	var ends []object.Wanted
	for _, l := range out {
		if asked(l) {
			ends = append(ends, p.source(l))
		}
	}
	for _, l := range in {
		if asked(l) {
			ends = append(ends, p.target(l))
		}
	}
	ends = p.renderer.Complete(*c, ends)
	if ignored := p.policy().Ignore; len(ignored) > 0 {
		ends = slices.Clone(ends)
		for i, want := range ends {
			ends[i] = render.Without(want, ignored, p.Owner)
		}
	}
	return sortEnds(ends)
}

func (p *planner) source(l fleet.Link) object.Wanted {
	in := render.Input{Link: l, Source: p.facts(l.Source.Name), Target: p.targetFacts(l)}
	cred, why := p.credential(l)
	if why == nil {
		why = p.known(l).Distrust(p.Now)
	}
	if why == nil {
		why = p.stale(l)
	}
	if why != nil {
		return object.Wanted{End: object.End{Cluster: l.Source.Name, Link: l.Pair()}, Held: why}
	}
	in.Target = p.located(l, in.Target)
	in.Credential = cred
	in.ControlPlaneSecretLive, in.Undiscovered = p.discovers(l), p.undiscovered(l) != nil
	link, seen := linkerd.LinkKey(l.Source.Spec.Linkerd, l.Target.Name), p.Sides[l.Source.Name].Seen
	body, _ := seen.Body(link)
	if in.Source != nil {
		in.AppliedIn = linkerd.AppliedIn(seen.Record(link), body, in.Source.LinkVersion())
	}
	if l.Spec.UsesRemoteDiscovery() {
		in.Marked = p.marked(l)
	}
	return p.renderer.Source(in)
}

// facts are those of the cluster that the name means: of a stranger only why there are none.
func (p *planner) facts(name api.ClusterName) *linkerd.Facts {
	side := p.Sides[name]
	if !side.Known {
		return nil
	}
	if why := p.stranger(name); why != nil {
		return &linkerd.Facts{Missing: []linkerd.Missing{{Role: linkerd.AsSource, Why: *why}, {Role: linkerd.AsTarget, Why: *why}}}
	}
	facts := side.Facts // not all of the side
	return &facts
}

// targetFacts are as facts, of a link's target.
func (p *planner) targetFacts(l fleet.Link) *linkerd.Facts {
	facts := p.facts(l.Target.Canonical())
	if facts == nil || l.Target.Spec.SameAs == "" || p.stranger(l.Target.Spec.SameAs) != nil {
		return facts
	}
	by := p.Sides[l.Target.Spec.SameAs].As(l.Target)
	return &by
}

func (p *planner) allHeld(why *object.Reason) []Row {
	rows := make([]Row, len(p.wanted))
	for i, want := range p.wanted {
		rows[i] = Row{End: want.End, Standing: Held, Why: why, Other: p.otherOf(want.End)}
	}
	return rows
}

// pruneInput is what package prune judges; also for a peer, whose guards this cluster's unlinks depend on.
func (p *planner) pruneInput(name api.ClusterName, wanted []object.Wanted, recorded []inventory.Inventory) prune.Input {
	side := p.Sides[name]
	l := p.spec(name).Linkerd
	in := prune.Input{
		Linkerd: l, Wanted: make(map[object.End]object.Wanted, len(wanted)), Recorded: p.rebuilt(name, recorded, p.strayIn(name)),
		Seen: side.Seen, Saw: side.Saw, Policy: p.policy(), Leaving: map[api.ClusterName]bool{name: p.leaves(name)}, Now: p.Now, Grace: p.Grace, In: p.installation(),
		Mirrors: sync.OnceValue(func() map[api.ClusterName]linkerd.Mirror { return linkerd.MirrorsOf(l, side.Seen) }),
	}
	for _, inv := range in.Recorded {
		if inv.End.IsBase() {
			continue
		}
		in.Leaving[inv.End.Link.Source], in.Leaving[inv.End.Link.Target] = p.leaves(inv.End.Link.Source), p.leaves(p.holder(inv.End.Link))
	}
	for _, w := range wanted {
		in.Wanted[w.End] = w
	}
	in.Removal = p.removal
	in.Retired, in.External = p.retired(in), p.external(name, in)
	in.Successor = func(end object.End) *object.Reason {
		_, declared := in.Wanted[end]
		return p.successor(name, end, declared)
	}
	return in
}

func (w World) policy() api.SyncPolicy {
	if w.Fleet == nil {
		return api.SyncPolicy{}.WithDefaults()
	}
	return w.Fleet.Policy
}
