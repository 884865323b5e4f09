// Package takeover decides which existing objects of a link linkwright may adopt, and why it may not adopt the others.
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

// Object is a live object that linkwright is to adopt, or has adopted already.
type Object struct {
	Key  object.Key
	Live object.Record
	body object.Body
}

// Source returns the objects of a link in its source that linkwright is to adopt, in order, or why it cannot. If the controller or the
// credentials of the link are the user's, it leaves them alone.
func Source(observed object.Observation, l fleet.Link, rules state.AdoptRules) (out []Object, why *object.Reason) {
	at, target := l.Source.Spec.Linkerd, l.Target.Name
	for k, live := range observed.Records() {
		name, ok := linkerd.BelongsTo(at, k, target)
		if !ok || !managed(l, k) {
			continue
		}
		body, _ := observed.Body(k)
		o := Object{k, live, body}
		_, known := linkerd.Adoptable(at, k, body, target)
		switch why := o.deny(known, rules); {
		case live.Mark == object.Ours:
		case !known && name.Legacy:
			continue // a user's own object, whose name linkwright does not need
		case why != nil:
			return nil, why
		}
		out = append(out, o)
	}
	return out, nil
}

// Target returns the account, tokens and bindings of a link's source in its target, or why linkwright cannot adopt them. They are in
// linkwright's own namespace and have its names: an installation released them, or a backup restored them.
func Target(observed object.Observation, owner string, l fleet.Link, rules state.AdoptRules) (out []Object, why *object.Reason) {
	for k, live := range observed.Records() {
		source, ok := render.SourceOf(owner, k)
		if !ok || source != l.Source.Name {
			continue
		}
		body, _ := observed.Body(k)
		o := Object{k, live, body}
		if live.Mark != object.Ours {
			if why := o.deny(true, rules); why != nil {
				return nil, why
			}
		}
		out = append(out, o)
	}
	return out, nil
}

// managed reports whether linkwright manages such an object, by the modes of the link.
func managed(l fleet.Link, k object.Key) bool {
	switch k.Kind {
	case "Link":
		return true
	case "Secret":
		return l.Spec.Credentials.Mode != api.Existing
	}
	return l.Spec.Controller.Mode == api.PerLink
}

// deny returns why linkwright cannot adopt an object of others, or nil. Known means that the object has the labels that Linkerd's own tools
// set.
func (o Object) deny(known bool, rules state.AdoptRules) *object.Reason {
	tool, owner := linkerd.ToolOf(o.body, o.Live), linkerd.Owner(o.body)
	switch {
	case !known:
		return object.Because(reason.NotAdoptable, "%s has the name of a part of the link, but not the labels that Linkerd's own tools set (written by %s): delete or rename it",
			o.Key, o.Live.Writers())
	case o.Live.Terminating:
		return object.Because(reason.Terminating, "%s is still being deleted", o.Key)
	case o.Live.Mark == object.Theirs && owner == "": // its labels were not read
		return object.Because(reason.ObjectExists, "%s belongs to another installation, but has a name that linkwright needs: delete it, or let that installation release it", o.Key)
	case o.Live.Mark == object.Theirs && owner != rules.From:
		return object.Because(reason.ObjectExists, "%s belongs to the installation %s: if that is gone, adopt the object with --from-owner %s", o.Key, owner, owner)
	case !tool.IsZero() && !rules.Managed:
		return object.Because(reason.ManagedByOtherTool, "%s is managed by %s (%s), which would write it again or delete it: adopt it with --force-manager, and in %s %s",
			o.Key, tool.Name, tool.Of, tool.Name, tool.Leave)
	}
	return nil
}

// Adopt returns the patch that sets linkwright's labels. If a Helm release made the object, the patch also makes Helm keep it when the
// release no longer names it.
func (o Object) Adopt(owner string, end object.End) object.Change {
	var more map[string]string
	why := "created by " + o.Live.Writers()
	if r := linkerd.ReleaseOf(o.body); !r.IsZero() {
		more = map[string]string{object.HelmPolicy: object.HelmKeep}
		why += ", Helm release " + r.Namespace + "/" + r.Name
	}
	return object.Change{
		End: end, Action: object.Adopt, Key: o.Key, Object: object.Object{Key: o.Key, Body: object.AdoptPatch(owner, more)},
		Was: o.Live, Conditional: true, Why: object.Reason{Code: reason.Adopted, Message: why},
	}
}

// Targets returns the targets of those links of a source that are to be adopted.
func Targets(w state.Snapshot, source api.ClusterName) (targets []api.ClusterName) {
	_, out, _ := w.Declared(source)
	for _, l := range out {
		if w.Adopt[l.Pair()] {
			targets = append(targets, l.Target.Name)
		}
	}
	return targets
}
