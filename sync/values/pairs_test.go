package values

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/linkwright/linkwright/api"
)

// TestHistoriesOfPairs: whatever people declare of fields that exclude each other, the injector never rejects what the document has, and once nothing
// is declared, each field has the value that others wrote last.
func TestHistoriesOfPairs(t *testing.T) {
	runs := 1000
	if testing.Short() {
		runs = 300
	}
	for seed := range runs {
		h := newHistory(t, "proxy.nativeSidecar", "proxy.waitBeforeExitSeconds", "proxyInit.closeWaitTimeoutSecs", "proxyInit.runAsRoot")
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		for range 12 {
			h.stepOfPair(r)
			if got := h.rejected(); got != "" {
				t.Errorf("the injector would reject every pod: %s", got)
			}
		}
		clear(h.declared)
		h.settle()
		h.check()
		if t.Failed() {
			t.Fatalf("seed %d:\n%v", seed, h.log)
		}
	}
}

// stepOfPair is something that happens to a field with another one beside it.
func (h *history) stepOfPair(r *rand.Rand) {
	path := h.paths[r.IntN(4)]
	value := fmt.Sprint(r.IntN(2) == 0)
	if path == h.paths[1] || path == h.paths[2] {
		value = fmt.Sprint(r.IntN(3) * 5)
	}
	switch r.IntN(6) {
	case 0, 1:
		h.declared[path] = value
		h.log = append(h.log, "declare "+path+"="+value)
	case 2:
		delete(h.declared, path)
		h.log = append(h.log, "undeclare "+path)
	case 3: // Helm writes no pair that its chart rejects
		h.rest()
		h.installs(path, value)
	case 4:
		h.rest()
		h.log = append(h.log, "sync")
	default: // killed after the inventory
		h.recorded = h.decide().Record
		h.log = append(h.log, "killed")
	}
}

// installs has Helm write a field that linkwright does not hold, unless the chart rejects the pair.
func (h *history) installs(path, value string) {
	h.Helper()
	if _, isDeclared := h.declared[path]; isDeclared || h.records(path) {
		return
	}
	for _, e := range api.Exclusions() {
		if other := e.Other(path); other != "" && (e.Rejects(path, value, h.live(other)) || e.Rejects(path, value, h.foreign[other])) {
			return
		}
	}
	h.write(path, value, []string{"helm"})
	h.foreign[path] = value
	h.log = append(h.log, "install "+path+"="+value)
}

func (h *history) records(path string) bool {
	for _, v := range h.recorded {
		if v.Path == path {
			return true
		}
	}
	return false
}

// rejected returns why the injector rejects the values of the document; empty: it does not.
func (h *history) rejected() string {
	h.Helper()
	for _, e := range api.Exclusions() {
		if e.Rejects(e.Fields[0], h.live(e.Fields[0]), h.live(e.Fields[1])) {
			return e.Remedy
		}
	}
	return ""
}
