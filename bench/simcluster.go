package main

import (
	"context"
	"encoding/json"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/linkwright/linkwright/object"
)

// simCluster is a cluster in memory: the target of a link, or the management cluster. It returns what is read and more, issues
// tokens at once, and costs the server under test nothing.
type simCluster struct {
	mu   sync.Mutex
	seen object.Observation
}

// newSimCluster makes a cluster with the same objects and another identity.
func newSimCluster(like object.Observation, uid string) *simCluster {
	kubeSystem := object.Key{Kind: "Namespace", Name: "kube-system"}
	r, e := like.Record(kubeSystem), like.Edit()
	r.UID = uid
	e.Put(kubeSystem, r, object.Body{})
	return &simCluster{seen: e.Observation()}
}

// Observe implements object.Cluster.
func (p *simCluster) Observe(context.Context, []object.Watch) (object.Observation, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen, nil
}

// Live implements object.Cluster.
func (p *simCluster) Live(ctx context.Context, w []object.Watch) (object.Observation, error) {
	return p.Observe(ctx, w)
}

// Write implements object.Cluster.
func (p *simCluster) Write(_ context.Context, c object.Change) (object.Record, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.seen.Edit()
	now := object.Written(c.Object)
	switch c.Action {
	case object.Delete:
		now = object.Record{}
		e.Drop(c.Key)
	default:
		body, err := withToken(c)
		if err != nil {
			return now, err
		}
		e.Put(c.Key, now, body)
	}
	p.seen = e.Observation()
	return now, nil
}

// withToken is the body after a write: Kubernetes' token controller fills in tokens.
func withToken(c object.Change) (object.Body, error) {
	if c.Key.Kind != "Secret" {
		return c.Object.Body, nil
	}
	var s corev1.Secret
	if err := json.Unmarshal(c.Object.Body.Bytes(), &s); err != nil {
		return object.Body{}, err
	}
	s.Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte("token-of-" + s.Name)}
	body, err := json.Marshal(s)
	return object.NewBody(body), err
}
