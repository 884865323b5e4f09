package source

import (
	"fmt"
	"io"
)

// StreamFile is the name that the tree of a stream gives its only file.
const StreamFile = "stdin.yaml"

// Stream gives what a reader holds, such as standard input, as a tree of one file, under the rules of File. Path does not count.
func Stream(r io.Reader, o Options) (Snapshot, error) {
	chosen, err := newChoice(o)
	if err != nil {
		return Snapshot{}, err
	}
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1)) // one more byte than a tree may have
	if err != nil {
		return Snapshot{}, fmt.Errorf("read standard input: %w", err)
	}
	tree, err := build(standardInput(data), entry{name: ".", dir: true}, chosen, nil)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read standard input: %w", err)
	}
	return Snapshot{Tree: tree}, nil
}

// standardInput is a directory with one file.
type standardInput []byte

// list implements shelf.
func (standardInput) list(string, entry) ([]entry, error) { return []entry{{name: StreamFile}}, nil }

// open implements shelf.
func (s standardInput) open(string, entry) (int64, func() ([]byte, error), error) {
	return int64(len(s)), func() ([]byte, error) { return s, nil }, nil
}
