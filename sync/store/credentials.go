package store

import (
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
	proofs sharedMap[api.Pair, state.Verification]
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
	was, tried := c.proofs.at[link]
	c.proofs.set(link, now)
	return !tried || was.Fingerprint != now.Fingerprint || was.Blocks != now.Blocks || !same(was.Why, now.Why)
}

// forget forgets tokens. c.mu is held.
func (c *Credentials) forget(gone func(api.Pair, object.Secret) bool) {
	c.issued.drop(func(p api.Pair, c linkerd.Credential) bool { return gone(p, c.Token) })
}

// keep forgets proofs of links that are no longer declared. c.mu is held.
func (c *Credentials) keep(f *fleet.Fleet) {
	c.proofs.drop(func(p api.Pair, _ state.Verification) bool { _, declared := f.Link(p); return !declared })
}
