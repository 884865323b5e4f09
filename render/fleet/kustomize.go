package fleet

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
)

// kustomization is the name of a directory's kustomization file, or empty.
func kustomization(tree fs.FS, dir string) string {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if info, err := fs.Stat(tree, path.Join(dir, name)); err == nil && !info.IsDir() {
			return name
		}
	}
	return ""
}

// needsBuild reports whether the tree has to be built first.
func (l *loader) needsBuild(tree fs.FS) bool {
	name := kustomization(tree, ".")
	if name == "" {
		return false
	}
	l.failIncomplete(api.Pos{File: name}, "the kustomization at the root of the tree was not built",
		"commit the output of kustomize build, or point --path at a directory of declarations")
	return true
}

// overlay is a directory below the root that belongs to kustomize, with all that is below it.
type overlay struct {
	dir, file string
	names     []string // paths of the tree that the kustomizations below dir may refer to
}

func (o overlay) contains(name string) bool { return within(name, o.dir) }

func within(name, dir string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// readOverlay searches a directory that belongs to kustomize. Nothing in it is read as a declaration, and a declaration in it is
// an error: otherwise its objects would be pruned.
func (l *loader) readOverlay(tree fs.FS, dir string) {
	o := overlay{dir: dir, file: path.Join(dir, kustomization(tree, dir))}
	err := fs.WalkDir(tree, dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			l.unreadable(name, err)
		case d.Type()&fs.ModeSymlink != 0:
			l.unreadable(name, errSymlink)
		case d.IsDir():
			if file := kustomization(tree, name); file != "" {
				o.names = append(o.names, l.namesIn(tree, name, file)...)
			}
		case !d.Type().IsRegular():
			l.unreadable(name, errIrregular)
		case isYAML(name):
			l.misplacedDeclarations(tree, name, o)
		}
		return nil
	})
	if err != nil {
		l.unreadable(dir, err)
	}
	l.overlays = append(l.overlays, o)
}

// misplacedDeclarations fails declarations among kustomize's files. It parses only files that mention linkwright.dev/: other
// manifests may be of any size.
func (l *loader) misplacedDeclarations(tree fs.FS, name string, in overlay) {
	data, err := fs.ReadFile(tree, name)
	if err != nil {
		l.unreadable(name, err)
		return
	}
	if !bytes.Contains(data, []byte(groupPrefix)) {
		return
	}
	f := l.extent.bounded(data)
	if len(data) > MaxFileBytes {
		f = &fault{message: fmt.Sprintf("cannot be searched for declarations: it is larger than %d MiB", MaxFileBytes>>20)}
	}
	if f == nil {
		f = parse(name, data, func(p parsed) { l.failMisplaced(p, p.root, in) })
	}
	if f != nil {
		l.failIncomplete(f.pos(name), f.message, f.hint)
	}
}

// failMisplaced fails a declaration, and each one in a list.
func (l *loader) failMisplaced(p parsed, n *yaml.Node, in overlay) {
	if items := child(n, "items"); items != nil && items.Kind == yaml.SequenceNode {
		for _, item := range items.Content {
			l.failMisplaced(p, item, in)
		}
	}
	version := child(n, "apiVersion")
	if !strings.HasPrefix(text(version), groupPrefix) {
		return
	}
	l.failIncomplete(p.pos(version), fmt.Sprintf("%s is not read, because everything in %s belongs to kustomize: the directory has a %s", identity(n), in.dir, path.Base(in.file)),
		"move it to another directory, or build the whole tree with a kustomization.yaml at its root")
}

// namesIn returns every string of a kustomization as a path of the tree: not all are paths, but none is missed.
func (l *loader) namesIn(tree fs.FS, dir, file string) []string {
	data, err := fs.ReadFile(tree, path.Join(dir, file))
	if err != nil {
		l.unreadable(path.Join(dir, file), err)
		return nil
	}
	var out []string
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode && len(n.Value) < 1000 {
			out = append(out, path.Join(dir, n.Value))
		}
		for _, below := range n.Content {
			walk(below)
		}
	}
	f := l.extent.bounded(data)
	if f == nil {
		f = parse(file, data, func(p parsed) { walk(p.root) })
	}
	l.namesUnknown = l.namesUnknown || f != nil
	return out
}

// unused warns of directories that neither a Cluster nor a kustomization elsewhere names. It is silent if a kustomization
// could not be read.
func unused(x *lintInput) []api.Problem {
	if x.namesUnknown {
		return nil
	}
	var named []string
	for _, c := range x.docs {
		if c.value.Spec.Overlay != "" {
			named = append(named, path.Clean(c.value.Spec.Overlay))
		}
	}
	var out []api.Problem
	for i, o := range x.overlays {
		names := named
		for j, other := range x.overlays {
			if i != j {
				names = slices.Concat(names, other.names)
			}
		}
		if !slices.ContainsFunc(names, func(name string) bool { return o.contains(name) || within(o.dir, name) }) {
			out = append(out, api.Problem{
				Pos:     api.Pos{File: o.file},
				Message: "nothing in " + o.dir + " is used, because no Cluster's spec.overlay names it", Hint: "name it, or remove the directory",
			})
		}
	}
	return out
}
