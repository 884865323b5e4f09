package store

import (
	"maps"
	"sync"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// Credentials are tokens on their way, and what verifying credentials gave. The target's reconcile writes tokens, and the verifier proofs.
type Credentials struct {
	mu     *sync.Mutex
	issued sharedMap[api.Pair, linkerd.Credential] // and not yet seen in place
	// proofs are by source and target. The inner maps never change: with many links, a copy of all of them for each proof would cost more than the proof.
	proofs sharedMap[api.ClusterName, map[api.ClusterName]state.Verification]
}

// Issue keeps a token until it is seen in place. If it is lost before, another one is asked for.
func (c *Credentials) Issue(link api.Pair, token object.Secret) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.issued.set(link, linkerd.Credential{Token: token})
}

// SetVerification takes over what came of a verification, and says whether it is another verdict than before.
func (c *Credentials) SetVerification(link api.Pair, now state.Verification) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, tried := c.proofs.at[link.Source][link.Target]
	of := maps.Clone(c.proofs.at[link.Source])
	if of == nil {
		of = map[api.ClusterName]state.Verification{}
	}
	of[link.Target] = now
	c.proofs.set(link.Source, of)
	return !tried || was.Fingerprint != now.Fingerprint || was.Blocks != now.Blocks || !object.SameReason(was.Why, now.Why)
}

// forget forgets tokens. c.mu is held.
func (c *Credentials) forget(gone func(api.Pair, object.Secret) bool) {
	c.issued.drop(func(p api.Pair, c linkerd.Credential) bool { return gone(p, c.Token) })
}

// keep forgets proofs of links that are no longer declared. c.mu is held.
func (c *Credentials) keep(f *fleet.Fleet) {
	for source, of := range c.proofs.at {
		kept := maps.Clone(of)
		maps.DeleteFunc(kept, func(target api.ClusterName, _ state.Verification) bool {
			_, declared := f.Link(api.Pair{Source: source, Target: target})
			return !declared
		})
		if len(kept) < len(of) {
			c.proofs.set(source, kept)
		}
	}
	c.proofs.drop(func(_ api.ClusterName, of map[api.ClusterName]state.Verification) bool { return len(of) == 0 })
}
