package history

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// Names of every history.
const (
	owner = object.DefaultOwner
	cp    = api.DefaultNamespace
	mc    = api.DefaultMulticlusterNamespace
	other = "linkerd-elsewhere" // another multicluster namespace
	shop  = "shop"              // where services are mirrored
)

// Refusals of a write, as sync/cluster gives them.
var (
	errOccupied = errors.New("an object of that name exists")
	errConflict = errors.New("it is not what was read")
	errUnserved = errors.New("its kind is not served")
	errHome     = errors.New("its namespace is not there")
)

type kind struct{ group, kind string }

func kindOf(k object.Key) kind { return kind{k.Group, k.Kind} }

// plane is one cluster's API server, in memory. Preconditions are those of the real one (sync/cluster, Client.Write); what a
// write leaves is what plan.After says.
type plane struct {
	name    api.ClusterName
	born    api.ClusterName // the name that it had first, by which it is reached
	at      int             // which of the world's it is
	uid     string
	mc      string // the multicluster namespace as it is declared now
	things  map[object.Key]*thing
	sorted  map[kind][]*thing // nil: to be made anew
	rev     int               // moves with every change
	dressed int               // moves with what facts are read from
	counter int
	known   known // facts
	server  Server
	own     bool // what happens is our own write

	down, late, noCRD, idle bool // idle: Linkerd's controllers do nothing for now
	half                    int  // the next look misses one kind of so many, if it is not zero

	linked   map[api.ClusterName]bool // whom we have linked here since the cluster was built
	charted  map[api.ClusterName]bool // whose controller was the user's, once: its lease and its probe's Endpoints are, too
	relinked map[api.ClusterName]bool // whom somebody else linked since
	foreign  map[object.Key]bool      // what is somebody else's, or was when it went
	spoilt   int                      // the event at which others took an inventory
	rebuilt  bool                     // it took the place of a cluster that is gone
	blind    bool                     // others took the base, which tells of former namespaces and of secrets, and it was not written since
	stays    bool                     // it is declared, and not to leave
	declares func(object.Key) bool    // what is wanted in it
	began    map[api.Pair]int         // the event at which an inventory said first that its end leaves
	older    []*thing                 // inventories as they were
	lagging  map[object.Key]bool      // pods that outlived their Deployment for a while
	given    bool                     // people gave it up, as it was: what is left there nobody looks for
	parting  plan.Step                // the last of a cluster that was struck off the record
	silent   time.Time                // since when it is down
	ended    map[object.Key]string    // Secrets of tokens that a rotation ended, with the uid of their account
	again    bool                     // one of these was issued again: Kubernetes gives the same token for the same Secret and account
}

func (p *plane) put(t *thing) {
	p.aside(p.things[t.key], t)
	k := kindOf(t.key)
	if was := p.things[t.key]; was != nil && p.sorted[k] != nil {
		at, _ := slices.BinarySearchFunc(p.sorted[k], t.key, func(t *thing, k object.Key) int { return t.key.Compare(k) })
		p.sorted[k] = slices.Clone(p.sorted[k])
		p.sorted[k][at] = t
	} else {
		delete(p.sorted, k)
	}
	if t.dressing {
		p.dressed++
	}
	if t.by == others {
		p.foreign[t.key] = true
		if t.key.Group == linkerd.Group {
			p.relinked[api.ClusterName(t.key.Name)] = true
		}
	}
	p.things[t.key] = t
	p.rev++
}

// drop takes an object away; with a Service the server itself takes the Endpoints of its name.
func (p *plane) drop(k object.Key) {
	if k.Kind == "Service" && k.Group == "" {
		defer p.drop(object.Key{Kind: "Endpoints", Namespace: k.Namespace, Name: k.Name})
	}
	if p.things[k] != nil {
		p.aside(p.things[k], nil)
		delete(p.things, k)
		delete(p.sorted, kindOf(k))
		p.rev++
	}
}

// next numbers a version.
func (p *plane) next() string {
	p.counter++
	return strconv.Itoa(p.counter)
}

func (p *plane) newUID() string { return p.uid + "-" + p.next() }

// of returns the things of a kind in order.
func (p *plane) of(k kind) []*thing {
	if all, ok := p.sorted[k]; ok {
		return all
	}
	var all []*thing
	for key, t := range p.things {
		if key.Kind == k.kind && key.Group == k.group {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *thing) int { return a.key.Compare(b.key) })
	p.sorted[k] = all
	return all
}

