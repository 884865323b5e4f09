// Package messages holds what every message of linkwright keeps: its first part is short.
package messages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// mostFirst is how many characters the first part of a message may have.
const mostFirst = 160

const root = "../.."

// firstPart is what a message says before details: what happened, why, and what to do.
func firstPart(message string) string { return object.Reason{Message: message}.First() }

func tooLong(message string) bool { return len([]rune(firstPart(message))) > mostFirst }

func TestFirstPart(t *testing.T) {
	for message, want := range map[string]string{
		"a happened: do b":                   "a happened: do b",
		"a happened: do b; of x, y (c)":      "a happened: do b",
		"a happened: get a answer (do b)":    "a happened: get a answer",
		"a (b) happened: do c":               "a (b) happened: do c",
		"a happened (c); because (of d) (e)": "a happened",
	} {
		if got := firstPart(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

// The reasons table is read as messages are.
func TestReasonsAreShort(t *testing.T) {
	for _, e := range reason.All() {
		if meaning := e.Plain(e.Meaning); tooLong(meaning) {
			t.Errorf("%s: the first part of the meaning has %d characters: %s", e.Code, len([]rune(firstPart(meaning))), firstPart(meaning))
		}
	}
}

// Messages that goldens show, with the names of their examples. The position of a problem, and the end that it is about, are no part of its message.
func TestGoldensAreShort(t *testing.T) {
	seen := map[string]bool{}
	for _, pattern := range []string{"testdata/*/*.txtar", "sync/report/testdata/*.txtar", "render/fleet/testdata/*.txtar"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, name := range files {
			for _, message := range messagesIn(t, name) {
				if tooLong(message) && !seen[message] {
					t.Errorf("%s: the first part has %d characters: %s", name, len([]rune(firstPart(message))), firstPart(message))
				}
				seen[message] = true
			}
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d messages were found", len(seen))
	}
}

// messagesIn are the messages in a file of goldens: of rows with a reason, and of problems with a position.
func messagesIn(t *testing.T, name string) (messages []string) {
	t.Helper()
	row := regexp.MustCompile(`(?m)^(?:\S.*?\s| {4})[A-Z][A-Za-z]+: (.+?)(?: \|)?$|^\S+\.yaml:\d+:\d+: (?:\S+→\S+ in \S+: )?(.+)$`)
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		if f.Name == "json" || f.Name == "sarif" { // the texts have the same
			continue
		}
		for _, m := range row.FindAllStringSubmatch(string(f.Data), -1) {
			messages = append(messages, m[1]+m[2])
		}
	}
	return messages
}

// Messages that no golden shows: each verb of a format counts as a name.
func TestFormatsAreShort(t *testing.T) {
	verb := regexp.MustCompile(`%[+#]?[a-z]`)
	found := 0
	each(t, func(where string, call *ast.CallExpr) {
		if name(call.Fun) != "Because" || len(call.Args) < 2 {
			return
		}
		format, ok := literal(call.Args[1])
		if !ok {
			return
		}
		found++
		if message := verb.ReplaceAllString(format, "linkerd-name"); tooLong(message) {
			t.Errorf("%s: the first part has %d characters: %s", where, len([]rune(firstPart(message))), firstPart(message))
		}
	})
	if found < 100 {
		t.Errorf("only %d messages were found", found)
	}
}

// each calls f for every call in the product's code.
func each(t *testing.T, f func(where string, call *ast.CallExpr)) {
	t.Helper()
	for _, dir := range []string{"api", "cmd", "object", "prune", "render", "rollout", "sync"} {
		err := fs.WalkDir(os.DirFS(root), dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			parsed, err := parser.ParseFile(files, filepath.Join(root, path), nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					f(path+":"+strconv.Itoa(files.Position(call.Pos()).Line), call)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func name(of ast.Expr) string {
	switch e := of.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// literal is the value of a string that is written in the code, in one part or several.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		x, okX := literal(e.X)
		y, okY := literal(e.Y)
		return x + y, okX && okY
	}
	return "", false
}
