package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/lease"
	"github.com/linkwright/linkwright/sync/plan"
)

// hand is a cluster that notes what is written and fails by name.
type hand struct {
	mu    sync.Mutex
	wrote []string
	fails map[string]error
	begun func(ctx context.Context, name string) // called inside a write
}

func (h *hand) Write(ctx context.Context, c object.Change) (object.Record, error) {
	if h.begun != nil {
		h.begun(ctx, c.Key.Name)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := errors.Join(h.fails[c.Key.Name], ctx.Err()); err != nil {
		return object.Record{}, err
	}
	h.wrote = append(h.wrote, c.Key.Name)
	return object.Record{}, nil
}

func at(target string) object.End {
	return object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: api.ClusterName(target)}}
}

func write(end object.End, name string, p object.Phase) object.Change {
	k := object.Key{Kind: "Thing", Name: name}
	return object.Change{End: end, Action: object.Create, Key: k, Object: object.Object{Key: k, Phase: p}}
}

func step() plan.Step {
	base := object.End{Cluster: "west"}
	return plan.Step{
		Ahead: []object.Change{write(base, "base", 0), write(at("east"), "inventory-east", 0), write(at("north"), "inventory-north", 0)},
		Changes: []object.Change{
			write(at("east"), "role-east", 1), write(at("north"), "role-north", 1),
			write(at("east"), "link-east", 3), write(at("north"), "link-north", 3),
		},
		After: []object.Change{write(at("north"), "after-north", 0)},
	}
}

// A write that fails stops what builds on it, and nothing else.
func TestActStopsWhatBuildsOnAFailure(t *testing.T) {
	tests := []struct{ fails, want string }{
		{"", "base inventory-east inventory-north role-east role-north link-east link-north after-north"},
		{"base", ""},
		{"inventory-east", "base inventory-north role-north link-north after-north"},
		{"role-north", "base inventory-east inventory-north role-east link-east"},
		{"link-east", "base inventory-east inventory-north role-east role-north link-north after-north"},
	}
	for _, tt := range tests {
		h := &hand{fails: map[string]error{tt.fails: errors.New("no")}}
		out := Step(t.Context(), h, step())
		got := map[string]bool{}
		for _, name := range h.wrote {
			got[name] = true
		}
		var want []string
		for _, o := range out {
			if o.Err == nil {
				want = append(want, o.Change.Key.Name)
			}
			if (o.Err == nil) != got[o.Change.Key.Name] {
				t.Errorf("%s fails: the outcome of %s is %v", tt.fails, o.Change.Key, o.Err)
			}
		}
		if len(out) != 8 || strings.Join(want, " ") != tt.want {
			t.Errorf("%q fails: wrote %q, want %q", tt.fails, strings.Join(want, " "), tt.want)
		}
	}
}

// Told to stop, a write under way comes to its end, and no other begins.
func TestActEndsWhatHasBegun(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	h := &hand{begun: func(inner context.Context, name string) {
		if name == "base" {
			stop()
			if inner.Err() != nil {
				t.Error("a write under way is cut off")
			}
		}
	}}
	out := Step(ctx, h, step())
	if !slices.Equal(h.wrote, []string{"base"}) {
		t.Errorf("wrote %v", h.wrote)
	}
	for _, o := range out[1:] {
		if o.Err == nil {
			t.Errorf("%s: no error, although it was not tried", o.Change.Key)
		}
	}
}

// What does not build on each other is under way together: inventories, and then each phase over all ends.
func TestActIsWide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s plan.Step
		for i := range concurrency {
			name := fmt.Sprintf("n%03d", i)
			s.Ahead = append(s.Ahead, write(at(name), "inventory-"+name, 0))
			s.Changes = append(s.Changes, write(at(name), "role-"+name, 1))
		}
		h := &hand{begun: func(context.Context, string) { time.Sleep(time.Second) }}
		start := time.Now()
		if out := Step(t.Context(), h, s); len(out) != 2*concurrency || len(h.wrote) != 2*concurrency {
			t.Errorf("%d outcomes, %d writes", len(out), len(h.wrote))
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("it took %v, want one round for inventories and one for the phase", took)
		}
	})
}

// A write that gets no answer is cut off a while after it was told to stop: before another one may lead.
func TestActDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if left := lease.DefaultDuration - lease.DefaultRenew; drainTimeout >= left {
			t.Errorf("it drains for %v, and another one may lead after %v", drainTimeout, left)
		}
		ctx, stop := context.WithCancel(t.Context())
		h := &hand{begun: func(inner context.Context, _ string) { <-inner.Done() }}
		time.AfterFunc(time.Second, stop)
		start := time.Now()
		out := Step(ctx, h, step())
		if took := time.Since(start); took != time.Second+drainTimeout {
			t.Errorf("it took %v, want %v after a second", took, drainTimeout)
		}
		for _, o := range out[1:] {
			if !Untried(o) {
				t.Errorf("%s: %v, although it was not tried", o.Change.Key, o.Err)
			}
		}
	})
}

// A step that is cut short says so of every write that was not made: none of them failed.
func TestStepCutShort(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	h := &hand{begun: func(_ context.Context, name string) {
		if strings.HasPrefix(name, "inventory") {
			cancel(errors.New("interrupted"))
		}
	}}
	for _, o := range Step(ctx, h, step()) {
		begun := o.Change.Key.Name == "base" || strings.HasPrefix(o.Change.Key.Name, "inventory")
		switch {
		case begun && o.Err != nil && !NotBegun(o):
			t.Errorf("%s: %v", o.Change.Key.Name, o.Err)
		case !begun && (o.Err == nil || errors.Is(o.Err, ErrSkipped) || !strings.Contains(o.Err.Error(), "interrupted")):
			t.Errorf("%s: %v, want that it was interrupted", o.Change.Key.Name, o.Err)
		}
	}
}
