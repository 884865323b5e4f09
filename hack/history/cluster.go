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

// Errors of a write, as those of sync/cluster.
var (
	errExists           = errors.New("an object of that name exists")
	errConflict         = errors.New("it is not what was read")
	errUnserved         = errors.New("its kind is not served")
	errNamespaceMissing = errors.New("its namespace is not there")
)

type kind struct{ group, kind string }

func kindOf(k object.Key) kind { return kind{k.Group, k.Kind} }

// simCluster is the API server of one cluster, in memory. Preconditions are those of the real one (sync/cluster, Client.Write); the
// result of a write is that of plan.After.
type simCluster struct {
	name         api.ClusterName
	originalName api.ClusterName // the name that it had first, by which it is reached
	index        int             // which of the world's it is
	uid          string
	mc           string // the multicluster namespace as it is declared now
	objects      map[object.Key]*simObject
	sorted       map[kind][]*simObject // nil: to be made anew
	changes      int                   // moves with every change
	factsChanges int                   // moves with what facts are read from
	counter      int
	cachedFacts  cachedFacts // facts
	server       Server
	ownWrite     bool // what happens is our own write

	down, late, noCRD, idle bool // idle: Linkerd's controllers do nothing for now
	missEvery               int  // the next look misses one kind of so many, if it is not zero

	linked            map[api.ClusterName]bool // whom we have linked here since the cluster was built
	chartRan          map[api.ClusterName]bool // whose controller was the user's, once: its lease and its probe's Endpoints are, too
	relinked          map[api.ClusterName]bool // whom somebody else linked since
	foreign           map[object.Key]bool      // what is somebody else's, or was when it went
	damagedAt         int                      // the event at which others took an inventory
	rebuilt           bool                     // it took the place of a cluster that is gone
	blind             bool                     // others took the base, which tells of former namespaces and of secrets, and it was not written since
	isDeclared        bool                     // it is declared, and not to leave
	isDesired         func(object.Key) bool    // what is wanted in it
	began             map[api.Pair]int         // the event at which an inventory said first that its end leaves
	formerInventories []*simObject             // inventories as they were
	lagging           map[object.Key]bool      // pods that outlived their Deployment for a while
	abandoned         bool                     // people gave it up, as it was: what is left there nobody looks for
	lastStep          plan.Step                // the last of a cluster that was struck off the record
	downSince         time.Time                // since when it is down
	endedTokens       map[object.Key]string    // Secrets of tokens that a rotation ended, with the uid of their account
	reissued          bool                     // one of these was issued again: Kubernetes gives the same token for the same Secret and account
}

func (p *simCluster) put(t *simObject) {
	p.copyForeign(p.objects[t.key], t)
	k := kindOf(t.key)
	if was := p.objects[t.key]; was != nil && p.sorted[k] != nil {
		at, _ := slices.BinarySearchFunc(p.sorted[k], t.key, func(t *simObject, k object.Key) int { return t.key.Compare(k) })
		p.sorted[k] = slices.Clone(p.sorted[k])
		p.sorted[k][at] = t
	} else {
		delete(p.sorted, k)
	}
	if t.ofLinkerd {
		p.factsChanges++
	}
	if t.madeBy == byOthers {
		p.foreign[t.key] = true
		if t.key.Group == linkerd.Group {
			p.relinked[api.ClusterName(t.key.Name)] = true
		}
	}
	p.objects[t.key] = t
	p.changes++
}

// drop deletes an object; with a Service the server deletes the Endpoints of its name.
func (p *simCluster) drop(k object.Key) {
	if k.Kind == "Service" && k.Group == "" {
		defer p.drop(object.Key{Kind: "Endpoints", Namespace: k.Namespace, Name: k.Name})
	}
	if p.objects[k] != nil {
		p.copyForeign(p.objects[k], nil)
		delete(p.objects, k)
		delete(p.sorted, kindOf(k))
		p.changes++
	}
}

