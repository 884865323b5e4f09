package main

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

// When tokens of our own accesses are looked at, and when one that was not granted is asked for again.
const (
	renewalEvery = time.Minute
	renewalAgain = 10 * time.Minute
)

// renewals keeps the tokens of accesses that `cluster add` made from running out, until ctx ends. It is for who may write: a term.
func (e *engine) renewals(ctx context.Context) {
	r := e.renewal()
	tick := time.NewTicker(renewalEvery)
	defer tick.Stop()
	for {
		r.all(ctx, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// renewal remembers what was not granted.
type renewal struct {
	clusters *clusters
	only     []api.ClusterName // empty: all
	failed   map[api.ClusterName]time.Time
}

func (e *engine) renewal() *renewal {
	return &renewal{clusters: e.clusters, only: e.loop.Only, failed: map[api.ClusterName]time.Time{}}
}

// all renews what is due. What fails is told, and tried again later: the old token is good for a third of its life yet.
func (r *renewal) all(ctx context.Context, now time.Time) {
	for _, w := range r.clusters.declared() {
		own := r.clusters.own(w.Name)
		if own == nil || w.Spec.Access.KubeconfigSecret == nil || !own.due(now) || now.Before(r.failed[w.Name].Add(renewalAgain)) || len(r.only) > 0 && !slices.Contains(r.only, w.Name) {
			continue
		}
		until, err := r.clusters.renew(ctx, w, now)
		log := r.clusters.log.With("cluster", w.Name)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.failed[w.Name] = now
			log.Warn("the token of our own access was not renewed; linkwright cluster add gives another", "until", own.expires.UTC(), "why", err)
		case !until.IsZero():
			log.Info("renewed the token of our own access", "until", until.UTC())
		}
	}
}

// renew asks a cluster for another token of our own account there, and puts it into the access Secret, if that is due by what
// the Secret holds now. Its watch, or the next pass, then exchanges the connection.
func (c *clusters) renew(ctx context.Context, w fleet.Cluster, now time.Time) (until time.Time, err error) {
	entry := *w.Spec.Access.KubeconfigSecret
	was, err := c.home.ask(ctx, c.home.key("Secret", entry.Name), "")
	if err != nil {
		return time.Time{}, err
	}
	own, ok := ownAccess(was, entry.Key)
	if !ok || !own.due(now) {
		return time.Time{}, nil
	}
	namespace, name, _ := strings.Cut(own.account, "/")
	account := object.Key{Kind: "ServiceAccount", Namespace: namespace, Name: name}
	own.name = w.Name
	own.token, err = c.Token(ctx, w.Name, object.TokenRequest{Account: account, TTL: own.expires.Sub(own.issued)})
	if err != nil {
		return time.Time{}, err
	}
	_, until, ok = cluster.Lifetime(own.token)
	if !ok || !until.After(own.expires) {
		return time.Time{}, fmt.Errorf("the new token of %s would not live longer than the old one", account)
	}
	return until, c.home.handOver(ctx, c.flags.owner, entry, own, was.record)
}

// declared are the clusters that are followed.
func (c *clusters) declared() []fleet.Cluster {
	c.following.Lock()
	defer c.following.Unlock()
	return slices.Clone(c.want)
}

// own is what was found out of a cluster's access, if `cluster add` made it; else nil.
func (c *clusters) own(name api.ClusterName) *owned {
	_, at := c.entry(name)
	return at.own
}
