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
		case l.full:
			return fs.SkipAll
		case name != "." && strings.HasPrefix(d.Name(), "."):
			return skip(d)
		case d.IsDir() && name != "." && kustomization(tree, name) != "":
			l.overlay(tree, name)
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
	if l.found == 0 && !l.partial {
		l.empty("check --path")
	}
}

// secrets tells of all that the tree holds, also where nothing is read as a declaration.
func (l *loader) secrets(tree fs.FS) {
	l.revealed = map[string]bool{}
	for _, p := range Secrets(tree) {
		l.revealed[p.Pos.File] = true
		l.add(p)
	}
}

// empty is a problem only where all could be read.
func (l *loader) empty(hint string) {
	l.problems = append(l.problems, api.Problem{Code: NoDeclarations, Message: "the tree has no declaration", Hint: hint})
}

func (l *loader) unreadable(name string, cause error) {
	l.refuse(api.Pos{File: name}, "cannot be read: "+cause.Error(), "")
}

// refuse records that something was not read: what stands in it may be declared all the same.
func (l *loader) refuse(at api.Pos, message, hint string) {
	l.partial = true
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

// readFile decodes one file, or nothing of it where it exceeds a bound.
func (l *loader) readFile(tree fs.FS, name string) {
	data, ok := l.bytes(tree, name)
	if !ok {
		return
	}
	f := l.extent.bounded(data)
	l.full = l.extent.documents > MaxDocuments || l.extent.marks > MaxMarks
	if f == nil {
		f = templated(data)
	}
	if f == nil {
		f = parse(name, data, l.decode)
	}
	if f != nil {
		l.refuse(f.pos(name), f.message, f.hint)
	}
}

// bytes gives a file that is within the bounds; a larger one is not even read.
func (l *loader) bytes(tree fs.FS, name string) ([]byte, bool) {
	info, err := fs.Stat(tree, name)
	if err != nil {
		l.unreadable(name, err)
		return nil, false
	}
	l.size += info.Size()
	switch {
	case info.Size() > MaxFileBytes:
		l.size -= info.Size()
		l.refuse(api.Pos{File: name}, fmt.Sprintf("cannot be read: it is larger than %d MiB", MaxFileBytes>>20), "split it")
		return nil, false
	case l.size > MaxTreeBytes:
		l.full = true
		l.refuse(api.Pos{File: name}, fmt.Sprintf("cannot be read: the declarations would be larger than %d MiB", MaxTreeBytes>>20), wayTooMuch)
		return nil, false
	}
	data, err := fs.ReadFile(tree, name)
	if err != nil {
		l.unreadable(name, err)
	}
	return data, err == nil
}
