package source

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

var (
	errIsDir  = errors.New("is a directory")
	errNotDir = errors.New("is not a directory")
)

// files is a tree in memory, by slash-separated path; "." is its root. It is filled once and only read afterwards.
type files struct {
	nodes map[string]*node
	bytes int64
}

// node is a file or a directory, its own fs.FileInfo and fs.DirEntry.
type node struct {
	name    string
	dir     bool
	data    []byte
	entries []fs.DirEntry // of a directory, by name
}

func newFiles() *files {
	return &files{nodes: map[string]*node{".": {name: ".", dir: true}}}
}

// mkdir adds a directory whose parent is there.
func (f *files) mkdir(name string) error { return f.put(name, &node{name: path.Base(name), dir: true}) }

// add adds a file whose parent is there; read is called only when the file fits in.
func (f *files) add(name string, size int64, read func() ([]byte, error)) error {
	if f.bytes += size; f.bytes > MaxBytes {
		return fmt.Errorf("%s: with it the files would be larger than %d MiB together", name, MaxBytes>>20)
	}
	data, err := read()
	if err != nil {
		return fmt.Errorf("read file %s: %w", name, err)
	}
	return f.put(name, &node{name: path.Base(name), data: data})
}

func (f *files) put(name string, n *node) error {
	if len(f.nodes) > MaxFiles {
		return fmt.Errorf("%s: with it there would be more than %d files and directories", name, MaxFiles)
	}
	if strings.Count(name, "/") > MaxDepth {
		return fmt.Errorf("%s: lies in more than %d directories", name, MaxDepth)
	}
	if f.nodes[name] != nil {
		return fmt.Errorf("%s: stands twice in its directory", name)
	}
	f.nodes[name] = n
	parent := f.nodes[path.Dir(name)]
	// Git sorts a directory as if its name ended in a slash, so the place is not always the last one.
	i, _ := slices.BinarySearchFunc(parent.entries, n.name, func(e fs.DirEntry, s string) int {
		return cmp.Compare(e.Name(), s)
	})
	parent.entries = slices.Insert(parent.entries, i, fs.DirEntry(n))
	return nil
}

func (f *files) find(op, name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	n := f.nodes[name]
	if n == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return n, nil
}

// Open implements fs.FS.
func (f *files) Open(name string) (fs.File, error) {
	n, err := f.find("open", name)
	if err != nil {
		return nil, err
	}
	if n.dir {
		return &openDir{node: n, path: name}, nil
	}
	return &openFile{node: n, Reader: bytes.NewReader(n.data)}, nil
}

// Stat implements fs.StatFS.
func (f *files) Stat(name string) (fs.FileInfo, error) {
	n, err := f.find("stat", name)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// ReadFile implements fs.ReadFileFS; the bytes are the caller's.
func (f *files) ReadFile(name string) ([]byte, error) {
	n, err := f.find("read", name)
	if err != nil {
		return nil, err
	}
	if n.dir {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errIsDir}
	}
	return bytes.Clone(n.data), nil
}

// ReadDir implements fs.ReadDirFS.
func (f *files) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := f.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !n.dir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errNotDir}
	}
	return slices.Clone(n.entries), nil
}

func (n *node) Name() string               { return n.name }
func (n *node) IsDir() bool                { return n.dir }
func (n *node) Size() int64                { return int64(len(n.data)) }
func (n *node) Type() fs.FileMode          { return n.Mode().Type() }
func (n *node) Info() (fs.FileInfo, error) { return n, nil }
func (n *node) Sys() any                   { return nil }

// ModTime is zero: Git keeps none for files, and no output may depend on when we looked.
func (n *node) ModTime() time.Time { return time.Time{} }

// Mode implements fs.FileInfo; nothing is writable.
func (n *node) Mode() fs.FileMode {
	if n.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

type openFile struct {
	*node
	*bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.node, nil }
func (f *openFile) Size() int64                { return f.node.Size() }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	*node
	path string
	next int
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.node, nil }
func (d *openDir) Close() error               { return nil }
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: errIsDir}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := d.entries[d.next:]
	if n > 0 && len(rest) == 0 {
		return nil, io.EOF
	}
	if n > 0 && n < len(rest) {
		rest = rest[:n]
	}
	d.next += len(rest)
	return slices.Clone(rest), nil
}
