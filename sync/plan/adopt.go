package plan

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// AdoptRules widen what may be adopted.
type AdoptRules struct {
	// From is another installation that is gone: what carries its mark may be adopted, too.
	From string
	// Managed lets that be adopted, too, which Argo CD or Flux say they keep.
	Managed bool
}

// Codes of ends that are not adopted.
const (
	NotAdoptable = reason.NotAdoptable // an object has the name, and not the labels
	OtherTool    = reason.OtherTool    // Argo CD or Flux keep an object
)

// adopt plans, in place of everything else, the takeover of what others made for the links of World.Adopt: the inventory
// first, then our marks on each object, and nothing more. What they should be is for the next ordinary step, which also
// takes away what is recorded and not declared: the older set of objects, once what takes its place stands.
func (p *planner) adopt(s Step) Step {
	if p.wanted = p.adoptedEnds(); len(p.wanted) == 0 {
		return p.untouched(s)
	}
	if s.Refused = p.refusal(); s.Refused != nil {
		s.Rows = p.allHeld(s.Refused)
		return s
	}
	p.step = &s
	for _, l := range p.adopted() {
		p.adoptEnd(l)
	}
	p.finish()
	return s
}

// accessOf are the account, token and rights of a link's source in this target that carry no mark: linkwright's own, by their
// names in its own namespace, given up once or restored from a backup.
func (p *planner) accessOf(l fleet.Link) (out []adoptable, why *object.Reason) {
	for k, live := range p.side.Seen.Records() {
		source, ok := render.SourceOf(p.Owner, k)
		if !ok || source != l.Source.Name {
			continue
		}
		if body, _ := p.side.Seen.Body(k); live.Mark != object.Ours {
			if why := p.refuses(adoptable{k, live, body}, true); why != nil {
				return nil, why
			}
		}
		out = append(out, adoptable{key: k, live: live})
	}
	return out, nil
}

// adopted are the links of World.Adopt of which this cluster is an end.
func (p *planner) adopted() []fleet.Link {
	_, out, in := p.declared(p.name)
	return slices.DeleteFunc(slices.Concat(out, in), func(l fleet.Link) bool { return !p.Adopt[l.Pair()] })
}

// adoptedEnds are the ends that an adoption is about.
func (p *planner) adoptedEnds() (out []object.Wanted) {
	for _, l := range p.adopted() {
		out = append(out, object.Wanted{End: object.End{Cluster: p.name, Link: l.Pair()}})
	}
	return out
}

// adoptEnd takes over all of an end, or says why nothing of it is.
func (p *planner) adoptEnd(l fleet.Link) {
	row := Row{End: object.End{Cluster: p.name, Link: l.Pair()}, Standing: InPlace}
	look := p.adoptables
	if !row.End.IsSource() {
		look = p.accessOf
	}
	found, why := look(l)
	if closed := p.closed(row.End); closed != nil {
		p.stay(row, closed, len(found))
		return
	}
	if why != nil {
		row.Standing, row.Why = Refused, why
		p.tell(row)
		return
	}
	next, _ := p.record(row.End)
	next = next.Stay()
	keys := make([]object.Key, len(found))
	var changes []object.Change
	for i, f := range found {
		keys[i] = f.key
		if f.live.Mark != object.Ours {
			changes = append(changes, p.adoption(row.End, f))
		}
	}
	row.Standing, row.Why = p.take(next.Settle(keys, never), changes)
	p.tell(row)
}

func never(object.Key) bool { return false }

// adoptable is one object that is to be ours, or is already.
type adoptable struct {
	key  object.Key
	live object.Record
	body object.Body
}

// adoptables are the live objects of a link's source end, in order, or why they cannot be taken over. Of a link whose
// controller is the user's, or whose credentials are, those stay what they are.
func (p *planner) adoptables(l fleet.Link) (out []adoptable, why *object.Reason) {
	at, target := l.Source.Spec.Linkerd, l.Target.Name
	for k, live := range p.side.Seen.Records() {
		named, ok := linkerd.Called(at, k, target)
		if !ok || !takenOver(l, k) {
			continue
		}
		body, _ := p.side.Seen.Body(k)
		_, known := linkerd.Adoptable(at, k, body, target)
		switch why := p.refuses(adoptable{k, live, body}, known); {
		case live.Mark == object.Ours:
		case !known && named.Legacy:
			continue // somebody's own, of a name that we do not need
		case why != nil:
			return nil, why
		}
		out = append(out, adoptable{k, live, body})
	}
	return out, nil
}

// takenOver says that a kind of object is to be linkwright's, as the link is declared.
func takenOver(l fleet.Link, k object.Key) bool {
	switch k.Kind {
	case "Link":
		return true
	case "Secret":
		return l.Spec.Credentials.Mode != api.Existing
	}
	return l.Spec.Controller.Mode == api.PerLink
}

// refuses says why an object that is not ours cannot be adopted, or nil.
func (p *planner) refuses(a adoptable, known bool) *object.Reason {
	tool, owner := linkerd.ToolOf(a.body, a.live), linkerd.Owner(a.body)
	switch {
	case !known:
		return object.Because(NotAdoptable, "%s has the name of a part of the link, but not the labels that Linkerd's own tools give it (written by %s): delete or rename it",
			a.key, rivals(a.live))
	case a.live.Going:
		return object.Because(reason.Going, "%s is still being deleted", a.key)
	case a.live.Mark == object.Theirs && owner == "": // it was not read whole
		return object.Because(reason.Occupied, "%s belongs to another installation, by a name that is ours: delete it, or have that installation give it up", a.key)
	case a.live.Mark == object.Theirs && owner != p.Rules.From:
		return object.Because(reason.Occupied, "%s belongs to the installation %s: if that is gone, take over from it with --from-owner %s", a.key, owner, owner)
	case !tool.IsZero() && !p.Rules.Managed:
		return object.Because(OtherTool, "%s is kept by %s (%s), which would write it again or delete it: adopt it with --force-manager, and in %s %s",
			a.key, tool.Name, tool.Of, tool.Name, tool.Leave)
	}
	return nil
}

// adoption is the write of our marks. Helm is told to leave what its release names no more.
func (p *planner) adoption(end object.End, a adoptable) object.Change {
	var more map[string]string
	why := "made by " + rivals(a.live)
	if r := linkerd.ReleaseOf(a.body); !r.IsZero() {
		more = map[string]string{object.HelmPolicy: object.HelmKeep}
		why += ", release " + r.Namespace + "/" + r.Name + " of Helm"
	}
	o := object.Object{Key: a.key, Body: object.AdoptPatch(p.Owner, more)}
	c := change(end, object.Adopt, o, a.live, reason.Adopted, why)
	c.Fenced = true
	return c
}

// adopting are the targets of a source's links that are to be adopted.
func (w World) adopting(source api.ClusterName) (targets []api.ClusterName) {
	_, out, _ := w.declared(source)
	for _, l := range out {
		if w.Adopt[l.Pair()] {
			targets = append(targets, l.Target.Name)
		}
	}
	return targets
}

// owesBase says that an adoption must write the base: the first of all that is ours there. It puts no commit in force.
func (p *planner) owesBase(found bool, base inventory.Inventory) bool {
	return !found && len(p.step.Ahead) > 0 && p.closed(base.End) == nil
}
