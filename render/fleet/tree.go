package fleet

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
)

// document is one YAML document of a file.
type document struct {
	file string
	root *yaml.Node
}

// kustomized says, as a problem, that the tree has to be built first.
func (l *loader) kustomized(tree fs.FS) bool {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if _, err := fs.Stat(tree, name); err == nil {
			l.fail(api.Pos{File: name}, "building a kustomization comes with a later release; this one reads plain YAML",
				"commit the output of kustomize build, or point --path at a directory of declarations")
			return true
		}
	}
	return false
}

// read finds all documents of a tree.
func (l *loader) read(tree fs.FS) {
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			l.unreadable(name, err)
		case name != "." && strings.HasPrefix(d.Name(), "."):
			return skip(d)
		case d.Type()&fs.ModeSymlink != 0 && (isYAML(name) || isDir(tree, name)):
			l.unreadable(name, errors.New("symbolic links are not followed"))
		case !d.IsDir() && isYAML(name):
			l.readFile(tree, name)
		}
		return nil
	})
	if err != nil {
		l.unreadable(".", err)
	}
	if len(l.documents) == 0 && !l.partial {
		l.problems = append(l.problems, api.Problem{
			Code: EmptyTree, Message: "the tree holds no declaration",
			Hint: "is --path right?",
		})
	}
}

func (l *loader) unreadable(name string, cause error) {
	l.partial = true
	l.fail(api.Pos{File: name}, "cannot be read: "+cause.Error(), "")
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func isYAML(name string) bool {
	ext := path.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}

func isDir(tree fs.FS, name string) bool {
	info, err := fs.Stat(tree, name)
	return err == nil && info.IsDir()
}

// readFile splits a file into documents; a null document is no document.
func (l *loader) readFile(tree fs.FS, name string) {
	data, err := fs.ReadFile(tree, name)
	if err != nil {
		l.unreadable(name, err)
		return
	}
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			l.syntaxError(name, data, err)
			return
		}
		if root := n.Content[0]; root.ShortTag() != "!!null" {
			l.documents = append(l.documents, document{name, root})
		}
	}
}

// syntaxError takes the line out of the parser's message, which is "yaml: line 3: did not find expected key".
func (l *loader) syntaxError(name string, data []byte, err error) {
	line, message := firstUnreadable(data), strings.TrimPrefix(err.Error(), "yaml: ")
	if number, rest, ok := strings.Cut(strings.TrimPrefix(message, "line "), ": "); ok {
		if n, err := strconv.Atoi(number); err == nil {
			line, message = n, rest
		}
		if strings.HasPrefix(message, "did not find expected") {
			line = min(line+1, lines(data)) // the parser's own errors, unlike its scanner's, count lines from 0
		}
	}
	l.partial = true
	l.fail(api.Pos{File: name, Line: line}, "this is no YAML: "+message, "")
}

// firstUnreadable is the line of the first byte that YAML does not allow, or 1: errors without a line are about such a
// byte, or about the first line.
func firstUnreadable(data []byte) int {
	i := bytes.IndexFunc(data, func(r rune) bool {
		return r == utf8.RuneError || r == 0x7f || r < ' ' && !strings.ContainsRune("\t\r\n", r)
	})
	return 1 + bytes.Count(data[:max(i, 0)], []byte("\n"))
}

func lines(data []byte) int {
	return 1 + bytes.Count(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

func (d document) pos(n *yaml.Node) api.Pos {
	return api.Pos{File: d.file, Line: n.Line, Col: n.Column}
}

// at is the position of the deepest field of a path that is written.
func (d document) at(keys ...string) api.Pos {
	n := d.root
	for _, key := range keys {
		next := child(n, key)
		if next == nil {
			break
		}
		n = next
	}
	return d.pos(n)
}

// name is the declared name, or empty.
func (d document) name() string { return text(child(child(d.root, "metadata"), "name")) }

// child is the value of a key, or the item of an index, or nil.
func child(n *yaml.Node, key string) *yaml.Node {
	switch {
	case n == nil:
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key && n.Content[i].Kind == yaml.ScalarNode {
				return n.Content[i+1]
			}
		}
	case n.Kind == yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i]
		}
	}
	return nil
}

// text is the value of a string, or empty.
func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return ""
	}
	return n.Value
}
