package testbed

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// sharedClusters is shared by all tests of the package that run in clusters.
var (
	sharedClusters *ControlPlanes
	started        time.Duration // that Start took
)

// startLimit is far above the ten seconds that a start takes on a machine that has nothing else to do.
const startLimit = 2 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(orphanEnv) != "" {
		os.Exit(orphan())
	}
	os.Exit(startClusters(m))
}

// startClusters runs the tests with three clusters, or without any if the binaries
// are missing: each test then says so.
func startClusters(m *testing.M) int {
	if _, err := Binaries(); err != nil {
		return m.Run()
	}
	begun := time.Now()
	var err error
	if sharedClusters, err = Start(context.Background(), Options{Names: []string{"east", "west", "north"}}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	started = time.Since(begun)
	code := m.Run()
	if err := sharedClusters.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestStartIsQuick(t *testing.T) {
	Need(t)
	t.Logf("three clusters ready in %v", started.Round(time.Millisecond))
	if started > startLimit {
		t.Errorf("Start took %v, want at most %v", started, startLimit)
	}
}
