package decide

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/lease"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/setup"
)

// Following says which process follows what was recorded, and when; empty: nobody asked.
type Following string

// Followings.
const (
	ByDaemon Following = "A running daemon follows it within seconds, or at its next sync if it may not watch the record. linkwright sync follows it, too."
	ByNobody Following = "No process holds the Lease of this installation, so nothing follows it yet: start linkwright run, or run linkwright sync --repo URL."
)

// Note is what a program must know of it; empty: nothing.
func (f Following) Note() string {
	if f != ByNobody {
		return ""
	}
	return strings.TrimSuffix(string(f), ".")
}

// Follows says which process of an installation follows what was recorded.
func Follows(ctx context.Context, management object.Cluster, at object.Installation) Following {
	if held(ctx, management, at) {
		return ByDaemon
	}
	return ByNobody
}

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
		if of && l.Spec.RenewTime != nil && Leader(l).Leads(time.Now()) {
			return true
		}
	}
	return false
}

// Leader is what a lease says of who syncs. The lease was taken once, so that it has a time of renewal.
func Leader(l coordinationv1.Lease) report.Leader {
	out := report.Leader{Lease: l.Namespace + "/" + l.Name, Renewed: l.Spec.RenewTime.Time}
	if l.Spec.HolderIdentity != nil {
		out.Holder = *l.Spec.HolderIdentity
	}
	if l.Spec.LeaseDurationSeconds != nil {
		out.Lasts = time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
	}
	if last, ok := lease.LastSync(&l); ok {
		out.Last = report.Sync{By: last.By, At: last.At}
	}
	return out
}
