package history

import (
	"fmt"
	"maps"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// Server is a real API server that goes through the same as a cluster in memory.
type Server interface {
	Observe(w []object.Watch) (object.Observation, error)
	Write(c object.Change) error
	// Foreign does what somebody else does to an object: makes it, changes it, or takes it away, where now is nil.
	Foreign(was, now *Live) error
}

// Live is an object as somebody else writes it. Another UID is another object; Held has a finalizer.
type Live struct {
	Key         object.Key
	Body        object.Body
	UID         string
	Held, Going bool
	Manager     string // the field manager of who made it
}

func (t *thing) live() *Live {
	if t == nil {
		return nil
	}
	manager := "foreign"
	if t.by == mirroring {
		manager = mirrorManager
	}
	return &Live{Key: t.key, Body: t.body, UID: t.rec.UID, Held: t.hung, Going: t.rec.Going, Manager: manager}
}

// twin puts a server beside a cluster in memory, which takes its installation of Linkerd over from there: facts are the same
// then, and whatever is rendered from them.
func (r *run) twin(p *plane, s Server) {
	access := object.Key{Kind: "Namespace", Name: object.AccessNamespace}
	seen, err := s.Observe(append(linkerd.Watches(api.Cluster{}.WithDefaults()),
		object.Watch{Version: "v1", Kind: access.Kind, Names: []string{access.Name}}))
	must(err)
	for _, t := range p.all() {
		body, ok := seen.Body(t.key)
		next := *t
		if rec := seen.Record(t.key); !rec.IsZero() {
			next.rec.UID = rec.UID
		}
		if ok {
			next.body, next.told = body, nil
		}
		p.put(&next)
	}
	p.uid = p.things[object.Key{Kind: "Namespace", Name: "kube-system"}].rec.UID
	home := p.theirs(access, map[string]string{object.OwnerLabel: owner}, nil)
	home.by, home.rec = ours, seen.Record(access)
	p.put(home)
	p.server = s
}

// aside tells the server what somebody else did.
func (p *plane) aside(was, now *thing) {
	if p.server != nil && !p.own {
		must(p.server.Foreign(was.live(), now.live()))
	}
}

// beside reads from the server what was read from memory.
func (r *run) beside(p *process, pl *plane, side state.Cluster, whole bool) {
	if pl.server == nil {
		return
	}
	shown := side
	var err error
	shown.Seen, err = pl.server.Observe(side.Looked)
	must(err)
	shown.Seen = ready(shown.Seen)
	if whole {
		shown.Facts = linkerd.FactsOf(api.Cluster{}.WithDefaults(), "https://"+string(pl.born)+".example.com:6443", shown.Seen)
	}
	p.real[pl.name] = shown
	for k, rec := range side.Seen.Records() {
		if told, live := record(k, rec), record(k, shown.Seen.Record(k)); told != live {
			r.breaks("%s: %s is %s in memory, and %s at the server", pl.name, k, told, live)
		}
	}
	for k, rec := range shown.Seen.Records() {
		if rec.Mark != object.Unmarked && side.Seen.Record(k).IsZero() {
			r.breaks("%s: %s is %s at the server, and not there in memory", pl.name, k, record(k, rec))
		}
	}
}

// ready takes everything for ready: nobody makes pods at a server whose controllers are stopped.
func ready(seen object.Observation) object.Observation {
	e := seen.Edit()
	for k, rec := range seen.Records() {
		if !rec.Health.IsZero() {
			body, _ := seen.Body(k)
			rec.Health = object.Health{}
			e.Put(k, rec, body)
		}
	}
	return e.Observation()
}

// record is what of a record must be the same. A Link that is drained is written from what is live, and a server fills in
// defaults there.
func record(k object.Key, r object.Record) string {
	if r.IsZero() {
		return "not there"
	}
	digest := uint64(0)
	if r.Mark == object.Ours && k.Kind != "Link" {
		digest = r.Digest
	}
	return fmt.Sprintf("%s, digest %x, kept %t, going %t", r.Mark, digest, r.Keep, r.Going)
}

// same holds the step that the server's objects give to the one that those in memory give.
func (r *run) same(p *process, name api.ClusterName, s plan.Step, policies ...plan.Policy) {
	if r.Servers == nil {
		return
	}
	w := r.world(p)
	for other := range w.Clusters {
		if shown, ok := p.real[other]; ok && p.sides[other].Known() {
			shown.Pass = p.sides[other].Pass
			w.Clusters[other] = shown
		}
	}
	p.step = plan.Next(w, name, r.renderer, policies...)
	if want, got := words(s), words(p.step); want != got {
		r.breaks("%s: the next step is another one from what the server shows: in memory\n%sat the server\n%s", name, want, got)
	}
}

// words are a step without what servers number.
func words(s plan.Step) (out string) {
	for _, c := range slices.Concat(s.Ahead, s.Changes, s.After) {
		if c.Action == object.Drain {
			c.Object.Digest = 0 // see record
		}
		out += fmt.Sprintf("  %s %s for %s: %s %x\n", c.Action, c.Key, c.End, c.Why.Code, c.Object.Digest)
	}
	for _, row := range s.Rows {
		out += fmt.Sprintf("  %s is %s", row.End, row.Phase)
		if row.Why != nil {
			out += " " + string(row.Why.Code)
		}
		out += "\n"
	}
	return fmt.Sprintf("%s  %v %v %v\n", out, s.Look, s.Pending, s.CleanedUp)
}

// send does at the server what was done in memory, and holds its answer to that one.
func (r *run) send(p *process, pl *plane, c object.Change, refused error) {
	if pl.server == nil {
		return
	}
	all := slices.Concat(p.step.Ahead, p.step.Changes, p.step.After)
	i := slices.IndexFunc(all, func(o object.Change) bool { return o.Key == c.Key && o.Action == c.Action })
	if i < 0 {
		r.breaks("%s: no %s of %s from what the server shows", pl.name, c.Action, c.Key)
		return
	}
	if err := pl.server.Write(all[i]); (err == nil) != (refused == nil) {
		r.breaks("%s: %s of %s: in memory %v, at the server %v", pl.name, c.Action, c.Key, refused, err)
	}
}

// leave takes away from the servers what a history left there.
func (r *run) leave() {
	for _, name := range slices.Sorted(maps.Keys(r.planes)) {
		pl := r.planes[name]
		for _, t := range pl.all() {
			if pl.server != nil && !t.dressing && t.key.Kind != "Namespace" {
				must(pl.server.Foreign(t.live(), nil))
			}
		}
	}
}
