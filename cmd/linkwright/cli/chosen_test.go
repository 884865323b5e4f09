package cli

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
)

// linked declares Link "one" from west to east, Mesh "all" of a, a-b, b-c and c, and Link "a-b-c" that is nothing like its name.
func linked(t *testing.T) *fleet.Fleet {
	t.Helper()
	var text strings.Builder
	for _, name := range []string{"west", "east", "a", "a-b", "b-c", "c"} {
		labels := "{}"
		if len(name) < 4 {
			labels = "{mesh: all}"
		}
		text.WriteString("apiVersion: linkwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: " + name + ", labels: " + labels +
			"}\nspec: {access: {kubeconfigSecret: {name: " + name + "}}}\n---\n")
	}
	text.WriteString("apiVersion: linkwright.dev/v1alpha1\nkind: Mesh\nmetadata: {name: all}\nspec: {clusters: {matchLabels: {mesh: all}}}\n---\n" +
		"apiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata: {name: one}\nspec: {source: west, target: east}\n")
	f, problems := fleet.Load("", fstest.MapFS{"fleet.yaml": {Data: []byte(text.String())}})
	if f == nil {
		t.Fatalf("Load: %v", problems)
	}
	return f
}

func TestLinksInEverySpelling(t *testing.T) {
	f := linked(t)
	want := map[api.Pair]bool{{Source: "west", Target: "east"}: true}
	for _, arg := range []string{"west/east", "west → east", "west→east", "west->east", "west -> east", "one"} {
		got, err := Links(f, []string{arg}, false)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("pairs(%q): %v, -want +got\n%s", arg, err, diff)
		}
	}
	if got, err := Links(f, []string{"all"}, false); err != nil || len(got) != 12 {
		t.Errorf("pairs(all) gives %d links (%v), want the 12 of the mesh", len(got), err)
	}
	gone := map[api.Pair]bool{{Source: "x", Target: "y"}: true}
	if got, err := Links(f, []string{"x → y"}, true); err != nil || !cmp.Equal(gone, got) {
		t.Errorf("pairs(x → y, loose) = %v, %v, want %v", got, err, gone)
	}
}

func TestLinksThatNoSpellingNames(t *testing.T) {
	f := linked(t)
	for arg, want := range map[string]string{
		"east/west": "no link east/west is declared: name a Link or a Mesh of the repository, or SOURCE/TARGET; declared are a/a-b, a/b-c, ",
		"east-west": "and 3 more",
		"west-east": "no link west-east is declared: name a Link or a Mesh of the repository, or SOURCE/TARGET (did you mean west/east?); declared are ",
		"a-b-c":     "or SOURCE/TARGET; declared are ", // a-b/c or a/b-c
	} {
		if got, err := Links(f, []string{arg}, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("pairs(%q) = %v, %v, want an error with %q", arg, got, err, want)
		}
	}
}
