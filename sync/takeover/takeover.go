// Package takeover answers: which objects that others made for a link may be linkwright's, and why may others not?
package takeover

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// Object is one that is to be ours, or is already.
type Object struct {
	Key  object.Key
	Live object.Record
	body object.Body
}

// Source gives the live objects of a link in its source, in order, or why they cannot be taken over. If the controller or the credentials
// of the link are the user's, those stay what they are.
func Source(seen object.Observation, l fleet.Link, rules state.AdoptRules) (out []Object, why *object.Reason) {
	at, target := l.Source.Spec.Linkerd, l.Target.Name
	for k, live := range seen.Records() {
		named, ok := linkerd.Called(at, k, target)
		if !ok || !wanted(l, k) {
			continue
		}
		body, _ := seen.Body(k)
		o := Object{k, live, body}
		_, known := linkerd.Adoptable(at, k, body, target)
		switch why := o.refuse(known, rules); {
		case live.Mark == object.Ours:
		case !known && named.Legacy:
			continue // somebody's own, of a name that we do not need
		case why != nil:
			return nil, why
		}
		out = append(out, o)
	}
	return out, nil
}

// Target gives the account, tokens and rights of a link's source in its target: linkwright's own, by their
// names in its own namespace, released once or restored from a backup; or why they cannot be taken over.
func Target(seen object.Observation, owner string, l fleet.Link, rules state.AdoptRules) (out []Object, why *object.Reason) {
	for k, live := range seen.Records() {
		source, ok := render.SourceOf(owner, k)
		if !ok || source != l.Source.Name {
			continue
		}
		body, _ := seen.Body(k)
		o := Object{k, live, body}
		if live.Mark != object.Ours {
			if why := o.refuse(true, rules); why != nil {
				return nil, why
			}
		}
		out = append(out, o)
	}
	return out, nil
}

// wanted says that a kind of object is to be linkwright's, as the link is declared.
func wanted(l fleet.Link, k object.Key) bool {
	switch k.Kind {
	case "Link":
		return true
	case "Secret":
		return l.Spec.Credentials.Mode != api.Existing
	}
	return l.Spec.Controller.Mode == api.PerLink
}

// refuse says why an object that is not ours cannot be adopted, or nil. Known: its labels are those that Linkerd's own tools give it.
func (o Object) refuse(known bool, rules state.AdoptRules) *object.Reason {
	tool, owner := linkerd.ToolOf(o.body, o.Live), linkerd.Owner(o.body)
	switch {
	case !known:
		return object.Because(reason.NotAdoptable, "%s has the name of a part of the link, but not the labels that Linkerd's own tools set (written by %s): delete or rename it",
			o.Key, o.Live.Writers())
	case o.Live.Going:
		return object.Because(reason.Terminating, "%s is still being deleted", o.Key)
	case o.Live.Mark == object.Theirs && owner == "": // it was not read whole
		return object.Because(reason.ObjectExists, "%s belongs to another installation, but has a name that linkwright needs: delete it, or let that installation release it", o.Key)
	case o.Live.Mark == object.Theirs && owner != rules.From:
		return object.Because(reason.ObjectExists, "%s belongs to the installation %s: if that is gone, adopt the object with --from-owner %s", o.Key, owner, owner)
	case !tool.IsZero() && !rules.Managed:
		return object.Because(reason.ManagedByOtherTool, "%s is managed by %s (%s), which would write it again or delete it: adopt it with --force-manager, and in %s %s",
			o.Key, tool.Name, tool.Of, tool.Name, tool.Leave)
	}
	return nil
}

// Adopt is the write of our marks. Helm is told to leave what its release names no more.
func (o Object) Adopt(owner string, end object.End) object.Change {
	var more map[string]string
	why := "created by " + o.Live.Writers()
	if r := linkerd.ReleaseOf(o.body); !r.IsZero() {
		more = map[string]string{object.HelmPolicy: object.HelmKeep}
		why += ", Helm release " + r.Namespace + "/" + r.Name
	}
	return object.Change{
		End: end, Action: object.Adopt, Key: o.Key, Object: object.Object{Key: o.Key, Body: object.AdoptPatch(owner, more)},
		Was: o.Live, Fenced: true, Why: object.Reason{Code: reason.Adopted, Message: why},
	}
}

// Targets are those of a source's links that are to be adopted.
func Targets(w state.Snapshot, source api.ClusterName) (targets []api.ClusterName) {
	_, out, _ := w.Declared(source)
	for _, l := range out {
		if w.Adopt[l.Pair()] {
			targets = append(targets, l.Target.Name)
		}
	}
	return targets
}
