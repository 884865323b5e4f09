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

// base are the objects that a Component adds by itself, in one cluster.
type base struct {
	objects  []object.Object // none, if there are problems
	at       map[object.Key]api.Pos
	chosen   []bool // by patches
	problems []api.Problem
}

// baseOf builds the Component without any end. A transient error is the result for all clusters with this Component for a
// while: the build may have taken the whole time limit, and many clusters share a Component.
func (t *task) baseOf(ctx context.Context) (*base, error) {
	key := t.hash(func(io.Writer) {})
	if b, ok := t.bases.get(key); ok {
		return b, nil
	}
	if err := t.backoff.get(t.component.Hash); err != nil {
		return nil, err
	}
	began := time.Now()
	b, err := t.buildBase(ctx)
	switch {
	case err != nil && isPermanent(err):
		b = &base{problems: t.problemsOf(err)}
	case err != nil && ctx.Err() == nil:
		t.backoff.add(t.component.Hash, err, time.Since(began))
		return nil, err
	case err != nil:
		return nil, err
	}
	size := int64(0)
	for _, o := range b.objects {
		size += int64(len(o.Body.Bytes())) + entryOverhead
	}
	t.bases.put(key, b, size)
	return b, nil
}

// problemsOf makes a problem of the Component of an error of its build.
func (t *task) problemsOf(err error) []api.Problem {
	hint, _ := inputHint(err)
	return []api.Problem{{Pos: t.component.pos(), Message: "kustomize cannot build the overlay: " + shortError(err), Hint: hint}}
}

func (t *task) buildBase(ctx context.Context) (*base, error) {
	done, err := t.sandbox.build(ctx, t.job(nil))
	if err != nil {
		return nil, err
	}
	b, err := t.newBase(done)
	if err != nil {
		return nil, buildError(err.Error())
	}
	return b, nil
}

func (t *task) newBase(done buildResult) (*base, error) {
	extras, err := extraPolicy{kinds: t.kinds, namespace: t.in.Namespace}.extras(done.Objects)
	if err != nil {
		return nil, err
	}
	b := &base{at: map[object.Key]api.Pos{}, chosen: make([]bool, len(t.targets))}
	places := positions{t.component, map[string]map[documentID]api.Pos{}}
	for _, e := range extras {
		markMatching(t.targets, b.chosen, e.content)
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

// hash is the hash of all that every result of a task depends on, and of what write adds.
func (t *task) hash(write func(io.Writer)) inputHash {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %q %q %q\n", t.component.Hash, t.in.Namespace, t.in.Owner, t.kinds)
	write(h)
	return inputHash(h.Sum(nil))
}

// markMatching marks the patches that select an object.
func markMatching(choosers []patchTarget, chosen []bool, content map[string]any) {
	for i, c := range choosers {
		chosen[i] = chosen[i] || content != nil && c.matches(content)
	}
}
