package lease

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestOneNameForTwo: two installations whose names and clusters lead to one name do not take turns with its lease.
func TestOneNameForTwo(t *testing.T) {
	admin, ns := home(t)
	note := func(context.Context, int64) error { return nil }
	before, a, b := start(t, ns, "x").Lock, start(t, ns, "y").Lock, start(t, ns, "z").Lock
	a.Of, b.Of = "owner a, cluster b-c", "owner a-b, cluster c"
	for _, l := range []Lock{before, a, before, a} { // an earlier version says nothing, and is no other
		if err := l.Once(t.Context(), note); err != nil {
			t.Fatal(err)
		}
	}
	err := b.Once(t.Context(), note)
	if !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), "it belongs to owner a, cluster b-c") {
		t.Errorf("Once: got %v, want that it is another's", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := b.Hold(ctx, note); !errors.Is(err, ErrOther) {
		t.Errorf("Hold: got %v, want that it is another's", err)
	}
	if got := read(t, admin, ns).Annotations[aboutKey]; got != a.Of {
		t.Errorf("the lease says %q, want %q", got, a.Of)
	}
}
