package overlay

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/render/marks"
)

// TestPage: the tables of docs/how-to/overlays.md are those of the code; -update writes them.
func TestPage(t *testing.T) {
	const page = "../../docs/how-to/overlays.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for name, table := range map[string]string{
		"fields": fieldsPage(), "marks": marksPage(marks.OfAll()), "podmarks": marksPage(marks.OfPods()), "never": neverPage(),
		"proxy": "\n" + quoted(marks.ProxySettings()) + "\n", "suspects": quoted(marks.Suspects()), "podannotations": podAnnotationsPage(), "kinds": quoted(DefaultKinds().Words()), "known": knownPage(),
	} {
		before, rest, opened := strings.Cut(want, "<!-- "+name+" -->")
		_, after, closed := strings.Cut(rest, "<!-- /"+name+" -->")
		if !opened || !closed {
			t.Fatalf("%s: there is no place for %s", page, name)
		}
		want = before + "<!-- " + name + " -->" + table + "<!-- /" + name + " -->" + after
	}
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s: -want +got (-update writes it)\n%s", page, diff)
	}
}

// TestPageExample: the page's Component does what it shows.
func TestPageExample(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/overlays.md")
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{}
	for _, block := range strings.Split(string(text), "```yaml\n# ")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		data, _, _ := strings.Cut(rest, "```")
		tree[name] = &fstest.MapFile{Data: []byte(data)}
	}
	ends := scene(t, 1)
	i := in(ends, "")
	i.Tree = tree
	out := NewApplier(newCage(t, Options{}), DefaultKinds()).Apply(t.Context(), i)
	got := changesIn(t, ends, out)
	for _, want := range []string{"priorityClassName", "tolerations", "resources", "metadata/labels/team", "extra in west base", "kind: NetworkPolicy"} {
		if !strings.Contains(got, want) || len(out.Problems) > 0 {
			t.Errorf("the example gives no %s: %s", want, got)
		}
	}
}

func quoted(list []string) string { return "`" + strings.Join(list, "`, `") + "`" }

func podAnnotationsPage() string {
	var out []string
	for _, name := range marks.PodAnnotations() {
		if !isExactName(name) {
			name += "*"
		}
		out = append(out, name)
	}
	return quoted(out)
}

func fieldsPage() string {
	var b strings.Builder
	b.WriteString("\n| kind | may change |\n| --- | --- |\n")
	paths, order := map[string][]string{}, []string{}
	for _, f := range fields() {
		path := strings.ReplaceAll(f.path, ".*", "[]")
		switch {
		case f.kind == secretKind:
			continue // what it may not; the page says so in words
		case f.keys != nil:
			path += "` (others added)`" // outside of the quotes
		}
		if paths[f.kind] == nil {
			order = append(order, f.kind)
		}
		paths[f.kind] = append(paths[f.kind], path)
	}
	for _, kind := range order {
		name := kind
		if kind == anyKind {
			name = "every kind"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", name, strings.ReplaceAll(quoted(paths[kind]), ")``", ")"))
	}
	return b.String()
}

func marksPage(rows []marks.Mark) string {
	var b strings.Builder
	b.WriteString("\n| labels and annotations | why |\n| --- | --- |\n")
	names, order := map[string][]string{}, []string{}
	for _, m := range rows {
		name := m.Name
		if !isExactName(name) {
			name += "*"
		}
		if names[m.Why] == nil {
			order = append(order, m.Why)
		}
		names[m.Why] = append(names[m.Why], name)
	}
	for _, why := range order {
		fmt.Fprintf(&b, "| %s | %s |\n", quoted(names[why]), why)
	}
	return b.String()
}

func neverPage() string {
	var b strings.Builder
	b.WriteString("\n| kinds | why |\n| --- | --- |\n")
	names, order := map[string][]string{}, []string{}
	for _, n := range forbiddenKinds() {
		name := n.kind
		switch {
		case n.kind == "":
			name = "*." + strings.TrimPrefix(n.group, "*.")
		case n.group != "":
			name += "." + n.group
		}
		if names[n.why] == nil {
			order = append(order, n.why)
		}
		names[n.why] = append(names[n.why], name)
	}
	for _, why := range order {
		fmt.Fprintf(&b, "| %s | %s |\n", quoted(names[why]), why)
	}
	return b.String()
}

func knownPage() string {
	var out []string
	for _, k := range knownKinds() {
		out = append(out, k.kind)
	}
	return quoted(out)
}