// next is a new number for a version or uid.
func (p *simCluster) next() string {
	p.counter++
	return strconv.Itoa(p.counter)
}

func (p *simCluster) newUID() string { return p.uid + "-" + p.next() }

// of returns the objects of a kind in order.
func (p *simCluster) of(k kind) []*simObject {
	if all, ok := p.sorted[k]; ok {
		return all
	}
	var all []*simObject
	for key, t := range p.objects {
		if key.Kind == k.kind && key.Group == k.group {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *simObject) int { return a.key.Compare(b.key) })
	p.sorted[k] = all
	return all
}

// all returns all objects in order.
func (p *simCluster) all() []*simObject {
	out := make([]*simObject, 0, len(p.objects))
	for _, t := range p.objects {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *simObject) int { return a.key.Compare(b.key) })
	return out
}

// observe is the server's response to watches.
func (p *simCluster) observe(watches []object.Watch) object.Observation {
	deep := slices.Clone(watches)
	slices.SortStableFunc(deep, func(a, b object.Watch) int { return int(b.Depth) - int(a.Depth) })
	var unserved []string
	layers := make([]object.Layer, 0, len(deep))
	for _, w := range deep {
		if p.noCRD && w.Group == linkerd.Group {
			unserved = append(unserved, w.KindName())
			continue
		}
		layers = append(layers, p.layer(w))
	}
	slices.Sort(unserved)
	return object.NewObservation(slices.Compact(unserved), layers...)
}

