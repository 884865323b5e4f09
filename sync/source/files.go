package source

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

var (
	errIsDir  = errors.New("is a directory")
	errNotDir = errors.New("is not a directory")
)

// files is a tree in memory. It never changes once it is given away: what two commits have in common, their trees share.
type files struct{ root *node }

// node is a file or a directory, its own fs.FileInfo and fs.DirEntry.
type node struct {
	name    string
	dir     bool
	hash    plumbing.Hash // of the object in Git; zero on this machine
	data    []byte
	entries []fs.DirEntry // of a directory, by name
	sum     sum
}

// sum is what a node and all below it come to.
type sum struct {
	nodes int
	bytes int64
	hits  uint64 // a bit for each pattern of Include that chose something
}

func (s *sum) add(o sum) {
	s.nodes += o.nodes
	s.bytes += o.bytes
	s.hits |= o.hits
}

// child returns the entry of that name, or nil.
func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(n.entries, name, func(e fs.DirEntry, s string) int {
		return cmp.Compare(e.Name(), s)
	})
	if !ok {
		return nil
	}
	return n.entries[i].(*node)
}

// blobs gives the contents of all files below a node, by their hash.
func (n *node) blobs(into map[plumbing.Hash][]byte) {
	if !n.dir {
		into[n.hash] = n.data
	}
	for _, e := range n.entries {
		e.(*node).blobs(into)
	}
}

func (f *files) find(op, name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	n := f.root
	if name == "." {
		return n, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if n = n.child(part); n == nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
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