// all returns every thing in order.
func (p *plane) all() []*thing {
	out := make([]*thing, 0, len(p.things))
	for _, t := range p.things {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *thing) int { return a.key.Compare(b.key) })
	return out
}

// observe is what the server answers to watches.
func (p *plane) observe(watches []object.Watch) object.Observation {
	deep := slices.Clone(watches)
	slices.SortStableFunc(deep, func(a, b object.Watch) int { return int(b.Depth) - int(a.Depth) })
	var unserved []string
	layers := make([]object.Layer, 0, len(deep))
	for _, w := range deep {
		if p.noCRD && w.Group == linkerd.Group {
			unserved = append(unserved, w.Called())
			continue
		}
		layers = append(layers, p.layer(w))
	}
	slices.Sort(unserved)
	return object.NewObservation(slices.Compact(unserved), layers...)
}

func (p *plane) layer(w object.Watch) object.Layer {
	l := object.Layer{Group: w.Group, Kind: w.Kind}
	selects := selector(w.Selector)
	for _, t := range p.of(kind{w.Group, w.Kind}) {
		if w.Namespace != "" && w.Namespace != t.key.Namespace || len(w.Names) > 0 && !slices.Contains(w.Names, t.key.Name) ||
			selects != nil && !selects.Matches(labels.Set(t.meta().Labels)) {
			continue
		}
		l.Items = append(l.Items, object.Item{Namespace: t.key.Namespace, Name: t.key.Name, Record: t.rec, Body: t.at(w.Depth)})
	}
	return l
}

func selector(text string) labels.Selector {
	if text == "" {
		return nil
	}
	s, err := labels.Parse(text)
	must(err)
	return s
}

// write does one change of ours; when is the event. What is live before it was judged by the caller.
func (p *plane) write(c object.Change, when int) error {
	was := p.things[c.Key]
	if err := p.refuses(c, was); err != nil {
		return fmt.Errorf("%s %s: %w", c.Action, c.Key, err)
	}
	p.own = true
	defer func() { p.own = false }()
	if was == nil && (c.Action == object.Delete || c.Action == object.Release) {
		return nil
	}
	switch c.Action {
	case object.None:
	case object.Delete:
		if p.delete(was); p.things[inventoryKey(c.End.Link)] == nil {
			p.forget() // others took the inventory just now
		}
	case object.Release:
		p.put(p.released(c, was, when))
	case object.Replace:
		p.drop(c.Key)
		p.put(p.applied(c, nil, when))
	default:
		p.put(p.applied(c, was, when))
	}
	return nil
}

// refuses returns why the server would not.
func (p *plane) refuses(c object.Change, was *thing) error {
	var live object.Record
	if was != nil {
		live = was.rec
	}
	exactly := live.UID == c.Was.UID && live.ResourceVersion == c.Was.ResourceVersion
	vacant := c.Action == object.Create || c.Fenced && c.Was.IsZero()
	switch {
	case (c.Action == object.Release || c.Action == object.Delete) && was == nil:
		return nil
	case vacant && was != nil:
		return errOccupied
	case (c.Action.Takes() && c.Action != object.Drain || c.Fenced) && !exactly, !c.Was.IsZero() && live.UID != c.Was.UID:
		return errConflict
	case c.Action == object.Release || c.Action == object.Delete:
		return nil
	case p.noCRD && c.Key.Group == linkerd.Group:
		return errUnserved
	case c.Key.Namespace != "" && p.things[object.Key{Kind: "Namespace", Name: c.Key.Namespace}] == nil:
		return errHome
	}
	return nil
}

// delete takes an object away, or begins to.
func (p *plane) delete(was *thing) {
	if !was.hung {
		p.drop(was.key)
		return
	}
	next := *was
	next.rec.Going, next.rec.ResourceVersion = true, p.next()
	p.put(&next)
}

