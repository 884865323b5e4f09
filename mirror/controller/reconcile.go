package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/mirror"
	"github.com/linkwright/linkwright/render/linkerd"
)

// fieldManager is that of all writes. linkwright knows a mirror by it (render/linkerd/controller_made.go).
const fieldManager = "linkwright-mirror"

// writeTimeout is what one write may take. It is shorter than the time from the loss of a Lease to the next holder.
const writeTimeout = 8 * time.Second

var errHandover = errors.New("another process takes over a link, or hands it over")

// reconcile makes the source right for one exported Service.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) error {
	c.leading.RLock()
	defer c.leading.RUnlock()
	if len(c.led) == 0 {
		return nil // whoever leads does it; all keys come back when this process does
	}
	state := c.state(key)
	plan := mirror.Reconcile(state)
	err := c.write(ctx, plan.Writes)
	c.record(state, plan, err)
	if err != nil && transient(err) {
		c.options.Log.Debug("service is tried again", "service", key.String(), "error", err)
	} else if err != nil {
		c.options.Log.Warn("service cannot be mirrored", "service", key.String(), "error", err)
	}
	return err
}

// state is everything that is known of an exported Service. A link that this process does not lead counts as not read: what it made stays.
func (c *Controller) state(key types.NamespacedName) mirror.State {
	s := mirror.State{Name: key}
	names := []string{linkerd.Federated(key.Name)}
	for _, t := range c.all() {
		l := t.state(key)
		l.Synced = l.Synced && c.leads(t.name)
		s.Links = append(s.Links, l)
		names = append(names, key.Name+"-"+t.name)
		for _, host := range hostsOf(l) {
			names = append(names, host+"-"+t.name)
		}
	}
	s.Source = c.source.state(key, names)
	s.Source.CreateNamespaces = c.options.CreateNamespaces
	s.Source.LocalMirror = !c.leads("")
	return s
}

// hostsOf are the names of the addresses of a headless Service that get Services of their own.
func hostsOf(l mirror.Link) (out []string) {
	if !l.Headless || l.Endpoints == nil {
		return nil
	}
	for _, subset := range l.Endpoints.Subsets {
		for _, a := range subset.Addresses {
			if a.Hostname != "" {
				out = append(out, a.Hostname)
			}
		}
	}
	return out
}

// write does what a plan says, in order, until a write fails.
func (c *Controller) write(ctx context.Context, writes []mirror.Write) error {
	for _, w := range writes {
		if c.handover.Load() > 0 || ctx.Err() != nil {
			return errHandover
		}
		if err := c.writeOne(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

func (c *Controller) writeOne(ctx context.Context, w mirror.Write) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout) // a write that has begun is ended
	defer cancel()
	switch o := w.Object.(type) {
	case *corev1.Service:
		return writeTo(ctx, c.core.Services(o.Namespace), c.source.liveServices, w.Action, o)
	case *endpoints:
		err := writeTo(ctx, c.core.Endpoints(o.Namespace), c.source.liveEndpoints, w.Action, o)
		if apierrors.IsAlreadyExists(err) {
			return c.explain(ctx, o, err)
		}
		return err
	case *corev1.Namespace:
		_, err := c.core.Namespaces().Create(ctx, o, metav1.CreateOptions{FieldManager: fieldManager})
		return notIf(apierrors.IsAlreadyExists, err)
	}
	return fmt.Errorf("write %T: not a kind of mirrors", w.Object)
}

// explain returns why Endpoints could not be created. Those of others are not in the cache, which has all Services, but of Endpoints only mirrors.
func (c *Controller) explain(ctx context.Context, o *endpoints, err error) error {
	live, getErr := c.core.Endpoints(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
	if getErr == nil && live.Labels[linkerd.MirroredLabel] == "" {
		return fmt.Errorf("the Endpoints %s exist without a Service, and are no mirror's: delete them if nobody needs them", o.Name)
	}
	return err
}

// writer writes objects of one kind in one namespace.
type writer[T metav1.Object] interface {
	Create(ctx context.Context, o T, options metav1.CreateOptions) (T, error)
	Update(ctx context.Context, o T, options metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// writeTo does one write, and notes what the server answered.
func writeTo[T metav1.Object](ctx context.Context, to writer[T], known *written[T], action mirror.Action, o T) error {
	switch action {
	case mirror.Delete:
		uid, version := o.GetUID(), o.GetResourceVersion()
		err := to.Delete(ctx, o.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
		if err = notIf(apierrors.IsNotFound, err); err == nil {
			known.put(o, true)
		}
		return err
	case mirror.Create:
		live, err := to.Create(ctx, o, metav1.CreateOptions{FieldManager: fieldManager})
		if err == nil {
			known.put(live, false)
		}
		return err
	}
	live, err := to.Update(ctx, o, metav1.UpdateOptions{FieldManager: fieldManager})
	if err == nil {
		known.put(live, false)
	}
	return err
}

// notIf returns an error, but not one of a kind that means that nothing is left to do.
func notIf(done func(error) bool, err error) error {
	if done(err) {
		return nil
	}
	return err
}

// transient reports whether an error goes away by itself: the cache is behind, or another process writes.
func transient(err error) bool {
	return errors.Is(err, errHandover) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err)
}

// record notes how a Service is mirrored for each link that this process leads.
func (c *Controller) record(s mirror.State, plan mirror.Plan, err error) {
	if err != nil && transient(err) {
		return
	}
	for _, l := range s.Links {
		t := c.target(l.Name)
		if !l.Synced || t == nil {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(plan.Statuses), func(one mirror.Status) bool { return one.Link != l.Name })
		if err != nil {
			of = failed(of, err)
		}
		t.record(s.Name, l.Service, of)
	}
}

// failed is how a Service is mirrored if a write failed: what could not be mirrored before that says why itself.
func failed(statuses []mirror.Status, err error) []mirror.Status {
	for i := range statuses {
		if statuses[i].Reason == mirror.Mirrored {
			statuses[i].Reason, statuses[i].Message = mirror.Failed, err.Error()
		}
	}
	return statuses
}