func (p *simCluster) layer(w object.Watch) object.Layer {
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
func (p *simCluster) write(c object.Change, when int) error {
	was := p.objects[c.Key]
	if err := p.refuses(c, was); err != nil {
		return fmt.Errorf("%s %s: %w", c.Action, c.Key, err)
	}
	p.ownWrite = true
	defer func() { p.ownWrite = false }()
	if was == nil && (c.Action == object.Delete || c.Action == object.Release) {
		return nil
	}
	switch c.Action {
	case object.None:
	case object.Delete:
		if p.delete(was); p.objects[inventoryKey(c.End.Link)] == nil {
			p.dropOrphans() // others took the inventory just now
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
func (p *simCluster) refuses(c object.Change, was *simObject) error {
	var live object.Record
	if was != nil {
		live = was.rec
	}
	exactly := live.UID == c.Was.UID && live.ResourceVersion == c.Was.ResourceVersion
	vacant := c.Action == object.Create || c.Conditional && c.Was.IsZero()
	switch {
	case (c.Action == object.Release || c.Action == object.Delete) && was == nil:
		return nil
	case vacant && was != nil:
		return errExists
	case (c.Action.Removes() && c.Action != object.Drain || c.Conditional) && !exactly, !c.Was.IsZero() && live.UID != c.Was.UID:
		return errConflict
	case c.Action == object.Release || c.Action == object.Delete:
		return nil
	case p.noCRD && c.Key.Group == linkerd.Group:
		return errUnserved
	case c.Key.Namespace != "" && p.objects[object.Key{Kind: "Namespace", Name: c.Key.Namespace}] == nil:
		return errNamespaceMissing
	}
	return nil
}

// delete takes an object away, or begins to.
func (p *simCluster) delete(was *simObject) {
	if !was.hasFinalizer {
		p.drop(was.key)
		return
	}
	next := *was
	next.rec.Terminating, next.rec.ResourceVersion = true, p.next()
	p.put(&next)
}

// applied is what an apply of ours leaves.
func (p *simCluster) applied(c object.Change, was *simObject, when int) *simObject {
	rec, body := p.after(c, was)
	t := &simObject{key: c.Key, rec: rec, body: body, madeBy: byLinkwright, end: c.End}
	t.rec.UID, t.rec.ResourceVersion = p.newUID(), p.next()
	if was != nil {
		t.rec.UID, t.rec.PruneDisabled, t.rec.Terminating = was.rec.UID, was.rec.PruneDisabled, was.rec.Terminating
		t.protectedSince, t.hasFinalizer, t.token, t.account = was.protectedSince, was.hasFinalizer, was.token, was.account
		if t.rec.PruneDisabled {
			t = t.edited(func(o map[string]any) {
				field(o, "metadata", "annotations")[object.PruneAnnotation] = object.PruneDisabled
			})
		}
		if t.token != "" {
			t = t.withToken()
		}
		if isInventory(c.Key) {
			p.formerInventories = append(p.formerInventories, was)
		}
	}
	late := p.damagedAt != when                                                                   // it is recorded no more, and nobody took the inventory: a process that hung writes it
	found := c.Key.Kind != extraKey(mc).Kind && (c.Key.Kind != "Secret" || c.Key.Namespace != cp) // by its mark: its kind is looked at anyway
	secret := c.Key.Kind == "Secret" && p.isLastOfEnd(t)
	t.orphan = was == nil && !found && !p.records(c.End, c.Key) && (late || secret)
	p.note(c, t, when)
	return t
}

// after asks the simulator.
func (p *simCluster) after(c object.Change, was *simObject) (object.Record, object.Body) {
	e := object.Observation{}.Edit()
	if was != nil {
		e.Put(c.Key, was.rec, was.body)
	}
	side := plan.After(state.Cluster{Reading: state.Simulated, Live: e.Observation()}, plan.Step{Changes: []object.Change{c}})
	body, _ := side.Live.Body(c.Key)
	return side.Live.Record(c.Key), body
}

// released is what a merge patch of ours leaves. What lost our mark by it is somebody else's from now on.
func (p *simCluster) released(c object.Change, was *simObject, when int) *simObject {
	rec, body := p.after(c, was)
	next := *was
	next.rec, next.body, next.decoded = rec, body, nil
	next.rec.UID, next.rec.ResourceVersion = was.rec.UID, p.next()
	if was.madeBy == byLinkwright && rec.Mark != object.Ours {
		next.madeBy, next.since, next.shaped = byOthers, when, true
	}
	return &next
}

// note remembers what a write of ours tells of links.
func (p *simCluster) note(c object.Change, t *simObject, when int) {
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
	switch leaving := isLeavingInventory(t.body); {
	case leaving && p.began[c.End.Link] == 0:
		p.began[c.End.Link] = when
	case !leaving:
		delete(p.began, c.End.Link)
	}
}

// uncovered is a record of which a field of ours is another's now.
func uncovered(r object.Record) object.Record {
	r.Fields, r.ForeignManagers = unique.Make(""), unique.Make("foreign")
	return r
}

// cachedFacts are facts of a look, with what they were read from.
type cachedFacts struct {
	dressed int
	noCRD   bool
	linkerd api.Linkerd
	facts   linkerd.Facts
}

// facts are read once from the same installation; those of half a look are not remembered.
func (p *simCluster) facts(c api.Cluster, observed object.Observation, whole bool) linkerd.Facts {
	now := cachedFacts{dressed: p.factsChanges, noCRD: p.noCRD, linkerd: c.Linkerd}
	if was := p.cachedFacts; whole && was.dressed == now.dressed && was.noCRD == now.noCRD && was.linkerd == now.linkerd {
		return was.facts
	}
	now.facts = linkerd.FactsOf(c, "https://"+string(p.originalName)+".example.com:6443", observed)
	if whole {
		p.cachedFacts = now
	}
	return now.facts
}

// miss leaves one kind out of a look: what is not looked for is not known. What would be an error of the whole look – mirrors
// are read by labels, inventories come first – is never left out.
func (p *simCluster) miss(watches []object.Watch) ([]object.Watch, bool) {
	if p.missEvery == 0 {
		return watches, true
	}
	var may []int
	for i, w := range watches {
		if w.Selector == "" && (w.Kind != "ConfigMap" || w.Namespace != object.AccessNamespace) {
			may = append(may, i)
		}
	}
	at := may[p.missEvery%len(may)]
	p.missEvery = 0
	return slices.Delete(slices.Clone(watches), at, at+1), false
}
