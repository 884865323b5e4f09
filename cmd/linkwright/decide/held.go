package decide

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/lease"
	"github.com/linkwright/linkwright/sync/setup"
)

// notHeld is said of a decision that no process follows now.
const notHeld = "No process holds the Lease of this installation now: linkwright sync follows it, or the daemon once it runs"

// held reports whether a process of an installation may hold a lease: also if the leases cannot be read, because who decides needs no right on
// them.
func held(ctx context.Context, management object.Cluster, at object.Installation) bool {
	watch := object.Watch{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease", Namespace: at.Namespace, Depth: object.Whole}
	found, err := management.Observe(ctx, []object.Watch{watch})
	if err != nil { // it may not list them
		watch.Names = []string{setup.LeaseOf(at.Owner)}
		found, err = management.Observe(ctx, []object.Watch{watch})
	}
	if err != nil {
		return true
	}
	for key, body := range found.Bodies() {
		var l coordinationv1.Lease
		if json.Unmarshal(body.Bytes(), &l) != nil {
			return true
		}
		of := key.Name == setup.LeaseOf(at.Owner) || strings.HasPrefix(lease.About(&l), setup.OfOnly(at.Owner, ""))
		if of && renewed(l.Spec, time.Now()) {
			return true
		}
	}
	return false
}

// renewed reports whether a lease has a holder, and that one renews it.
func renewed(l coordinationv1.LeaseSpec, now time.Time) bool {
	if l.HolderIdentity == nil || *l.HolderIdentity == "" || l.RenewTime == nil || l.LeaseDurationSeconds == nil {
		return false
	}
	return !now.After(l.RenewTime.Add(time.Duration(*l.LeaseDurationSeconds) * time.Second))
}
