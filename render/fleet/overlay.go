package fleet

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// component returns what a cluster names as its overlay, or nil; one that is not there is an error.
func (l *loader) component(d declared[api.ClusterDoc]) *Overlay {
	dir, at := d.value.Spec.Overlay, d.at("spec", "overlay")
	switch {
	case dir == "" || badOverlay(d.value):
		return nil
	case kustomization(l.tree, dir) == "":
		l.noComponent(d.document, dir)
		return nil
	}
	return &Overlay{Tree: l.tree, Dir: dir, At: at}
}

// badOverlay reports whether the path alone was refused.
func badOverlay(c api.ClusterDoc) bool {
	for _, f := range c.Check() {
		if f.Path.String() == "spec.overlay" {
			return true
		}
	}
	return false
}

func (l *loader) noComponent(d document, dir string) {
	message, hint := fmt.Sprintf("%q is not a directory of this tree", short(dir)), ""
	if isDir(l.tree, dir) {
		message = fmt.Sprintf("the directory %q has no kustomization.yaml", short(dir))
	}
	if l.room(heap{file: d.file}) > 0 {
		if l.dirs == nil {
			l.dirs = componentDirs(l.tree)
		}
		hint = nearestDir(dir, l.dirs)
	}
	l.failIn(d, api.Path{"spec", "overlay"}, message, hint)
}

// componentDirs returns the directories that may be named, sorted.
func componentDirs(tree fs.FS) []string {
	out := []string{}
	_ = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, _ error) error { // what cannot be read is told elsewhere
		switch {
		case name == ".":
		case strings.HasPrefix(d.Name(), "."):
			return skip(d)
		case d.IsDir() && kustomization(tree, name) != "":
			out = append(out, name)
		}
		return nil
	})
	return out
}

// nearestDir goes by the whole path, else by its last part: east for overlays/east.
func nearestDir(written string, dirs []string) string {
	if hint := api.DidYouMean(written, dirs); hint != "" {
		return hint
	}
	for _, dir := range dirs {
		if path.Base(dir) == path.Base(written) {
			return "did you mean " + dir + "?"
		}
	}
	return ""
}
