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

// fork is a copy of the history, to be continued in another way.
func (r *history) fork() *history {
	quiet := *r.Player
	quiet.Trace = nil
	if r.Trace != nil {
		quiet.Trace = func(line string) { r.Trace("  | " + line) }
	}
	f := *r
	f.Player, f.forked, f.writes = &quiet, true, 0
	f.recordUIDs, f.pending, f.accepted = maps.Clone(r.recordUIDs), maps.Clone(r.pending), maps.Clone(r.accepted)
	f.last, f.process = maps.Clone(r.last), r.process.fork()
	f.abandoned, f.specs, f.clusters = maps.Clone(r.abandoned), maps.Clone(r.specs), maps.Clone(r.clusters)
	f.former = maps.Clone(r.former)
	for name, p := range r.clusters {
		if p.name == name {
			f.clusters[name] = p.fork()
		}
	}
	for name, p := range r.clusters { // a cluster that has two names for now is one
		f.clusters[name] = f.clusters[p.name]
	}
	return &f
}

// fork returns a process with the same memory, which reads everything again.
func (p *process) fork() *process {
	f := newProcess(p.term)
	f.number, f.commit, f.states = p.number, p.commit, maps.Clone(p.states)
	return f
}

func (p *simCluster) fork() *simCluster {
	f := *p
	f.objects, f.sorted, f.formerInventories = maps.Clone(p.objects), maps.Clone(p.sorted), slices.Clone(p.formerInventories)
	f.linked, f.chartRan, f.relinked = maps.Clone(p.linked), maps.Clone(p.chartRan), maps.Clone(p.relinked)
	f.endedTokens = maps.Clone(p.endedTokens)
	f.foreign = maps.Clone(p.foreign)
	f.began, f.lagging = maps.Clone(p.began), maps.Clone(p.lagging)
	return &f
}

// withoutFault is the same fault without its effect on the process: others do the same meanwhile, and writes arrive in the same order.
func (f fault) withoutFault() *fault {
	switch f.kind {
	case crash, lost, refused:
		f.kind = ""
	case stall:
		f.kind, f.hangs = race, true
	}
	return &f
}

// isProcessFault reports whether the fault is one of the process.
func (f *fault) isProcessFault() bool {
	return f != nil && (f.kind == crash || f.kind == lost || f.kind == refused || f.kind == stall)
}

// compareWithFault plays a part of a sync with a fault of the process. It also plays copies of the history, from a process without
// memory, with and without the fault: if nothing else happens, both must reach the same state. This is not promised for a cluster
// that is denied as a whole, for a source whose account somebody took, with CreateOnly, and after people protected an object or took
// a name.
func (r *history) compareWithFault(play func(*history, *fault), f *fault) {
	keeps := f != nil && f.act != nil && f.act.Do == "keep"
	if r.forked || r.Servers != nil || !f.isProcessFault() || r.head.policy == api.CreateOnly || keeps {
		play(r, f)
		return
	}
	again := *f
	defer play(r, f)
	with := r.fork()
	with.restart()
	without := with.fork()
	if play(with, &again); with.failure != "" || again.isProcessFault() || with.head.number != r.head.number {
		r.addFailure("with the fault", with)
		return // or it did not happen, or a commit came between: what that found was made by then
	}
	play(without, f.withoutFault())
	want, got := without.finalState(), with.finalState()
	r.addFailure("left alone after the fault", with)
	r.addFailure("left alone without the fault", without)
	if r.failure == "" && want != got && !with.isBlocked() && !without.isBlocked() && !with.nameTaken() && !without.nameTaken() {
		r.addBroken("(c) left alone after the fault, it ends otherwise than without it: (-without, +with)\n%s", diffLines(want, got))
	}
}

// addFailure takes over the failure of a fork.
func (r *history) addFailure(when string, f *history) {
	r.writes += f.writes
	if f.failure != "" {
		r.addBroken("%s: %s", when, f.failure)
	}
}

