package testbed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const modulePath = "github.com/linkwright/linkwright"

// Binaries returns the directory that holds controlplane and kwok: what
// LINKWRIGHT_BIN names, else bin at the root of the repository.
func Binaries() (string, error) {
	dir := os.Getenv("LINKWRIGHT_BIN")
	if dir == "" {
		root, err := Root()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(root, "bin")
	}
	for _, name := range []string{"controlplane", "kwok"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("find binary: %w: run make controlplane", err)
		}
	}
	return dir, nil
}

// NeedClock skips a test whose control planes have another clock than the machine, if they were built by a Go release that build.sh does
// not know how to give one.
func NeedClock(t testing.TB) {
	t.Helper()
	dir, err := Binaries()
	if err != nil {
		t.Fatal(err)
	}
	if clock, err := os.ReadFile(filepath.Join(dir, ".controlplane.clock")); err != nil || strings.TrimSpace(string(clock)) != "moves" {
		t.Skip("it needs a control plane with a clock of its own: hack/controlplane/build.sh cannot give one with this Go release")
	}
}

// Root returns the root of the repository around the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(data), "module "+modulePath+"\n") {
			return dir, nil
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		return "", errors.New("find repository: no go.mod of " + modulePath + " above the working directory")
	}
}

// Need skips a test that starts clusters unless LINKWRIGHT_CLUSTERS is set; without the binaries it fails under CI=1 or
// CI=true.
func Need(t testing.TB) {
	t.Helper()
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		t.Skip("it starts control planes: set LINKWRIGHT_CLUSTERS, or run make test")
	}
	_, err := Binaries()
	if err == nil {
		return
	}
	if ci := os.Getenv("CI"); ci == "1" || ci == "true" {
		t.Fatal(err)
	}
	t.Skip(err)
}
