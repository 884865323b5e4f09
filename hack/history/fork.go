package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

// fork is the history as it is now, to be played on in two ways.
func (r *run) fork() *run {
	still := *r.Player
	still.Trace = nil
	if r.Trace != nil {
		still.Trace = func(line string) { r.Trace("  | " + line) }
	}
	f := *r
	f.Player, f.forked, f.writes = &still, true, 0
	f.home, f.pending, f.accepted = maps.Clone(r.home), maps.Clone(r.pending), maps.Clone(r.accepted)
	f.last, f.process = maps.Clone(r.last), r.process.fork()
	f.forget, f.specs, f.planes = maps.Clone(r.forget), maps.Clone(r.specs), maps.Clone(r.planes)
	f.former = maps.Clone(r.former)
	for name, p := range r.planes {
		if p.name == name {
			f.planes[name] = p.fork()
		}
	}
	for name, p := range r.planes { // a cluster that has two names for now is one
		f.planes[name] = f.planes[p.name]
	}
	return &f
}

// fork gives a process that remembers the same, and reads everything again.
func (p *process) fork() *process {
	f := newProcess(p.term)
	f.pass, f.commit, f.sides = p.pass, p.commit, maps.Clone(p.sides)
	return f
}

func (p *plane) fork() *plane {
	f := *p
	f.things, f.sorted, f.older = maps.Clone(p.things), maps.Clone(p.sorted), slices.Clone(p.older)
	f.linked, f.charted, f.relinked = maps.Clone(p.linked), maps.Clone(p.charted), maps.Clone(p.relinked)
	f.ended = maps.Clone(p.ended)
	f.foreign = maps.Clone(p.foreign)
	f.began, f.lagging = maps.Clone(p.began), maps.Clone(p.lagging)
	return &f
}

// peaceful is what happens where nothing befalls the process: others do what they did meanwhile, writes arrive in the same order.
func (f fault) peaceful() *fault {
	switch f.kind {
	case crash, lost, refused:
		f.kind = ""
	case stall:
		f.kind, f.hangs = race, true
	}
	return &f
}

// befell reports whether a fault of the process is what happens.
func (f *fault) befell() bool {
	return f != nil && (f.kind == crash || f.kind == lost || f.kind == refused || f.kind == stall)
}

// twice plays a part of a pass with a fault of the process, and beside that, from one that remembers nothing yet, with it and
// without it: left alone, both must come to the same state. What a process remembers of clusters that were others since, or
// are down now, dies with it, and is no part of the promise; nor is where a cluster stopped that is refused as a whole, or a source whose
// account somebody took, nor how far it had got by then with CreateOnly, or when people marked something to be kept, or when
// somebody took a name.
func (r *run) twice(play func(*run, *fault), f *fault) {
	keeps := f != nil && f.act != nil && f.act.Do == "keep"
	if r.forked || r.Servers != nil || !f.befell() || r.head.policy == api.CreateOnly || keeps {
		play(r, f)
		return
	}
	again := *f
	defer play(r, f)
	with := r.fork()
	with.restart()
	without := with.fork()
	if play(with, &again); with.broken != "" || again.befell() || with.head.number != r.head.number {
		r.suffers("with the fault", with)
		return // or it did not happen, or a commit came between: what that found was made by then
	}
	play(without, f.peaceful())
	want, got := without.left(), with.left()
	r.suffers("left alone after the fault", with)
	r.suffers("left alone without the fault", without)
	if r.broken == "" && want != got && !with.stopped() && !without.stopped() && !with.taken() && !without.taken() {
		r.breaks("(c) left alone after the fault, it ends otherwise than without it: (-without, +with)\n%s", differing(want, got))
	}
}

// suffers takes over what broke in a fork.
func (r *run) suffers(when string, f *run) {
	r.writes += f.writes
	if f.broken != "" {
		r.breaks("%s: %s", when, f.broken)
	}
}

// stopped reports whether a cluster is refused as a whole, or that a source holds what it had got by when somebody else took its account
// in the target.
func (r *run) stopped() bool {
	for _, s := range r.last {
		if s.Denied != nil || slices.ContainsFunc(s.Rows, r.robbed) {
			return true
		}
	}
	return false
}

