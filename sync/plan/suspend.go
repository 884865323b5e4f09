package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/state"
)

// Suspend is suspension as a Policy, declared, decided by a person, or set in the cluster itself: it denies both ends of a link, or everything in a cluster.
func Suspend(w state.Snapshot, end object.End, _ []object.Change) *object.Reason {
	if w.Fleet == nil {
		return nil
	}
	if c, ok := w.Fleet.Cluster(end.Cluster); ok && c.Spec.Suspend {
		return SuspendedCluster(c.Name)
	}
	if inventory.Paused(w.Owner, w.Clusters[end.Cluster].Live) {
		return PausedCluster(w.Owner, end.Cluster)
	}
	if l, ok := w.Fleet.Link(end.Link); ok && l.Spec.Suspend {
		return object.Because(reason.Suspended, "%s has suspend: true, so linkwright leaves both ends as they are: to resume, remove suspend", l.From)
	}
	if d, ok := w.Suspension(end); ok {
		return w.SuspendedBy(d)
	}
	return nil
}

// SuspendedCluster returns the reason of a cluster that is declared with suspend: true.
func SuspendedCluster(name api.ClusterName) *object.Reason {
	return object.Because(reason.Suspended, "cluster %s has suspend: true, so linkwright leaves everything there as it is: to resume, remove suspend", name)
}

// PausedCluster returns the reason of a cluster that somebody paused from inside it.
func PausedCluster(owner string, name api.ClusterName) *object.Reason {
	base := inventory.Key(owner, object.End{})
	resume := fmt.Sprintf("kubectl -n %s annotate configmap %s %s-", base.Namespace, base.Name, object.PausedAnnotation)
	return object.Because(reason.Suspended, "cluster %s is paused from inside, so linkwright leaves it as it is: to resume, run there %s", name, resume).Running(resume)
}

// resumes returns when the first suspension of these rows ends. A sync that runs once does not wait for that.
func resumes(w state.Snapshot, rows []Row) (at time.Time) {
	if w.Once {
		return at
	}
	for _, row := range rows {
		if row.Phase != Suspended {
			continue
		}
		for _, d := range w.Suspended {
			link := row.End.Link
			touches := d.Link() == link || slices.Contains([]api.ClusterName{row.End.Cluster, row.Other}, d.Cluster)
			if touches && d.Active(w.Now) {
				at = earliest(at, d.Until)
			}
		}
	}
	return at
}
