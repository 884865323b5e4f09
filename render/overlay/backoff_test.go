package overlay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object/reason"
)

var errMachine = errors.New("fork: resource temporarily unavailable")

// TestMachineFails: a machine that builds nothing is no fault of the tree, is not asked for each cluster, and is asked
// again after a while.
func TestMachineFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &direct{fail: func(job) error { time.Sleep(30 * time.Second); return errMachine }}
		a := newApplier(d, DefaultKinds())
		ends := scene(t, 1)
		for i := range 50 {
			in := in(ends, components()[0])
			in.Cluster, in.Namespace = api.ClusterName(fmt.Sprint("west-", i)), fmt.Sprint("multicluster-", i)
			out := a.Apply(t.Context(), in)
			if !errors.Is(out.Err, errMachine) || len(out.Problems) > 0 {
				t.Fatalf("Apply: %v, problems %v, want that of the machine alone", out.Err, out.Problems)
			}
			if why := commonReason(out.Ends); why == nil || why.Code != reason.OverlayInvalid {
				t.Errorf("Apply: not all ends are held: %v", why)
			}
		}
		if len(d.jobs) != 1 {
			t.Errorf("Apply for 50 clusters: %d builds, want one", len(d.jobs))
		}
		time.Sleep(2 * time.Minute)
		d.fail = nil
		if out := a.Apply(t.Context(), in(ends, components()[0])); out.Err != nil || commonReason(out.Ends) != nil {
			t.Errorf("Apply later: %v, want no error", out.Err)
		}
	})
}

// TestComponentExceeds: a bound that the Component exceeds is told of the Component.
func TestComponentExceeds(t *testing.T) {
	d := &direct{fail: func(job) error { return boundError{errTime} }}
	out := newApplier(d, DefaultKinds()).Apply(t.Context(), in(scene(t, 1), components()[0]))
	if out.Err != nil || !hasErrors(out.Problems) || commonReason(out.Ends) == nil {
		t.Errorf("Apply: %v, problems %v, want one that holds all", out.Err, out.Problems)
	}
}

// TestMachineFailsWithEnds: the machine's failure with some ends is told too, and is not remembered.
func TestMachineFailsWithEnds(t *testing.T) {
	ends := scene(t, 2)
	d := &direct{fail: func(j job) error {
		if len(j.Resources) > 0 {
			return errMachine
		}
		return nil
	}}
	a := newApplier(d, DefaultKinds())
	if out := a.Apply(t.Context(), in(ends, components()[0])); !errors.Is(out.Err, errMachine) || len(out.Problems) > 0 {
		t.Errorf("Apply: %v, problems %v, want that of the machine alone", out.Err, out.Problems)
	}
	d.fail = nil
	if out := a.Apply(t.Context(), in(ends, components()[0])); out.Err != nil {
		t.Errorf("Apply again: %v", out.Err)
	}
}

// TestFaultsOfBuilds: what is wrong with what is built, however it is found, is no failure of the machine: it is
// remembered, and no number of such ends keeps others from being tried.
func TestFaultsOfBuilds(t *testing.T) {
	ends := scene(t, 12)
	d := &doubling{direct: &direct{}}
	a := newApplier(d, DefaultKinds())
	out := a.Apply(t.Context(), in(ends, components()[0]))
	if out.Err != nil {
		t.Errorf("Apply: %v, want no failure of the machine", out.Err)
	}
	held := 0
	for _, w := range out.Ends {
		if w.Blocked != nil {
			held++
			if !strings.Contains(w.Blocked.Message, "it creates two objects") {
				t.Errorf("%s is held: %s", w.End, w.Blocked.Message)
			}
		}
	}
	if held != 12 {
		t.Errorf("Apply: %d ends are held, want 12", held)
	}
	builds := len(d.jobs)
	a.Apply(t.Context(), in(ends, components()[0]))
	if len(d.jobs) != builds {
		t.Errorf("Apply again: %d more builds, want none", len(d.jobs)-builds)
	}
}

// doubling makes every Deployment twice.
type doubling struct{ *direct }

func (d *doubling) build(ctx context.Context, j job) (buildResult, error) {
	b, err := d.direct.build(ctx, j)
	for _, o := range b.Objects {
		if strings.Contains(string(o.Body), `"kind":"Deployment"`) {
			b.Objects = append(b.Objects, o)
		}
	}
	return b, err
}
