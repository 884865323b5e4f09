package plan

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
)

// Untold is the code of an end in place whose credential Linkerd's destination controller has not read yet: it reads a secret
// when that appears, and again when it starts.
const Untold = reason.Untold

// tellEvery is how often a destination controller is told at most: each time its pods start anew.
const tellEvery = 5 * time.Minute

// news are the marks of a cluster's control-plane secrets of ours that changed in place, sorted, and those of them that its
// destination controller was not told of.
type news struct {
	marks, untold []string
	told          linkerd.Told
}

// told is the look at the Deployment of the destination controller, where a secret of ours is read by it.
func (w World) told(c fleet.Cluster) []object.Watch {
	if len(w.discovering(c.Name)) == 0 {
		return nil
	}
	k := linkerd.Destination(c.Spec.Linkerd)
	return []object.Watch{{
		Group: k.Group, Version: "v1", Kind: k.Kind, Namespace: k.Namespace, Names: []string{k.Name}, Depth: object.Whole, Health: true,
	}}
}

// news is made of what is live alone: a secret that was just planned is told of once it is seen.
func (p *planner) news() news {
	if p.heard != nil {
		return *p.heard
	}
	var n news
	_, out, _ := p.declared(p.name)
	for _, l := range out {
		if mark := p.changed(l); mark != "" {
			n.marks = append(n.marks, mark)
		}
	}
	slices.Sort(n.marks)
	body, _ := p.side.Seen.Body(linkerd.Destination(p.spec(p.name).Linkerd))
	n.told = linkerd.ToldOf(p.Owner, body)
	n.untold = n.told.Lacks(n.marks)
	p.heard = &n
	return n
}

// changed is the mark of a link's control-plane secret, empty where that is not ours, or as it was made.
func (p *planner) changed(l fleet.Link) string {
	if !l.Spec.UsesRemoteDiscovery() || l.Spec.Credentials.Mode == api.Existing {
		return ""
	}
	if mark := p.marked(l); linkerd.ChangedInPlace(mark) && mark != linkerd.Foreign {
		return mark
	}
	return ""
}

// announce has the destination controller told of all that changed in place, in one write: the pods of its Deployment start anew.
func (p *planner) announce() {
	if len(p.news().untold) == 0 || p.silenced() != nil {
		return
	}
	base := object.End{Cluster: p.name}
	c := p.telling()
	p.step.Changes = append(p.step.Changes, c)
	for i, row := range p.step.Rows {
		if row.End == base && row.Standing == InPlace {
			p.step.Rows[i].Standing = Changing
		}
	}
}

// telling is the write: of one annotation, by the uid of what was read.
func (p *planner) telling() object.Change {
	l := p.spec(p.name).Linkerd
	told := linkerd.Told{At: p.Now, Marks: p.news().marks}
	return change(object.End{Cluster: p.name}, object.Update, told.Part(p.Owner, l), p.side.Seen.Record(linkerd.Destination(l)),
		reason.Credentials, "the credentials that it read changed: its pods start anew")
}

// silenced says why nothing may be told now, or nil.
func (p *planner) silenced() *object.Reason {
	k, base := linkerd.Destination(p.spec(p.name).Linkerd), object.End{Cluster: p.name}
	live := p.side.Seen.Record(k)
	switch why := p.closed(base); {
	case why != nil:
		return why
	case !p.side.Saw(k):
		return object.Because(Untold, "%s goes on with a former credential, and linkwright may not tell it: grant get and patch on it by %s, or restart it after each change", k, p.installation().Grant())
	case p.side.Gap != "" && !p.side.Anyone: // RBAC cannot grant one annotation, so the right would be for all of it
		return object.Because(Untold, "%s goes on with a former credential, and linkwright changes it only if admission policies confine linkwright's account there: %s, or restart it after each change",
			k, p.command("cluster add "+string(p.name)+" PATH --context CONTEXT"))
	case live.IsZero(), live.Going:
		return object.Because(Untold, "there is no %s that could be told of a credential that changed: restart what serves instead", k)
	case p.Now.Before(p.nextTelling()):
		return object.Because(Untold, "%s goes on with a former credential: it was told last at %s, and is told again at %s UTC",
			k, p.news().told.At.UTC().Format(time.TimeOnly), p.nextTelling().UTC().Format(time.TimeOnly))
	}
	for _, policy := range p.policies {
		if why := policy(p.World, base, []object.Change{p.telling()}); why != nil {
			return why
		}
	}
	return nil
}

// nextTelling is when the next may be; a moment that is still to come was written by a clock that goes wrong, and counts as none.
func (p *planner) nextTelling() time.Time {
	if at := p.news().told.At; !at.IsZero() && !at.After(p.Now) {
		return at.Add(tellEvery)
	}
	return time.Time{}
}

// untold tells of a link in place whose credential the destination controller has not read, and why it is not told now, or nil.
func (p *planner) untold(l fleet.Link) *object.Reason {
	mark := p.changed(l)
	if mark == "" || !slices.Contains(p.news().untold, mark) {
		return nil
	}
	p.until(p.nextTelling())
	return p.silenced()
}

// loaded judges whether the control plane of a link's source runs with the credential that changed in place: it was told of that, and
// all its pods started after it. What was never changed it read when it appeared.
func (p *planner) loaded(l fleet.Link) pair.Verdict {
	mark, k := p.changed(l), linkerd.Destination(p.spec(p.name).Linkerd)
	live := p.side.Seen.Record(k)
	switch {
	case mark == "":
		return pair.Verdict{}
	case !p.side.Saw(k):
		return pair.Verdict{Stage: pair.Loaded, Passing: pair.Unknown, Why: object.Because(Untold, "nobody lets linkwright look at %s", k)}
	case live.IsZero():
		return pair.Verdict{Stage: pair.Loaded, Passing: pair.Unknown, Why: object.Because(Untold, "there is no %s", k)}
	case slices.Contains(p.news().untold, mark):
		return pair.Verdict{Stage: pair.Loaded, Passing: pair.Failed, Why: object.Because(Untold, "%s goes on with the credential that it read before", k)}
	case !live.Health.IsZero():
		return pair.Verdict{Stage: pair.Loaded, Passing: pair.Failed, Why: object.Because(pair.NotLoaded,
			"%s was told of the credential, and is not ready: %s", k, live.Health)}
	}
	return pair.Verdict{Stage: pair.Loaded, Passing: pair.Passed}
}
