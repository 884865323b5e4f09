package imports

import (
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// layered are packages whose files form no circle: each can be read before those that use it.
func layered() []string {
	return []string{"sync/takeover", "sync/plan", "sync/rights", "sync/record", "sync/apply", "sync/verify", "sync", "sync/setup"}
}

func TestLayered(t *testing.T) {
	var paths []string
	for _, dir := range layered() {
		paths = append(paths, module+"/"+dir)
	}
	mode := packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
		packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo
	all, err := packages.Load(&packages.Config{Mode: mode}, paths...)
	if err != nil || len(all) != len(paths) {
		t.Fatalf("load %v: %v, %v", paths, all, err)
	}
	for _, p := range all {
		if len(p.Errors) > 0 {
			t.Fatalf("load %s: %v", p.PkgPath, p.Errors)
		}
		used := uses(p)
		if own := p.Name + ".go"; p.Name == "plan" && !used[own]["step.go"] {
			t.Fatalf("%s is not seen to use step.go", own)
		}
		if round := circle(used); round != nil {
			t.Errorf("files of %s use each other in a circle: %s. Move what the last uses of the first to a file that both use, or hand it over as an argument",
				p.PkgPath, strings.Join(round, " → "))
		}
	}
}

func TestCircle(t *testing.T) {
	for _, tt := range []struct {
		name string
		uses map[string]map[string]bool
		want int
	}{
		{name: "none", uses: map[string]map[string]bool{"a": {"b": true, "c": true}, "b": {"c": true}}},
		{name: "two", uses: map[string]map[string]bool{"a": {"b": true}, "b": {"a": true}}, want: 3},
		{name: "further down", uses: map[string]map[string]bool{"a": {"b": true}, "b": {"c": true}, "c": {"d": true}, "d": {"b": true}}, want: 4},
	} {
		if got := circle(tt.uses); len(got) != tt.want || tt.want > 0 && got[0] != got[len(got)-1] {
			t.Errorf("%s: circle() = %v, want one of %d names", tt.name, got, tt.want)
		}
	}
}

// uses returns the files of a package that each of its files takes types, functions, methods, constants or variables of. Fields do not count,
// nor types that only a field leads to.
func uses(p *packages.Package) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, f := range p.Syntax {
		from := filepath.Base(p.Fset.Position(f.FileStart).Filename)
		out[from] = map[string]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			o := p.TypesInfo.Uses[id]
			if o == nil || o.Pkg() != p.Types {
				return true
			}
			_, isFunc := o.(*types.Func)
			if to := filepath.Base(p.Fset.Position(o.Pos()).Filename); to != from && (isFunc || o.Parent() == p.Types.Scope()) {
				out[from][to] = true
			}
			return true
		})
	}
	return out
}

// circle returns names that use each other in a circle, the first of them at the end again; nil: there are none.
func circle(uses map[string]map[string]bool) []string {
	var path []string
	done := map[string]bool{}
	var visit func(name string) []string
	visit = func(name string) []string {
		if at := slices.Index(path, name); at >= 0 {
			return append(slices.Clone(path[at:]), name)
		}
		if done[name] {
			return nil
		}
		path = append(path, name)
		for _, next := range slices.Sorted(maps.Keys(uses[name])) {
			if round := visit(next); round != nil {
				return round
			}
		}
		path, done[name] = path[:len(path)-1], true
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		if round := visit(name); round != nil {
			return round
		}
	}
	return nil
}
