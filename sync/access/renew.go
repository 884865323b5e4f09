package access

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/cluster"
)

// When tokens of linkwright's own accesses are read, and when one that was not granted is asked for again.
const (
	renewalEvery = time.Minute
	renewalAgain = 10 * time.Minute
)

// Renewal keeps the tokens of accesses that `cluster add` made from running out. It remembers what was not granted. It is for who may write.
type Renewal struct {
	clusters *Clusters
	only     []api.ClusterName // empty: all
	failed   map[api.ClusterName]time.Time
}

// Renewal is for these clusters; none: for all.
func (c *Clusters) Renewal(only []api.ClusterName) *Renewal {
	return &Renewal{clusters: c, only: only, failed: map[api.ClusterName]time.Time{}}
}

// Run renews what is due until ctx ends.
func (r *Renewal) Run(ctx context.Context) {
	tick := time.NewTicker(renewalEvery)
	defer tick.Stop()
	for {
		r.Once(ctx, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Once renews what is due. What fails is reported, and tried again later: the old token is good for a third of its life yet.
func (r *Renewal) Once(ctx context.Context, now time.Time) {
	for _, w := range r.clusters.declared() {
		own := r.clusters.ManagedAccess(w.Name)
		if own == nil || w.Spec.Access.KubeconfigSecret == nil || !own.Due(now) || now.Before(r.failed[w.Name].Add(renewalAgain)) || len(r.only) > 0 && !slices.Contains(r.only, w.Name) {
			continue
		}
		until, err := r.clusters.renew(ctx, w, now)
		log := r.clusters.options.Log.With("cluster", w.Name)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.failed[w.Name] = now
			log.Warn("linkwright's own token was not renewed; linkwright cluster add gives another", "until", own.Expires.UTC(), "why", err)
		case !until.IsZero():
			log.Info("renewed linkwright's own token", "until", until.UTC())
		}
	}
}

// renew asks a cluster for another token of linkwright's own account there, and puts it into the access Secret, if that is due by what the Secret
// holds now. Its watch, or the next sync, then exchanges the connection.
func (c *Clusters) renew(ctx context.Context, w fleet.Cluster, now time.Time) (until time.Time, err error) {
	entry := *w.Spec.Access.KubeconfigSecret
	was, err := c.management.Ask(ctx, c.management.Key("Secret", entry.Name), "")
	if err != nil {
		return time.Time{}, err
	}
	own, ok := ManagedAccessIn(was, entry.Key)
	if !ok || !own.Due(now) {
		return time.Time{}, nil
	}
	namespace, name, _ := strings.Cut(own.Account, "/")
	account := object.Key{Kind: "ServiceAccount", Namespace: namespace, Name: name}
	own.Name = w.Name
	own.Token, err = c.Token(ctx, w.Name, object.TokenRequest{Account: account, TTL: own.Expires.Sub(own.Issued)})
	if err != nil {
		return time.Time{}, err
	}
	_, until, ok = cluster.Lifetime(own.Token)
	if !ok || !until.After(own.Expires) {
		return time.Time{}, fmt.Errorf("the new token of %s does not live longer than the old one", account)
	}
	return until, c.management.HandOver(ctx, Handover{c.options.Owner, entry, own, was.Record})
}

// declared returns the clusters that are followed.
func (c *accesses) declared() []fleet.Cluster {
	c.following.Lock()
	defer c.following.Unlock()
	return slices.Clone(c.want)
}

// ManagedAccess returns what was found out of a cluster's access, if `cluster add` made it; else nil.
func (c *accesses) ManagedAccess(name api.ClusterName) *ManagedAccess {
	_, at := c.entry(name)
	return at.own
}
