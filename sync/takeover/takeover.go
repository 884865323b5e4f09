// Package takeover decides which existing objects of a link linkwright may adopt, and why it may not adopt the others.
package takeover

import (
	"strings"

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
		why := o.deny(rules)
		if !known {
			why = o.unknown(at, target)
		}
		switch {
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
			if why := o.deny(rules); why != nil {
				return nil, why
			}
		}
		out = append(out, o)
	}
	return out, nil
}

// Shared returns the objects of a source's shared controller that linkwright is to adopt, or why it cannot. An installation released them.
func Shared(observed object.Observation, at api.Linkerd, owner string, rules state.AdoptRules) (out []Object, why *object.Reason) {
	for k, live := range observed.Records() {
		body, _ := observed.Body(k)
		o := Object{k, live, body}
		switch named, labelled := linkerd.IsShared(at, owner, k, body); {
		case !named || live.Mark == object.Ours:
			continue
		case !labelled:
			return nil, object.Because(reason.NotAdoptable, "%s has the name of a part of the shared controller, but not its labels (%s): delete or rename it", k, live.Origin())
		}
		if why := o.deny(rules); why != nil {
			return nil, why
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
	return l.Spec.Controller.Mode != api.External
}

// Unlabelled returns why an adoption of the link would be denied because of an object that lacks labels of Linkerd's own tools; nil: of those
// whose metadata were read, none does.
func Unlabelled(observed object.Observation, l fleet.Link) *object.Reason {
	at, target := l.Source.Spec.Linkerd, l.Target.Name
	for k, live := range observed.Records() {
		body, read := observed.Body(k)
		name, ok := linkerd.BelongsTo(at, k, target)
		if !ok || !read || body.IsZero() || name.Legacy || live.Mark == object.Ours || !managed(l, k) {
			continue
		}
		if len(linkerd.MissingLabels(at, k, body, target)) > 0 {
			return Object{k, live, body}.unknown(at, target)
		}
	}
	return nil
}

// unknown returns why an object that is not as Linkerd's own tools make it is not adopted, and what to do.
func (o Object) unknown(at api.Linkerd, target api.ClusterName) *object.Reason {
	missing := linkerd.MissingLabels(at, o.Key, o.body, target)
	if len(missing) == 0 {
		return object.Because(reason.NotAdoptable, "%s has the name of a part of the link, but is not as Linkerd's own tools make it (%s): delete or rename it",
			o.Key, o.Live.Origin())
	}
	return object.Because(reason.NotAdoptable, "%s has the name of a part of the link, but lacks %s, which Linkerd's own tools set (%s): if the link uses it, run %s; otherwise delete or rename it",
		o.Key, strings.Join(missing, ", "), o.Live.Origin(), labelCommand(o.Key, missing))
}

// labelCommand is the command that sets labels on an object.
func labelCommand(k object.Key, labels []string) string {
	words := []string{"kubectl", "label", "--overwrite"}
	if k.Namespace != "" {
		words = append(words, "--namespace", k.Namespace)
	}
	kind := strings.ToLower(k.Kind)
	if k.Group != "" {
		kind += "." + k.Group
	}
	return strings.Join(append(append(words, kind, k.Name), labels...), " ")
}

// deny returns why linkwright cannot adopt an object that is as Linkerd's own tools make it, or nil.
func (o Object) deny(rules state.AdoptRules) *object.Reason {
	tool, owner := linkerd.ToolOf(o.body, o.Live), linkerd.Owner(o.body)
	switch {
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
	why := o.Live.Origin()
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
