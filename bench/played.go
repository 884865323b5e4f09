package main

import (
	"context"
	"encoding/json"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/linkwright/linkwright/object"
)

// played is a cluster in memory: the target of a link, of which an API server of its own would tell nothing more, or the
// management cluster. It answers what it is asked for and more, issues tokens at once, and costs the server under test nothing.
type played struct {
	mu   sync.Mutex
	seen object.Observation
}

// dressed plays a cluster that looks like the one that was seen, and is another one.
func dressed(like object.Observation, uid string) *played {
	kubeSystem := object.Key{Kind: "Namespace", Name: "kube-system"}
	r, e := like.Record(kubeSystem), like.Edit()
	r.UID = uid
	e.Put(kubeSystem, r, object.Body{})
	return &played{seen: e.Observation()}
}

// Observe implements object.Cluster.
func (p *played) Observe(context.Context, []object.Watch) (object.Observation, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen, nil
}

// Live implements object.Cluster.
func (p *played) Live(ctx context.Context, w []object.Watch) (object.Observation, error) {
	return p.Observe(ctx, w)
}

// Write implements object.Cluster.
func (p *played) Write(_ context.Context, c object.Change) (object.Record, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.seen.Edit()
	now := object.Written(c.Object)
	switch c.Action {
	case object.Delete:
		now = object.Record{}
		e.Drop(c.Key)
	default:
		body, err := issued(c)
		if err != nil {
			return now, err
		}
		e.Put(c.Key, now, body)
	}
	p.seen = e.Observation()
	return now, nil
}

// issued is the body that a write leaves: Kubernetes' token controller fills in tokens.
func issued(c object.Change) (object.Body, error) {
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
