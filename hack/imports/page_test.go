package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPageNames: what the page of the architecture says a package has, the package declares.
func TestPageNames(t *testing.T) {
	page, err := os.ReadFile("../../docs/explanation/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	name, checked := regexp.MustCompile("`((?:[A-Z]\\w*\\.)?[A-Z]\\w*)`"), 0
	for _, paragraph := range regexp.MustCompile(`(?m)^\*\*([a-z/]+)\*\* – `).FindAllStringSubmatchIndex(string(page), -1) {
		dir := string(page)[paragraph[2]:paragraph[3]]
		text, _, _ := strings.Cut(string(page)[paragraph[1]:], "\n\n")
		names := declaredIn(t, filepath.Join("../..", dir))
		for _, m := range name.FindAllStringSubmatch(text, -1) {
			if checked++; !names[m[1]] {
				t.Errorf("package %s does not declare %s", dir, m[1])
			}
		}
	}
	if checked < 40 {
		t.Errorf("the page names %d types and functions, want at least 40: it is not read as it is written", checked)
	}
}

// declaredIn are the names that a package declares outside of its tests: types, functions, values, fields, and methods also with their type.
func declaredIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no files: %v", dir, err)
	}
	out := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				out[n.Name.Name] = true
				out[receiver(n)+"."+n.Name.Name] = true
				return false
			case *ast.TypeSpec:
				out[n.Name.Name] = true
			case *ast.ValueSpec:
				for _, id := range n.Names {
					out[id.Name] = true
				}
			case *ast.Field:
				for _, id := range n.Names {
					out[id.Name] = true
				}
			}
			return true
		})
	}
	return out
}

// receiver is the type that a method is of; empty: it is a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	id, ok := of.(*ast.Ident)
	if !ok {
		return ""
	}
	return id.Name
}
