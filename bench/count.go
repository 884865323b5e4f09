package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/linkwright/linkwright/hack/testbed"
)

// counter counts the requests that go out through it, by what the API server would call them.
type counter struct {
	mu sync.Mutex
	n  tally
}

// tally is requests by verb: list, get, watch, patch, dry-run, delete, …, and discovery for what names no resource. Single
// Secrets of the control plane are counted apart.
type tally map[string]int

// String lists the verbs in order.
func (t tally) String() string {
	var out []string
	for _, verb := range slices.Sorted(maps.Keys(t)) {
		out = append(out, fmt.Sprintf("%d %s", t[verb], verb))
	}
	if len(out) == 0 {
		return "0"
	}
	return strings.Join(out, ", ")
}

// take returns what was counted since the last time.
func (c *counter) take() tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = nil
	return n
}

// wrap is for rest.Config.Wrap and cluster.Options.Wrap.
func (c *counter) wrap(next http.RoundTripper) http.RoundTripper { return counting{c, next} }

type counting struct {
	to   *counter
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.to.mu.Lock()
	if c.to.n == nil {
		c.to.n = tally{}
	}
	c.to.n[verbOf(r)]++
	c.to.mu.Unlock()
	return c.next.RoundTrip(r)
}

const (
	discovery   = "discovery"
	credentials = "get of the control plane's Secrets"
)

func verbOf(r *http.Request) string {
	query := r.URL.Query()
	switch {
	case query.Get("dryRun") != "":
		return "dry-run"
	case r.Method != http.MethodGet:
		return strings.ToLower(r.Method)
	case query.Get("watch") != "":
		return "watch"
	}
	switch named(r.URL.Path) {
	case 0:
		return discovery
	case 1:
		return "list"
	}
	if strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/"+testbed.ControlPlane+"/secrets/") {
		return credentials
	}
	return "get"
}

// named counts the segments of a path from the resource on: none in /apis/apps/v1, one of a collection.
func named(path string) int {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	head := 2 // api/v1
	if parts[0] == "apis" {
		head = 3
	}
	if len(parts) <= head || parts[0] != "api" && parts[0] != "apis" {
		return 0
	}
	if parts = parts[head:]; parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	return len(parts)
}
