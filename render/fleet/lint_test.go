package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// Every rule has a code of its own, says in a sentence what it is about, and is seen in a golden.
func TestRules(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var goldens strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		goldens.Write(data)
	}
	seen := map[string]bool{"": true, NoDeclarations: true, NoClusters: true}
	for _, r := range Rules() {
		if seen[r.Code] {
			t.Errorf("code %q is there twice", r.Code)
		}
		seen[r.Code] = true
		if strings.Count(r.Help, ".") != 1 || !strings.HasSuffix(r.Help, ".") {
			t.Errorf("%s: %q is no sentence", r.Code, r.Help)
		}
		if !strings.Contains(goldens.String(), "["+r.Code+"]") {
			t.Errorf("no golden shows %s", r.Code)
		}
	}
}

func linkDoc(source, target string) string {
	return fmt.Sprintf("---\napiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata: {name: %s-%s}\nspec: {source: %s, target: %s}\n",
		source, target, source, target)
}

// Of many pairs with one direction ten are told, and the number of the others.
func TestManyOneWays(t *testing.T) {
	const both, single = 39, 13
	tree := meshOf(both + 2)
	var text strings.Builder
	for i := 1; i <= both; i++ {
		peer := fmt.Sprintf("c%04d", i)
		text.WriteString(linkDoc("c0000", peer) + linkDoc(peer, "c0000"))
		if i <= single {
			text.WriteString(linkDoc(peer, "c0040"))
		}
	}
	tree["mesh.yaml"] = &fstest.MapFile{Data: []byte(text.String())}
	_, problems := Load("", tree)
	if len(problems) != 10 {
		t.Fatalf("Load: %d problems, want 10: %v", len(problems), problems)
	}
	for i, p := range problems {
		if more := strings.HasSuffix(p.Message, "; and 3 more like it"); p.Code != NoReverse || more != (i == 9) {
			t.Errorf("problem %d: %v", i, p)
		}
	}
}

// What is judged says nothing while a declaration is broken, which may be the very one that is missed.
func TestLintNeedsValidDeclarations(t *testing.T) {
	tree := meshOf(2)
	tree["mesh.yaml"] = &fstest.MapFile{Data: []byte(linkDoc("c0000", "c0002"))}
	f, problems := Load("", tree)
	if f != nil || len(problems) != 1 || problems[0].Warning {
		t.Errorf("Load: %v", problems)
	}
}
