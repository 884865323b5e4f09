package values

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/render/values"
)

// history is one cluster over time: its document, the last writers of it, what the inventory lists, and what is declared.
type history struct {
	*testing.T
	text     string
	managers []string
	paths    []string // the fields that come up
	recorded []inventory.Value
	declared map[string]string
	foreign  map[string]string // of each field, what others wrote last; linkwright never changes it for long
	log      []string
}

// TestHistories: whatever people declare, edit and install, and wherever linkwright is killed, at rest each declared field has its value, and every other
// one the value that others wrote last, or for an edit of a declared field by hand, the one before.
func TestHistories(t *testing.T) {
	runs := 1000
	if testing.Short() {
		runs = 300
	}
	for seed := range runs {
		h := newHistory(t, "proxy.logLevel", "proxy.await", "proxy.accessLog", "proxy.resources.cpu.limit")
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		for range 12 {
			h.step(r)
		}
		h.settle()
		h.check()
		if t.Failed() {
			t.Fatalf("seed %d:\n%v", seed, h.log)
		}
	}
}

// newHistory begins with a document that Helm wrote.
func newHistory(t *testing.T, paths ...string) *history {
	t.Helper()
	h := &history{T: t, text: document, managers: []string{"helm"}, paths: paths, declared: map[string]string{}, foreign: map[string]string{}}
	for _, path := range paths {
		if live := h.live(path); live != "" {
			h.foreign[path] = live
		}
	}
	return h
}

// step is something that happens.
func (h *history) step(r *rand.Rand) {
	path, value := h.paths[r.IntN(4)], fmt.Sprintf(`"v%d"`, r.IntN(3))
	_, isDeclared := h.declared[path]
	switch r.IntN(6) {
	case 0:
		h.declared[path] = value
		h.log = append(h.log, "declare "+path+"="+value)
	case 1:
		delete(h.declared, path)
		h.log = append(h.log, "undeclare "+path)
	case 2: // of a declared field: it is set back before anything else happens, or it counts as what others wrote last
		h.settle()
		h.write(path, value, []string{"helm", "kubectl-edit"})
		if !isDeclared {
			h.foreign[path] = value
		}
		h.settle()
		h.log = append(h.log, "edit "+path+"="+value)
	case 3:
		h.settle()
		h.write(path, value, []string{"helm"})
		if value != h.declared[path] { // a write of the declared value shows nobody that it is another's
			h.foreign[path] = value
		}
		h.log = append(h.log, "install "+path+"="+value)
	case 4:
		h.settle()
		h.log = append(h.log, "sync")
	default: // killed after the inventory
		h.recorded = h.decide().Record
		h.log = append(h.log, "killed")
	}
}

func (h *history) write(path, value string, managers []string) {
	h.Helper()
	doc, err := values.Parse(h.text)
	if err == nil {
		doc, err = doc.Set(path, value)
	}
	if err != nil {
		h.Fatal(err)
	}
	h.text, h.managers = doc.String(), managers
}

func (h *history) decide() Decision {
	var fields []string
	for _, path := range h.paths {
		if v, ok := h.declared[path]; ok {
			fields = append(fields, path+"="+v)
		}
	}
	return Decide(Input{Declared: declared(fields...), Recorded: h.recorded, Config: h.config(), Flag: func(string) (string, bool) { return "", false }})
}

func (h *history) config() linkerd.Config { return config(h.text, h.managers...) }

// settle makes steps until there is nothing to do, and nothing is blocked.
func (h *history) settle() {
	h.Helper()
	if blocked := h.rest(); len(blocked) > 0 {
		h.Fatalf("blocked: %v", blocked)
	}
}

// rest makes steps until there is nothing to do. It returns what is blocked then.
func (h *history) rest() []object.Reason {
	h.Helper()
	for range 5 {
		d := h.decide()
		h.recorded = d.Record
		if len(d.Changes) == 0 {
			return d.Blocked
		}
		h.text, h.managers = d.Text, []string{"helm"}
	}
	h.Error("it does not come to rest")
	return nil
}

// check compares a document at rest.
func (h *history) check() {
	h.Helper()
	for _, path := range h.paths {
		got := h.live(path)
		want, isDeclared := h.declared[path]
		if !isDeclared {
			want = h.foreign[path]
		}
		if got != want {
			h.Errorf("%s is %s, want %s (declared: %t)", path, got, want, isDeclared)
		}
	}
}

// live returns the value of a field; empty: it is not there.
func (h *history) live(path string) string {
	h.Helper()
	doc, err := values.Parse(h.text)
	if err != nil {
		h.Fatal(err)
	}
	live, _ := doc.Value(path)
	return live
}