// applied is what an apply of ours leaves.
func (p *plane) applied(c object.Change, was *thing, when int) *thing {
	rec, body := p.after(c, was)
	t := &thing{key: c.Key, rec: rec, body: body, by: ours, end: c.End}
	t.rec.UID, t.rec.ResourceVersion = p.newUID(), p.next()
	if was != nil {
		t.rec.UID, t.rec.Keep, t.rec.Going = was.rec.UID, was.rec.Keep, was.rec.Going
		t.kept, t.hung, t.token, t.account = was.kept, was.hung, was.token, was.account
		if t.rec.Keep {
			t = t.edited(func(o map[string]any) {
				field(o, "metadata", "annotations")[object.PruneAnnotation] = object.PruneDisabled
			})
		}
		if t.token != "" {
			t = t.withToken()
		}
		if isInventory(c.Key) {
			p.older = append(p.older, was)
		}
	}
	late := p.spoilt != when                                                                      // it is recorded no more, and nobody took the inventory: a process that hung writes it
	found := c.Key.Kind != extraKey(mc).Kind && (c.Key.Kind != "Secret" || c.Key.Namespace != cp) // by its mark: its kind is looked at anyway
	secret := c.Key.Kind == "Secret" && p.last(t)
	t.orphan = was == nil && !found && !p.records(c.End, c.Key) && (late || secret)
	p.note(c, t, when)
	return t
}

// after asks the simulator.
func (p *plane) after(c object.Change, was *thing) (object.Record, object.Body) {
	e := object.Observation{}.Edit()
	if was != nil {
		e.Put(c.Key, was.rec, was.body)
	}
	side := plan.After(state.Cluster{Reading: state.Simulated, Seen: e.Observation()}, plan.Step{Changes: []object.Change{c}})
	body, _ := side.Seen.Body(c.Key)
	return side.Seen.Record(c.Key), body
}

// released is what a merge patch of ours leaves. What lost our mark by it is somebody else's from now on.
func (p *plane) released(c object.Change, was *thing, when int) *thing {
	rec, body := p.after(c, was)
	next := *was
	next.rec, next.body, next.told = rec, body, nil
	next.rec.UID, next.rec.ResourceVersion = was.rec.UID, p.next()
	if was.by == ours && rec.Mark != object.Ours {
		next.by, next.since, next.shaped = others, when, true
	}
	return &next
}

// note remembers what a write of ours tells of links.
func (p *plane) note(c object.Change, t *thing, when int) {
	delete(p.foreign, c.Key)
	if c.Key.Group == linkerd.Group && c.Key.Kind == "Link" {
		target := api.ClusterName(c.Key.Name)
		p.linked[target] = true
		delete(p.relinked, target)
	}
	if !isInventory(c.Key) {
		return
	}
	if c.Key == baseKey() {
		p.blind = false
	}
	switch leaving := leaves(t.body); {
	case leaving && p.began[c.End.Link] == 0:
		p.began[c.End.Link] = when
	case !leaving:
		delete(p.began, c.End.Link)
	}
}

// uncovered is a record of which a field of ours is another's now.
func uncovered(r object.Record) object.Record {
	r.Fields, r.Rivals = unique.Make(""), unique.Make("foreign")
	return r
}

// known are facts of a look, with what they were read from.
type known struct {
	dressed int
	noCRD   bool
	linkerd api.Linkerd
	facts   linkerd.Facts
}

// facts are read once from the same installation; those of half a look are not remembered.
func (p *plane) facts(c api.Cluster, seen object.Observation, whole bool) linkerd.Facts {
	now := known{dressed: p.dressed, noCRD: p.noCRD, linkerd: c.Linkerd}
	if was := p.known; whole && was.dressed == now.dressed && was.noCRD == now.noCRD && was.linkerd == now.linkerd {
		return was.facts
	}
	now.facts = linkerd.FactsOf(c, "https://"+string(p.born)+".example.com:6443", seen)
	if whole {
		p.known = now
	}
	return now.facts
}

// miss leaves one kind out of a look: what is not looked for is not known. What would be an error of the whole look – mirrors
// are read by labels, inventories come first – is never left out.
func (p *plane) miss(watches []object.Watch) ([]object.Watch, bool) {
	if p.half == 0 {
		return watches, true
	}
	var may []int
	for i, w := range watches {
		if w.Selector == "" && (w.Kind != "ConfigMap" || w.Namespace != object.AccessNamespace) {
			may = append(may, i)
		}
	}
	at := may[p.half%len(may)]
	p.half = 0
	return slices.Delete(slices.Clone(watches), at, at+1), false
}
