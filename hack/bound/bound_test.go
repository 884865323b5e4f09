package bound

import (
	"testing"
	"time"

	built "github.com/linkwright/linkwright/hack/program"
)

// TestLiveHeap: the live heap of a daemon that writes a small mesh stays within what Needs counts with, from which the memory limit of the manifests follows.
// Garbage is collected often, so that the heap that is left shows all that was live.
func TestLiveHeap(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute: make check runs it without -short")
	}
	const clusters, links = 16, 16 * 15
	linkwright, err := built.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	members, stopMembers, err := ServeMembers(clusters)
	t.Cleanup(stopMembers)
	if err != nil {
		t.Fatal(err)
	}
	served, stop, err := ServeManagement(members)
	t.Cleanup(stop)
	if err != nil {
		t.Fatal(err)
	}
	d := Daemon{Dir: t.TempDir(), Program: linkwright, Links: links, Env: []string{"GOGC=25", "GOMEMLIMIT=off"}, Settle: 4 * time.Second, Rest: 0, Log: t.Logf}
	if err := d.Prepare(t.Context(), served.Hosts, served.Kubeconfig(0)); err != nil {
		t.Fatal(err)
	}
	took, err := d.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d clusters, %d links: %s", clusters, links, took)
	if most := liveHeap(clusters, links); took.PeakLive > float64(most) || took.PeakLive < fixed {
		t.Errorf("the live heap had %.0f bytes, want %d to %d: change the constants, and the memory limit of the manifests", took.PeakLive, fixed, most)
	}
}
