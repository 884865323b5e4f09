package fleet

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// overlayOf returns the overlay of a cluster, or nil; a missing one is an error.
func (j *joiner) overlayOf(d declared[api.ClusterDoc]) *Overlay {
	dir, at := d.value.Spec.Overlay, d.at("spec", "overlay")
	switch {
	case dir == "" || invalidOverlayPath(d.value):
		return nil
	case kustomization(j.tree, dir) == "":
		j.overlayMissing(d.document, dir)
		return nil
	}
	return &Overlay{Tree: j.tree, Dir: dir, At: at}
}

// invalidOverlayPath reports whether the path is invalid by itself.
func invalidOverlayPath(c api.ClusterDoc) bool {
	for _, f := range c.Check() {
		if f.Path.String() == "spec.overlay" {
			return true
		}
	}
	return false
}

func (j *joiner) overlayMissing(d document, dir string) {
	message, hint := fmt.Sprintf("%q is not a directory of this tree", short(dir)), ""
	if isDir(j.tree, dir) {
		message = fmt.Sprintf("the directory %q has no kustomization.yaml", short(dir))
	}
	if j.room(problemKey{file: d.file}) > 0 {
		if j.kustomizationDirs == nil {
			j.kustomizationDirs = kustomizationDirs(j.tree)
		}
		hint = nearestDir(dir, j.kustomizationDirs)
	}
	j.failIn(d, api.Path{"spec", "overlay"}, message, hint)
}

// kustomizationDirs returns the directories with a kustomization, sorted.
func kustomizationDirs(tree fs.FS) []string {
	out := []string{}
	_ = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, _ error) error { // errors are reported elsewhere
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

// nearestDir is the hint by the whole path, else by its last part: east for overlays/east.
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
