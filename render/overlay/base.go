package overlay

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// base is what a Component brings in by itself, in one cluster.
type base struct {
	objects  []object.Object // none, if there are problems
	at       map[object.Key]api.Pos
	chosen   []bool // by patches
	problems []api.Problem
}

// baseOf builds the Component without any end. An error that may be over at the next try is for a while the answer to all
// that name this Component: it may have taken as long as a build may, and many clusters share one.
func (t *task) baseOf(ctx context.Context) (*base, error) {
	key := t.hash(func(io.Writer) {})
	if b, ok := t.bases.find(key); ok {
		return b, nil
	}
	if err := t.setbacks.find(t.component.Hash); err != nil {
		return nil, err
	}
	began := time.Now()
	b, err := t.buildBase(ctx)
	switch {
	case err != nil && lasting(err):
		b = &base{problems: t.blame(err)}
	case err != nil && ctx.Err() == nil:
		t.setbacks.note(t.component.Hash, err, time.Since(began))
		return nil, err
	case err != nil:
		return nil, err
	}
	size := int64(0)
	for _, o := range b.objects {
		size += int64(len(o.Body.Bytes())) + entryOverhead
	}
	t.bases.keep(key, b, size)
	return b, nil
}

// blame makes an error of the build a problem of the Component.
func (t *task) blame(err error) []api.Problem {
	hint, _ := blames(err)
	return []api.Problem{{Pos: t.component.pos(), Message: "build the overlay: " + shorter(err), Hint: hint}}
}

func (t *task) buildBase(ctx context.Context) (*base, error) {
	done, err := t.cage.build(ctx, t.job(nil))
	if err != nil {
		return nil, err
	}
	b, err := t.newBase(done)
	if err != nil {
		return nil, buildError(err.Error())
	}
	return b, nil
}

func (t *task) newBase(done built) (*base, error) {
	extras, err := house{kinds: t.kinds, namespace: t.in.Namespace}.extras(done.Objects)
	if err != nil {
		return nil, err
	}
	b := &base{at: map[object.Key]api.Pos{}, chosen: make([]bool, len(t.choosers))}
	places := places{t.component, map[string]map[called]api.Pos{}}
	for _, e := range extras {
		choose(t.choosers, b.chosen, e.content)
		at := places.of(e)
		b.at[e.id.key] = at
		for _, fault := range e.faults {
			b.problems = append(b.problems, api.Problem{Pos: at, Message: fmt.Sprintf("%s: %s", e.id.key, fault)})
		}
		o, err := e.seal(t.in.Owner)
		if err != nil {
			return nil, err
		}
		b.objects = append(b.objects, o)
	}
	if len(b.problems) > 0 {
		b.objects = nil
	}
	return b, nil
}

// hash is over all that every result of a task depends on, and what is written to it.
func (t *task) hash(write func(io.Writer)) inputHash {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %q %q %q\n", t.component.Hash, t.in.Namespace, t.in.Owner, t.kinds)
	write(h)
	return inputHash(h.Sum(nil))
}

// choose notes which patches choose an object.
func choose(choosers []chooser, chosen []bool, content map[string]any) {
	for i, c := range choosers {
		chosen[i] = chosen[i] || content != nil && c.chooses(content)
	}
}
