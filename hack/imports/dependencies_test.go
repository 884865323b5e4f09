package imports

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What the program requires by itself has a row that says for what, and no row is about what it does not.
func TestDependencies(t *testing.T) {
	raw, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", "../../go.mod").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(raw, &mod); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/explanation/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	direct, others, _ := strings.Cut(string(page), "What others bring in")
	rows := map[string]bool{}
	for line := range strings.Lines(direct) {
		if path, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` |"); ok && strings.HasPrefix(line, "| `") {
			rows[path] = true
		}
	}
	for _, r := range mod.Require {
		switch {
		case !r.Indirect && !rows[r.Path]:
			t.Errorf("docs/explanation/dependencies.md does not say what %s is for", r.Path)
		case !r.Indirect:
			delete(rows, r.Path)
		default:
			others = strings.ReplaceAll(others, "`"+r.Path+"`", "")
		}
	}
	for path := range rows {
		t.Errorf("docs/explanation/dependencies.md has a row of %s, which go.mod does not require", path)
	}
	for left := range strings.SplitSeq(others, "`") {
		if strings.HasPrefix(left, "github.com/") {
			t.Errorf("docs/explanation/dependencies.md tells of %s, which nothing brings in", left)
		}
	}
}
