package enroll

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

// After a signal, no cluster is begun, and one line says how many are left.
func TestAddAllEndsAtASignal(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	end(live.Stopped{Signal: os.Interrupt})
	w := state.Snapshot{Declarations: state.Declarations{Fleet: &fleet.Fleet{Clusters: []fleet.Cluster{{Name: "east"}, {Name: "west"}}}}}
	err := (&enrollment{notes: live.New(live.Options{})}).enrollAll(ctx, w, nil)
	if want := "interrupted before the end: interrupt signal received: 2 of 2 clusters were not added: east, west; run the command again"; err == nil || strings.TrimSpace(err.Error()) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A cluster that fails keeps no other from being added, and the end says which are done.
func TestAddAllPartly(t *testing.T) {
	for want, tt := range map[string]struct{ added, missing []string }{
		"": {}, "1 of 3 clusters failed: east; done: north, west; run the command again: it keeps what is done": {[]string{"north", "west"}, []string{"east"}},
	} {
		got := ""
		if err := partly(tt.added, tt.missing); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%v: %q, want %q", tt, got, want)
		}
	}
	if err := errors.Join(partly([]string{"west"}, nil), partly(nil, []string{"east"})); err != nil {
		t.Errorf("all are done, or none: %v", err)
	}
}

// Addresses of this machine are one line, whatever the number of clusters.
func TestWarnLocal(t *testing.T) {
	for want, names := range map[string][]string{"": nil, "warning: linkwright is to reach east, west by an address of this machine": {"east", "west"}} {
		var said strings.Builder
		results{local: names}.warnLocal(&said)
		if got := said.String(); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != min(len(names), 1) {
			t.Errorf("%v: %q, want %q", names, got, want)
		}
	}
}
