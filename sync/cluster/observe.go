package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/linkwright/linkwright/object"
)

// atOnce bounds the requests of one observation that are under way together.
const atOnce = 8

// Observe reads everything watched, or fails: no part of an observation is ever given but for what may be hidden. It asks by one paged LIST per kind
// and namespace (and selector), or one GET per name, each as deep as any watch wants it. Each object counts once, with its deepest body. The error
// names every kind and namespace that the server refused.
func (c *reader) Observe(ctx context.Context, watches []object.Watch) (object.Observation, error) {
	scopes := mergeScopes(watches)
	found, err := c.find(ctx, scopes)
	if err != nil {
		return object.Observation{}, err
	}
	listings := make([]listing, len(scopes))
	err = each(ctx, len(scopes), func(ctx context.Context, i int) error {
		l, err := c.readScope(ctx, found, scopes[i])
		if scopes[i].mayHide && apierrors.IsForbidden(err) {
			l, err = listing{condition: hidden}, nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", scopes[i], err)
		}
		listings[i] = l
		return nil
	})
	if err != nil {
		return object.Observation{}, err
	}
	return c.merge(scopes, listings), nil
}

// listing is what one scope showed, in order, at a resourceVersion of the list.
type listing struct {
	items     []object.Item
	at        string
	condition condition // absent or hidden; of a feed also polled and complete
}

// find returns where the kinds are served; one without a version in any. What is not in it is not served.
func (c *mapper) find(ctx context.Context, scopes []scope) (map[schema.GroupVersionKind]resource, error) {
	var exact, loose []schema.GroupVersionKind
	for _, s := range scopes {
		if s.kind.Version == "" {
			loose = append(loose, s.kind)
		} else {
			exact = append(exact, s.kind)
		}
	}
	found, err := c.resolve(ctx, exact)
	if err != nil {
		return nil, err
	}
	for _, kind := range loose {
		r, ok, err := c.locate(ctx, kind.GroupKind())
		if err != nil {
			return nil, err
		}
		if ok {
			found[kind] = r
		}
	}
	return found, nil
}

// readScope reads one scope. A resource that is gone since discovery is looked up once more.
func (c *reader) readScope(ctx context.Context, found map[schema.GroupVersionKind]resource, s scope) (listing, error) {
	r, ok := found[s.kind]
	if !ok {
		return listing{condition: absent}, nil
	}
	l, err := c.read(ctx, r, s)
	if !unserved(err) {
		return l, err
	}
	c.kinds.drop(r.GroupVersion())
	again, err := c.find(ctx, []scope{s})
	if err != nil {
		return listing{}, err
	}
	if r, ok = again[s.kind]; !ok {
		return listing{condition: absent}, nil
	}
	return c.read(ctx, r, s)
}

// unserved distinguishes a resource that does not exist from an object that does not: only the latter's answer names what was asked for.
func unserved(err error) bool {
	return apierrors.IsNotFound(err) && missing(err) == ""
}

// missing returns the name of the object that a 404 is about, or "".
func missing(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return ""
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == "UnexpectedServerResponse" { // client-go made it up from a body that is no Status
			return ""
		}
	}
	return status.Status().Details.Name
}

func (c *reader) read(ctx context.Context, r resource, s scope) (listing, error) {
	if err := s.fits(r); err != nil {
		return listing{}, err
	}
	if s.name != "" {
		return c.get(ctx, r, s)
	}
	return c.list(ctx, r, s)
}

// merge unites the looks: of one object the deepest counts, and the scopes are in that order.
func (c *reader) merge(scopes []scope, listings []listing) object.Observation {
	var unserved []string
	var unwatched []object.Key
	var hides []object.Hidden
	layers := make([]object.Layer, len(listings))
	for i, l := range listings {
		switch l.condition {
		case absent:
			unserved = append(unserved, scopes[i].kindName())
		case polled:
			unwatched = append(unwatched, scopes[i].key())
		case hidden:
			hides = append(hides, scopes[i].hidden(c.by))
		}
		layers[i] = object.Layer{Group: scopes[i].kind.Group, Kind: scopes[i].kind.Kind, Items: l.items}
	}
	slices.Sort(unserved)
	slices.SortFunc(unwatched, object.Key.Compare)
	observed := object.NewObservation(slices.Compact(unserved), layers...)
	slices.SortFunc(hides, object.Hidden.Compare)
	observed.Server, observed.User, observed.Unwatched, observed.Hidden = c.server, c.user, unwatched, slices.Compact(hides)
	return observed
}

// each runs f for 0…n-1, at most atOnce together. All refusals are joined in order, so that one run
// tells every missing permission; the first sign that the server does not answer us at all ends it.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	refused := make([]error, n)
	for i := range n {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			err := f(ctx, i)
			if !isRefusal(err) {
				return err
			}
			refused[i] = err
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return errors.Join(refused...)
}

// isRefusal: the server knows us and answered this one request with no.
func isRefusal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}