// taken reports whether somebody took a name that a link needs in this very event, in the middle of a step: that was planned before, and
// goes on as far as it can, where one that is planned after it begins nothing of that end, which is occupied (seed 6300972). With and without
// a fault it may be another object that somebody takes (seed 88041773). An inventory has such a name, too (seed 89048666).
func (r *run) taken() bool {
	for name, p := range r.planes {
		for _, t := range p.things {
			if _, wanted := r.head.wants(name, t.key); (wanted || isInventory(t.key)) && t.by == others && t.since == r.event {
				return true
			}
		}
	}
	return false
}

func (r *run) robbed(row plan.Row) bool {
	target := object.End{Cluster: row.End.Link.Target, Link: row.End.Link}
	if !row.End.IsSource() || row.Why == nil {
		return false
	}
	late := r.planes[r.called(target.Cluster)].late // it is made again at once, and gets no token yet (seed 8020063)
	if !r.explained(target) && !late {
		return false
	}
	return row.Phase == plan.Blocked && row.Why.Code == reason.CredentialNotIssued ||
		row.Phase == plan.Suspended && strings.Contains(row.Why.Message, "there is no credential")
}

// left leaves a history alone until it rests, and tells what is there, and what is said of it.
func (r *run) left() string {
	for _, p := range r.planes {
		p.half = 0
	}
	r.play()
	if r.calm(); r.broken != "" {
		return ""
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.planes)) {
		for _, t := range r.planes[name].all() {
			if r.planes[name].lent(t) {
				continue
			}
			fmt.Fprintf(&b, "%s: %s %s\n", name, t.key, t.summary(r.rotated))
		}
		r.summary(&b, r.planes[name])
	}
	return b.String()
}

// lent reports whether somebody else's controller wrote a thing for itself, or will: whether it did so while our Link was there is a matter
// of time, and it is theirs (seed 7101287). So are the Endpoints of a probe Service that somebody made anew in the middle of a step: a
// controller that was still there wrote them again, and one that was gone did not (seed 70054633).
func (p *plane) lent(t *thing) bool {
	d := p.things[deployment(t.key.Namespace, t.target)]
	return t.by == mirroring && isOwn(t) && (d != nil && d.by == others || p.serves(t))
}

// summary is what of a thing must be the same, whoever died meanwhile: not how it is numbered, nor the term in a base, nor, once tokens
// rotate, how often a control plane's secret changed, which may be made with the second token.
func (t *thing) summary(rotated bool) string {
	digest := t.lasting()
	if rotated {
		digest = t.content()
	}
	if t.key == baseKey() {
		digest = 0
	}
	return fmt.Sprintf("by %d, %s, digest %x, kept %t, going %t, members %v, %s", t.by, t.rec.Mark, digest, t.rec.Keep, t.rec.Going, members(t), t.conditions())
}

func (r *run) summary(b *strings.Builder, p *plane) {
	s := r.last[p.name]
	if s.Denied != nil {
		fmt.Fprintf(b, "%s is refused: %s\n", p.name, s.Denied.Code)
	}
	for _, row := range s.Rows {
		why := cmp.Or(row.Why, &object.Reason{})
		if why.Code == reason.CredentialNotLoaded && r.rotated {
			why = &object.Reason{}
		}
		if why.Code == reason.Abandoned { // told by the one pass that gives it up, which may have been the one that died
			continue
		}
		fmt.Fprintf(b, "%s is %s %s\n", row.End, row.Phase, why.Code)
	}
	_, known := r.home[p.name]
	fmt.Fprintf(b, "%s is remembered %t\n", p.name, known)
	for _, d := range r.pending[p.name] {
		fmt.Fprintf(b, "%s pending: %s since %s\n", p.name, d.Link(), d.Since)
	}
}

// differing are the lines of two texts that are in one of them alone.
func differing(want, got string) (out string) {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, line := range a {
		if !slices.Contains(b, line) {
			out += "- " + line + "\n"
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			out += "+ " + line + "\n"
		}
	}
	return out
}
