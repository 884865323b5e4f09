package credential

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// RestartInterval is how often a destination controller is restarted at most.
const RestartInterval = 5 * time.Minute

// Loading says what a cluster's destination controller has loaded: it reads a control-plane Secret when that appears, and again when it
// starts.
type Loading struct {
	Marks     []string       // of Secrets of linkwright that changed in place, sorted
	NotLoaded []string       // those of them that it was not restarted for
	LoadedFor linkerd.Loaded // what it was restarted for last
}

// Loading is made of what is live alone: a Secret that was just planned counts once it is seen.
func (s *Set) Loading(name api.ClusterName) Loading {
	var l Loading
	_, out, _ := s.Declared(name)
	for _, link := range out {
		if mark := s.Changed(link); mark != "" {
			l.Marks = append(l.Marks, mark)
		}
	}
	slices.Sort(l.Marks)
	body, _ := s.Clusters[name].Live.Body(linkerd.Destination(s.Spec(name).Linkerd))
	l.LoadedFor = linkerd.LoadedOf(s.Owner, body)
	l.NotLoaded = l.LoadedFor.NotLoaded(l.Marks)
	return l
}

// Next returns when the controller may be restarted again; a moment that is still to come was written by a clock that goes wrong, and counts as
// none.
func (l Loading) Next(now time.Time) time.Time {
	if at := l.LoadedFor.At; !at.IsZero() && !at.After(now) {
		return at.Add(RestartInterval)
	}
	return time.Time{}
}

// Changed returns the mark of a link's control-plane secret, empty if that is not ours, or as it was made.
func (s *Set) Changed(l fleet.Link) string {
	if !l.Spec.UsesRemoteDiscovery() || l.Spec.Credentials.Mode == api.Existing {
		return ""
	}
	if mark := s.Marked(l); linkerd.ChangedInPlace(mark) && mark != linkerd.Foreign {
		return mark
	}
	return ""
}

// Destination returns the watch of the Deployment of a cluster's destination controller, if a Secret of linkwright is read by it.
func Destination(w state.Snapshot, c fleet.Cluster) []object.Watch {
	if len(w.Discovering(c.Name)) == 0 {
		return nil
	}
	k := linkerd.Destination(c.Spec.Linkerd)
	return []object.Watch{{
		Group: k.Group, Version: "v1", Kind: k.Kind, Namespace: k.Namespace, Names: []string{k.Name}, Depth: object.Whole, Health: true,
	}}
}
