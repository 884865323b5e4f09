package testbed

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// lister is a client of one kind of object.
type lister[L metav1.ListInterface] interface {
	List(ctx context.Context, o metav1.ListOptions) (L, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
}

// listing is a list of objects that is asked for again only when a watch says
// that something changed, or when the watch ended.
type listing[L metav1.ListInterface] struct {
	client  lister[L]
	options metav1.ListOptions

	last   L
	events watch.Interface // since last; nil: none
}

func listingOf[L metav1.ListInterface](client lister[L], o metav1.ListOptions) *listing[L] {
	return &listing[L]{client: client, options: o}
}

// read returns the list as it is. The watch lives as long as ctx, or until end.
func (l *listing[L]) read(ctx context.Context) (L, error) {
	if l.events != nil && !l.changed() {
		return l.last, nil
	}
	l.end()
	now, err := l.client.List(ctx, l.options)
	if err != nil {
		return now, err
	}
	o := l.options
	o.ResourceVersion = now.GetResourceVersion()
	if events, err := l.client.Watch(ctx, o); err == nil { // without one it is listed again
		l.events = events
	}
	l.last = now
	return now, nil
}

// changed reports whether the watch told something, or ended.
func (l *listing[L]) changed() bool {
	select {
	case <-l.events.ResultChan():
		return true
	default:
		return false
	}
}

// end ends the watch.
func (l *listing[L]) end() {
	if l.events != nil {
		l.events.Stop()
		l.events = nil
	}
}
