package values

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/render/values"
)

// history is one cluster over time: its document, the last writers of it, what the inventory lists, and what is declared.
type history struct {
	*testing.T
	text     string
	managers []string
	recorded []inventory.Value
	declared map[string]string
	foreign  map[string]string // of each field, what others wrote last; linkwright never changes it for long
	log      []string
}

// paths are the fields that come up.
func paths() []string {
	return []string{"proxy.logLevel", "proxy.await", "proxy.accessLog", "proxy.resources.cpu.limit"}
}

// TestHistories: whatever people declare, edit and install, and wherever linkwright is killed, at rest each declared field has its value, and every other
// one the value that others wrote last, or for an edit of a declared field by hand, the one before.
func TestHistories(t *testing.T) {
	runs := 1000
	if testing.Short() {
		runs = 300
	}
	for seed := range runs {
		h := &history{T: t, text: document, managers: []string{"helm"}, declared: map[string]string{}, foreign: map[string]string{"proxy.logLevel": `"warn"`, "proxy.await": "true"}}
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

// step is something that happens.
func (h *history) step(r *rand.Rand) {
	path, value := paths()[r.IntN(4)], fmt.Sprintf(`"v%d"`, r.IntN(3))
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
	for _, path := range paths() {
		if v, ok := h.declared[path]; ok {
			fields = append(fields, path+"="+v)
		}
	}
	return Decide(Input{Declared: declared(fields...), Recorded: h.recorded, Config: h.config(), Flag: func(string) (string, bool) { return "", false }})
}

func (h *history) config() linkerd.Config { return config(h.text, h.managers...) }

// settle makes steps until there is nothing to do.
func (h *history) settle() {
	h.Helper()
	for range 5 {
		d := h.decide()
		if len(d.Blocked) > 0 {
			h.Fatalf("blocked: %v", d.Blocked)
		}
		h.recorded = d.Record
		if len(d.Changes) == 0 {
			return
		}
		h.text, h.managers = d.Text, []string{"helm"}
	}
	h.Error("it does not come to rest")
}

// check compares a document at rest.
func (h *history) check() {
	h.Helper()
	doc, err := values.Parse(h.text)
	if err != nil {
		h.Fatal(err)
	}
	for _, path := range paths() {
		got, _ := doc.Value(path)
		want, isDeclared := h.declared[path]
		if !isDeclared {
			want = h.foreign[path]
		}
		if got != want {
			h.Errorf("%s is %s, want %s (declared: %t)", path, got, want, isDeclared)
		}
	}
}
