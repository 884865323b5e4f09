package cluster

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/linkwright/linkwright/object"
)

// A dry run of every action is judged by the API server as the write would be, and writes nothing.
func TestDryRunWritesNothing(t *testing.T) {
	c, _, ns := east(t)
	o := configMap(t, ns, "a", map[string]string{"k": "1"})
	if err := c.DryRun(t.Context(), create(o)); err != nil {
		t.Errorf("create: %v", err)
	}
	if now := observed(t, c, o); !now.IsZero() {
		t.Fatalf("a dry run created %+v", now)
	}
	rec := write(t, c, create(o))
	stale := rec
	stale.ResourceVersion = "1"
	next := configMap(t, ns, "a", map[string]string{"k": "2"})
	fenced := update(next, stale)
	fenced.Conditional = true
	for _, tt := range []struct {
		name string
		ch   object.Change
		fits bool
	}{
		{"update", update(next, rec), true},
		{"update of another state", fenced, false},
		{"delete", object.Change{Action: object.Delete, Key: o.Key, Was: rec}, true},
		{"delete of another state", object.Change{Action: object.Delete, Key: o.Key, Was: stale}, false},
		{"replace", object.Change{Action: object.Replace, Key: o.Key, Was: rec, Object: next}, true},
		{"none", object.Change{Action: object.None, Key: o.Key, Was: rec}, true},
	} {
		err := c.DryRun(t.Context(), tt.ch)
		if tt.fits != (err == nil) || err != nil && !apierrors.IsConflict(err) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	bad := configMap(t, ns, "not_a_name", nil)
	if err := c.DryRun(t.Context(), create(bad)); !apierrors.IsInvalid(err) {
		t.Errorf("what the server refuses: %v", err)
	}
	if now := observed(t, c, o); now.ResourceVersion != rec.ResourceVersion {
		t.Errorf("a dry run wrote: %+v, want %+v", now, rec)
	}
}
