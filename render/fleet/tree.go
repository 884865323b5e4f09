package fleet

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/linkwright/linkwright/api"
)

var (
	errSymlink   = errors.New("symbolic links are not followed")
	errIrregular = errors.New("it is not a regular file")
)

// read decodes all documents of a tree of plain YAML.
func (l *loader) read(tree fs.FS) {
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			l.unreadable(name, err)
		case l.exceeded:
			return fs.SkipAll
		case name != "." && strings.HasPrefix(d.Name(), "."):
			return skip(d)
		case d.IsDir() && name != "." && kustomization(tree, name) != "":
			l.readOverlay(tree, name)
			return fs.SkipDir
		case d.Type()&fs.ModeSymlink != 0 && (isYAML(name) || isDir(tree, name)):
			l.unreadable(name, errSymlink)
		case d.Type().IsRegular() && isYAML(name):
			l.readFile(tree, name)
		case !d.IsDir() && isYAML(name):
			l.unreadable(name, errIrregular)
		}
		return nil
	})
	if err != nil {
		l.unreadable(".", err)
	}
	if l.documents == 0 && !l.incomplete {
		l.noDeclarations("add declarations" + OrPath)
	}
}

// secrets adds a problem for each secret in the tree, also in files that are not read as declarations.
func (l *loader) secrets(tree fs.FS) {
	l.secretFiles = map[string]bool{}
	for _, p := range Secrets(tree) {
		l.secretFiles[p.Pos.File] = true
		l.add(p)
	}
}

// noDeclarations adds that problem; callers check that all files could be read.
func (l *loader) noDeclarations(hint string) {
	l.problems = append(l.problems, api.Problem{Code: NoDeclarations, Message: "the tree has no declaration", Hint: hint})
}

func (l *loader) unreadable(name string, cause error) {
	l.failIncomplete(api.Pos{File: name}, "cannot be read: "+cause.Error(), "")
}

// failIncomplete is fail for something that was not read and may contain declarations.
func (l *loader) failIncomplete(at api.Pos, message, hint string) {
	l.incomplete = true
	l.fail(at, message, hint)
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

// readFile decodes one file, or nothing of it if it exceeds a bound.
func (l *loader) readFile(tree fs.FS, name string) {
	data, ok := l.bytes(tree, name)
	if !ok {
		return
	}
	f := l.extent.bounded(data)
	l.exceeded = l.extent.documents > MaxDocuments || l.extent.marks > MaxMarks
	if f == nil {
		f = templated(data)
	}
	if f == nil {
		f = parse(name, data, l.decode)
	}
	if f != nil {
		l.failIncomplete(f.pos(name), f.message, f.hint)
	}
}

// bytes gives a file that is within the bounds; a larger one is not even read.
func (l *loader) bytes(tree fs.FS, name string) ([]byte, bool) {
	info, err := fs.Stat(tree, name)
	if err != nil {
		l.unreadable(name, err)
		return nil, false
	}
	l.bytesRead += info.Size()
	switch {
	case info.Size() > MaxFileBytes:
		l.bytesRead -= info.Size()
		l.failIncomplete(api.Pos{File: name}, fmt.Sprintf("cannot be read: it is larger than %d MiB", MaxFileBytes>>20), "split it")
		return nil, false
	case l.bytesRead > MaxTreeBytes:
		l.exceeded = true
		l.failIncomplete(api.Pos{File: name}, fmt.Sprintf("cannot be read: the declarations would be larger than %d MiB", MaxTreeBytes>>20), tooLargeHint)
		return nil, false
	}
	data, err := fs.ReadFile(tree, name)
	if err != nil {
		l.unreadable(name, err)
	}
	return data, err == nil
}
