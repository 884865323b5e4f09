package controller

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
)

// connect keeps the link connected as its Link and its Secret say, until ctx ends. Both may change at any time. What is connected stays until the
// connection that takes its place has read the target.
func (t *target) connect(ctx context.Context) {
	var next *connection
	secret := &secretWatch{}
	defer func() {
		secret.stop()
		next.stop()
		t.connection().stop()
	}()
	for {
		t.mu.Lock()
		l := t.link
		t.mu.Unlock()
		if l.Spec.ClusterCredentialsSecret != secret.name {
			secret.stop()
			secret = t.watchSecret(ctx, l.Spec.ClusterCredentialsSecret)
		}
		if secret.isRead() || l.watched(t.options).isEmpty() {
			next = t.dial(ctx, l, secret.get(), next)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.edited:
		case <-next.synced():
			t.promote(next)
			next = nil
		}
	}
}

// dial returns the connection that is to take the place of the present one: next if that is the one, a new one, or nil if the present one is right.
func (t *target) dial(ctx context.Context, l link, secret *corev1.Secret, next *connection) *connection {
	d, err := dialOf(l, secret, t.options)
	if err != nil {
		t.note(err)
		return next
	}
	if next != nil && next.id == d.id {
		return next
	}
	next.stop()
	if current := t.connection(); current != nil && current.id == d.id {
		t.note(nil)
		return nil
	}
	next, err = open(ctx, d, t.Controller.services.Add, t.note)
	if err != nil {
		t.note(err)
		return nil
	}
	return next
}

// promote puts a connection that has read the target in the place of the present one.
func (t *target) promote(c *connection) {
	t.mu.Lock()
	was := t.services
	t.services = c
	t.mu.Unlock()
	t.note(nil)
	if was != nil {
		was.each(t.Controller.services.Add) // the new one may not select them
		was.stop()
	}
	t.enqueue()
}

func (t *target) connection() *connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.services
}

// note notes why the target, or its credential, cannot be read; nil: it can. Nothing is reported twice.
func (t *target) note(err error) {
	t.mu.Lock()
	was := text(t.problem)
	t.problem = err
	t.mu.Unlock()
	if err == nil {
		t.metrics.connected.WithLabelValues(t.name).Set(1)
	} else {
		t.metrics.connected.WithLabelValues(t.name).Set(0)
	}
	switch {
	case err != nil && err.Error() != was:
		t.options.Log.Warn("target cannot be read: its mirrors stay as they are", "link", t.name, "error", err)
	case err == nil && was != "":
		t.options.Log.Info("target is read again", "link", t.name)
	}
}

// secretWatch watches the Secret with a link's credential.
type secretWatch struct {
	name   string
	cache  cache.SharedIndexInformer
	cancel context.CancelFunc
	work   *sync.WaitGroup
}

// watchSecret begins to watch a Secret by its name, which is all that Linkerd's Role allows.
func (t *target) watchSecret(ctx context.Context, name string) *secretWatch {
	in := t.core.Secrets(t.options.Namespace)
	one := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
	s := &secretWatch{name: name, cache: named(in.List, in.Watch, &corev1.Secret{}, one, nil, nil), work: &sync.WaitGroup{}}
	on(s.cache, func(metav1.Object) { signal(t.edited) })
	onError(s.cache, t.note)
	ctx, s.cancel = context.WithCancel(ctx)
	s.work.Go(func() { s.cache.RunWithContext(ctx) })
	s.work.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), s.cache.HasSynced) {
			signal(t.edited) // also if there is none
		}
	})
	return s
}

// get returns the Secret; nil: there is none, or it is not read yet.
func (s *secretWatch) get() *corev1.Secret {
	if s.cache == nil {
		return nil
	}
	for _, o := range s.cache.GetStore().List() {
		return o.(*corev1.Secret)
	}
	return nil
}

// isRead reports whether it is known if there is a Secret. A Link may name none.
func (s *secretWatch) isRead() bool { return s.cache == nil || s.cache.HasSynced() }

func (s *secretWatch) stop() {
	if s.cache != nil {
		s.cancel()
		s.work.Wait()
	}
}
