package state

import (
	"fmt"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// Pending is an end of a removed link in a cluster that could not be read when the rest of the link went: what is left there goes
// as soon as it can be read, however late that is.
type Pending struct {
	Link  api.Pair
	Since time.Time // when it became the last that is left of its link
	Left  string    // what that is, in words
}

// PendingIn returns the cleanups that are pending in a cluster, sorted by link. What is declared again is none.
func (s Snapshot) PendingIn(name api.ClusterName) (out []Pending) {
	for _, d := range s.Pending[name] {
		if !s.Linked(d.Link()) {
			out = append(out, Pending{Link: d.Link(), Since: d.Since, Left: LeftBehind(s.Owner, object.End{Cluster: name, Link: d.Link()})})
		}
	}
	return out
}

// LeftBehind returns what an end leaves in a cluster that nobody can read.
func LeftBehind(owner string, end object.End) string {
	if where := inventory.Key(owner, end); end.IsSource() {
		return fmt.Sprintf("Linkerd Link %s, its controller, rights and credentials, the mirrors that it made, and %s", end.Link.Target, where)
	}
	account := object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: owner + "." + string(end.Link.Source)}
	return fmt.Sprintf("%s, its Secrets, ClusterRoleBinding %s.%s, and %s", account, object.AccessNamespace, account.Name, inventory.Key(owner, end))
}

// Silent reports whether a cluster was tried and gave no answer: there was no connection, or one on which nothing came.
func Silent(cluster Cluster) bool {
	return cluster.Reading == Unread && cluster.Err != nil && (cluster.Err.Code == reason.Unreachable || cluster.Err.Code == reason.Timeout)
}