// isBlocked reports whether a cluster is denied as a whole, or a source kept its state when somebody took its account in the target.
func (r *history) isBlocked() bool {
	for _, s := range r.last {
		if s.Denied != nil || slices.ContainsFunc(s.Rows, r.lostAccount) {
			return true
		}
	}
	return false
}

// nameTaken reports whether somebody took a name that a link needs in this event, in the middle of a step. A step that was planned
// before continues as far as it can; one that is planned after it begins nothing of that end, which has a conflict (seed 6300972). With
// and without a fault it may be another object (seed 88041773), or an inventory (seed 89048666).
func (r *history) nameTaken() bool {
	for name, p := range r.clusters {
		for _, t := range p.objects {
			if _, wanted := r.head.neededBy(name, t.key); (wanted || isInventory(t.key)) && t.madeBy == byOthers && t.since == r.event {
				return true
			}
		}
	}
	return false
}

func (r *history) lostAccount(row plan.Row) bool {
	target := object.End{Cluster: row.End.Link.Target, Link: row.End.Link}
	if !row.End.IsSource() || row.Why == nil {
		return false
	}
	late := r.clusters[r.currentName(target.Cluster)].late // it is made again at once, and gets no token yet (seed 8020063)
	if !r.hasReason(target) && !late {
		return false
	}
	return row.Phase == plan.Blocked && row.Why.Code == reason.CredentialNotIssued ||
		row.Phase == plan.Suspended && r.head.suspended(target) // a suspended target issues no credential
}

// finalState reconciles until nothing changes, and describes objects and rows.
func (r *history) finalState() string {
	for _, p := range r.clusters {
		p.missEvery = 0
	}
	r.runControllers()
	if r.settle(); r.failure != "" {
		return ""
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.clusters)) {
		for _, t := range r.clusters[name].all() {
			if r.clusters[name].isForeign(t) {
				continue
			}
			fmt.Fprintf(&b, "%s: %s %s\n", name, t.key, t.summary(r.rotated))
		}
		r.summary(&b, r.clusters[name])
	}
	return b.String()
}

// isForeign reports whether an object belongs to somebody else's controller, which wrote it or will (seed 7101287). So do the Endpoints
// of a probe Service that somebody recreated in the middle of a step: only a controller that was still there wrote them again
// (seed 70054633).
func (p *simCluster) isForeign(t *simObject) bool {
	d := p.objects[deployment(t.key.Namespace, t.target)]
	return t.madeBy == byLinkerd && isControllerOwn(t) && (d != nil && d.madeBy == byOthers || p.ofForeignService(t))
}

// summary describes what of an object must be the same after any fault. It leaves out versions, the leadership in a base, and, once
// tokens rotate, how often a control plane's secret changed.
func (t *simObject) summary(rotated bool) string {
	digest := t.lastingDigest()
	if rotated {
		digest = t.digest()
	}
	if t.key == baseKey() {
		digest = 0
	}
	return fmt.Sprintf("by %d, %s, digest %x, kept %t, going %t, members %v, %s", t.madeBy, t.rec.Mark, digest, t.rec.PruneDisabled, t.rec.Terminating, members(t), t.conditions())
}

func (r *history) summary(b *strings.Builder, p *simCluster) {
	s := r.last[p.name]
	if s.Denied != nil {
		fmt.Fprintf(b, "%s is refused: %s\n", p.name, s.Denied.Code)
	}
	for _, row := range s.Rows {
		why := cmp.Or(row.Why, &object.Reason{})
		if why.Code == reason.CredentialNotLoaded && r.rotated {
			why = &object.Reason{}
		}
		if why.Code == reason.Abandoned { // only the sync that abandons it reports this, which the fault may have ended
			continue
		}
		fmt.Fprintf(b, "%s is %s %s\n", row.End, row.Phase, why.Code)
	}
	_, known := r.recordUIDs[p.name]
	fmt.Fprintf(b, "%s is remembered %t\n", p.name, known)
	for _, d := range r.pending[p.name] {
		fmt.Fprintf(b, "%s pending: %s since %s\n", p.name, d.Link(), d.Since)
	}
}

// diffLines are the lines of two texts that are in one of them alone.
func diffLines(want, got string) (out string) {
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
