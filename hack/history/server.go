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

// Server is a real API server that gets the same writes as a cluster in memory.
type Server interface {
	Observe(w []object.Watch) (object.Observation, error)
	Write(c object.Change) error
	// Foreign does what somebody else does to an object: makes it, changes it, or takes it away, where now is nil.
	Foreign(was, now *Live) error
}

// Live is an object that somebody else writes. Another UID means another object; Held: it has a finalizer.
type Live struct {
	Key         object.Key
	Body        object.Body
	UID         string
	Held, Going bool
	Manager     string // the field manager of who made it
}

func (t *simObject) live() *Live {
	if t == nil {
		return nil
	}
	manager := "foreign"
	if t.madeBy == byLinkerd {
		manager = mirrorManager
	}
	return &Live{Key: t.key, Body: t.body, UID: t.rec.UID, Held: t.hasFinalizer, Going: t.rec.Terminating, Manager: manager}
}

// attachServer attaches a server to a cluster in memory, which copies the server's installation of Linkerd: facts are then the same,
// and so is what is rendered from them.
func (r *history) attachServer(p *simCluster, s Server) {
	access := object.Key{Kind: "Namespace", Name: object.AccessNamespace}
	observed, err := s.Observe(append(linkerd.Watches(api.Cluster{}.WithDefaults()),
		object.Watch{Version: "v1", Kind: access.Kind, Names: []string{access.Name}}))
	must(err)
	for _, t := range p.all() {
		body, ok := observed.Body(t.key)
		next := *t
		if rec := observed.Record(t.key); !rec.IsZero() {
			next.rec.UID = rec.UID
		}
		if ok {
			next.body, next.decoded = body, nil
		}
		p.put(&next)
	}
	p.uid = p.objects[object.Key{Kind: "Namespace", Name: "kube-system"}].rec.UID
	home := p.foreignObject(access, map[string]string{object.OwnerLabel: owner}, nil)
	home.madeBy, home.rec = byLinkwright, observed.Record(access)
	p.put(home)
	p.server = s
}

// copyForeign makes somebody else's write on the server, too.
func (p *simCluster) copyForeign(was, now *simObject) {
	if p.server != nil && !p.ownWrite {
		must(p.server.Foreign(was.live(), now.live()))
	}
}

// compareRead reads the server as well, and compares the facts.
func (r *history) compareRead(p *process, pl *simCluster, side state.Cluster, whole bool) {
	if pl.server == nil {
		return
	}
	shown := side
	var err error
	shown.Live, err = pl.server.Observe(side.Watches)
	must(err)
	shown.Live = allReady(shown.Live)
	if whole {
		shown.Facts = linkerd.FactsOf(api.Cluster{}.WithDefaults(), "https://"+string(pl.originalName)+".example.com:6443", shown.Live)
	}
	p.serverStates[pl.name] = shown
	for k, rec := range side.Live.Records() {
		if told, live := describeRecord(k, rec), describeRecord(k, shown.Live.Record(k)); told != live {
			r.addBroken("%s: %s is %s in memory, and %s at the server", pl.name, k, told, live)
		}
	}
	for k, rec := range shown.Live.Records() {
		if rec.Mark != object.Unmarked && side.Live.Record(k).IsZero() {
			r.addBroken("%s: %s is %s at the server, and not there in memory", pl.name, k, describeRecord(k, rec))
		}
	}
}

// allReady makes all objects ready: a server without controllers makes no pods.
func allReady(observed object.Observation) object.Observation {
	e := observed.Edit()
	for k, rec := range observed.Records() {
		if !rec.Health.IsZero() {
			body, _ := observed.Body(k)
			rec.Health = object.Health{}
			e.Put(k, rec, body)
		}
	}
	return e.Observation()
}

// describeRecord describes what of a record must be the same in memory and on the server.
func describeRecord(k object.Key, r object.Record) string {
	if r.IsZero() {
		return "not there"
	}
	digest := uint64(0)
	if r.Mark == object.Ours && k.Kind != "Link" {
		digest = r.Digest
	}
	return fmt.Sprintf("%s, digest %x, kept %t, going %t", r.Mark, digest, r.PruneDisabled, r.Terminating)
}

// compareStep compares the step for the server's objects with the one for those in memory.
func (r *history) compareStep(p *process, name api.ClusterName, s plan.Step, policies ...plan.Policy) {
	if r.Servers == nil {
		return
	}
	w := r.snapshot(p)
	for other := range w.Clusters {
		if shown, ok := p.serverStates[other]; ok && p.states[other].Known() {
			shown.Round = p.states[other].Round
			w.Clusters[other] = shown
		}
	}
	p.step = plan.Next(w, name, r.renderer, policies...)
	if want, got := describeStep(s), describeStep(p.step); want != got {
		r.addBroken("%s: the next step is another one from what the server shows: in memory\n%sat the server\n%s", name, want, got)
	}
}

// describeStep describes a step without versions and uids.
func describeStep(s plan.Step) (out string) {
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
	return fmt.Sprintf("%s  %v %v %v\n", out, s.ReadFirst, s.Pending, s.CleanedUp)
}

// compareWrite makes the same write on the server, and compares the results.
func (r *history) compareWrite(p *process, pl *simCluster, c object.Change, rejected error) {
	if pl.server == nil {
		return
	}
	all := slices.Concat(p.step.Ahead, p.step.Changes, p.step.After)
	i := slices.IndexFunc(all, func(o object.Change) bool { return o.Key == c.Key && o.Action == c.Action })
	if i < 0 {
		r.addBroken("%s: no %s of %s from what the server shows", pl.name, c.Action, c.Key)
		return
	}
	if err := pl.server.Write(all[i]); (err == nil) != (rejected == nil) {
		r.addBroken("%s: %s of %s: in memory %v, at the server %v", pl.name, c.Action, c.Key, rejected, err)
	}
}

// cleanServers deletes from the servers what a history left.
func (r *history) cleanServers() {
	for _, name := range slices.Sorted(maps.Keys(r.clusters)) {
		pl := r.clusters[name]
		for _, t := range pl.all() {
			if pl.server != nil && !t.ofLinkerd && t.key.Kind != "Namespace" {
				must(pl.server.Foreign(t.live(), nil))
			}
		}
	}
}
