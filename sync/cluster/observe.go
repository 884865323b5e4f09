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

// Observe looks at everything watched, or fails: no part of an observation is ever given.
// It asks by one paged LIST per watch, or one GET per name (a watch with Names has no use for its
// selector). Watches may overlap: each object counts once, with its deepest body.
// The error names every kind and namespace that the server refused.
func (c *Client) Observe(ctx context.Context, watches []object.Watch) (object.Observation, error) {
	found, err := c.find(ctx, watches)
	if err != nil {
		return object.Observation{}, err
	}
	looks := make([]look, len(watches))
	err = each(ctx, len(watches), func(ctx context.Context, i int) error {
		l, err := c.look(ctx, found, watches[i])
		if err != nil {
			return fmt.Errorf("read %s: %w", describe(watches[i]), err)
		}
		looks[i] = l
		return nil
	})
	if err != nil {
		return object.Observation{}, err
	}
	return merge(watches, looks), nil
}

// look is what one watch showed.
type look struct {
	items    []object.Item
	unserved bool
}

func kindOf(w object.Watch) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: w.Group, Version: w.Version, Kind: w.Kind}
}

// find tells where the watched kinds are served; one without a version in any. What is not in it is not served.
func (c *Client) find(ctx context.Context, watches []object.Watch) (map[schema.GroupVersionKind]resource, error) {
	var exact, loose []schema.GroupVersionKind
	for _, w := range watches {
		if w.Version == "" {
			loose = append(loose, kindOf(w))
		} else {
			exact = append(exact, kindOf(w))
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

// look reads one watch. A resource that is gone since discovery is looked up once more.
func (c *Client) look(ctx context.Context, found map[schema.GroupVersionKind]resource, w object.Watch) (look, error) {
	r, ok := found[kindOf(w)]
	if !ok {
		return look{unserved: true}, nil
	}
	items, err := c.read(ctx, r, w)
	if !unserved(err) {
		return look{items: items}, err
	}
	c.kinds.forget(r.GroupVersion())
	again, err := c.find(ctx, []object.Watch{w})
	if err != nil {
		return look{}, err
	}
	if r, ok = again[kindOf(w)]; !ok {
		return look{unserved: true}, nil
	}
	items, err = c.read(ctx, r, w)
	return look{items: items}, err
}

// unserved tells a resource that does not exist from an object that does not: only the latter's
// answer names what was asked for.
func unserved(err error) bool {
	return apierrors.IsNotFound(err) && missing(err) == ""
}

// missing is the name of the object that a 404 is about, or "".
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

func (c *Client) read(ctx context.Context, r resource, w object.Watch) ([]object.Item, error) {
	switch {
	case w.Namespace != "" && !r.namespaced:
		return nil, errors.New("the kind is cluster-scoped: watch it without namespace")
	case len(w.Names) == 0:
		return c.list(ctx, r, w)
	case w.Namespace == "" && r.namespaced:
		return nil, errors.New("names need a namespace")
	}
	return c.gets(ctx, r, w)
}

// merge unites the looks, the deepest first; of the same depth in the order of the watches.
func merge(watches []object.Watch, looks []look) object.Observation {
	var unserved []string
	layers := make([][]object.Layer, object.Whole+1)
	for i, l := range looks {
		w := watches[i]
		if l.unserved {
			unserved = append(unserved, w.Called())
		}
		slices.SortStableFunc(l.items, object.Item.Compare)
		layers[object.Whole-w.Depth] = append(layers[object.Whole-w.Depth], object.Layer{Group: w.Group, Kind: w.Kind, Items: l.items})
	}
	slices.Sort(unserved)
	return object.NewObservation(slices.Compact(unserved), slices.Concat(layers...)...)
}

func describe(w object.Watch) string {
	kind := w.Kind
	if w.Group != "" {
		kind += "." + w.Group
	}
	if w.Namespace != "" {
		kind += " in namespace " + w.Namespace
	}
	return kind
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
