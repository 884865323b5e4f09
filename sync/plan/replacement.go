package plan

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// nextEnd returns the end that continues a link recorded by a former name of its source: the declared link to the same target.
func (d *desired) nextEnd(in api.ClusterName, end object.End) (object.End, bool) {
	if !end.IsSource() || end.Cluster == in {
		return object.End{}, false
	}
	next := object.End{Cluster: in, Link: api.Pair{Source: in, Target: end.Link.Target}}
	return next, d.Linked(next.Link)
}

// awaitsReplacement returns why a recorded end stays: its replacement is not written and ready yet. The replacement is the end as declared now, or,
// for a source with another name, the declared link to the same target.
func (d *desired) awaitsReplacement(in api.ClusterName, end object.End, declared bool) *object.Reason {
	if end.IsBase() {
		if why := sharedInUse(d.Set, in); why != nil {
			return why
		}
	}
	next, ok := end, declared
	if !declared {
		next, ok = d.nextEnd(in, end)
	}
	if !ok {
		return nil
	}
	lacks := d.notReady(next)
	if lacks == "" {
		lacks = d.controllerNotRunning(next, declared)
	}
	if lacks == "" {
		return nil
	}
	if why := Suspend(d.Snapshot, next, nil); why != nil {
		lacks = why.Message
	}
	return object.Because(reason.WaitingForReplacement, "it stays until its replacement %s is ready: %s; "+
		"to give up the replacement, declare the former state, or remove the new link", next, lacks)
}

// controllerNotRunning returns why what runs the controller of a link besides its end does not do so: the user's chart for mode External, the
// cluster's base for Shared. Empty: it does. A controller that goes to the chart with the source's former name is released, and awaits nothing.
func (d *desired) controllerNotRunning(end object.End, declared bool) string {
	l, ok := d.Fleet.Link(end.Link)
	if !ok || !end.IsSource() {
		return ""
	}
	switch mode := l.Spec.Controller.Mode; {
	case mode == api.External && declared:
		return notRunning(l, d.Clusters[end.Cluster].Live)
	case mode == api.Shared:
		return d.notReady(object.End{Cluster: end.Cluster})
	}
	return ""
}

// notReady returns what of a declared end is not written and ready; empty: nothing.
func (d *desired) notReady(end object.End) string {
	if why := d.Unidentified(end.Cluster); why != nil {
		return why.Message
	}
	current, wanted := d.Clusters[end.Cluster], d.ends(end.Cluster, end)
	i := slices.IndexFunc(wanted, func(w object.Desired) bool { return w.End == end })
	switch {
	case i < 0:
		return "it is not declared"
	case wanted[i].Blocked != nil:
		return wanted[i].Blocked.Message
	}
	objects := wanted[i].Objects
	for _, o := range objects {
		switch live := current.Live.Record(o.Key); {
		case live.Mark != object.Ours, live.Digest != o.Digest, live.Terminating:
			return o.Key.String() + " is not written yet"
		case !live.Health.IsZero():
			return o.Key.String() + ": " + live.Health.String()
		}
	}
	return ""
}
