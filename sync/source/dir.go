package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/config"
)

// Dir returns a plain directory on this machine, read once, under the rules that a commit is read under: what passes here passes from Git, with the
// same bounds. Of the options Path, Include, Exclude and Ignored count; nothing beside Path is read, but what dir's .gitmodules says. The .git of dir is left
// out; Commit is empty.
func Dir(dir string, o Options) (Snapshot, error) {
	chosen, err := newChoice(o)
	if err != nil {
		return Snapshot{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read directory: %w", err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	from := &plain{root: root, below: path.Clean(cmp.Or(o.Path, ".")), ignored: o.Ignored}
	tree, err := from.read(chosen)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read directory %s: %w", dir, err)
	}
	return Snapshot{Tree: tree}, nil
}

func (p *plain) read(c choice) (_ *files, err error) {
	if p.modules, err = submodules(p.root); err != nil {
		return nil, err
	}
	if err := descend(p.root, p.below); err != nil {
		return nil, err
	}
	return build(p, entry{name: ".", dir: true}, c, nil)
}

// plain is a shelf: a directory of this machine.
type plain struct {
	root    *os.Root
	below   string   // where the tree begins
	modules []string // what .gitmodules names
	ignored []string // below the tree
}

// list implements shelf.
func (p *plain) list(at string, _ entry) ([]entry, error) {
	lines, err := fs.ReadDir(p.root.FS(), path.Join(p.below, at))
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, d := range lines {
		if d.Name() != ".git" && !slices.Contains(p.ignored, path.Join(at, d.Name())) { // of at itself, or of a second work tree; further down, what holds one is refused as a whole
			out = append(out, p.entry(path.Join(at, d.Name()), d))
		}
	}
	return out, nil
}

func (p *plain) entry(at string, d fs.DirEntry) entry {
	e := entry{name: d.Name(), dir: d.IsDir()}
	switch {
	case d.IsDir() && p.has(at, ".git"):
		e.bad = excluded(at, errors.New("a repository of its own"), "commit the files themselves")
	case d.IsDir() && slices.Contains(p.modules, path.Join(p.below, at)) && !p.has(at, "."):
		e.bad = excluded(at, errModule, "commit the files themselves")
	case d.Type()&fs.ModeSymlink != 0:
		e.bad = excluded(at, errLink, "put the file itself there")
	case !d.IsDir() && !d.Type().IsRegular():
		e.bad = excluded(at, errors.New("not a regular file"), "remove it")
	}
	return e
}

// has reports whether something of that name, or with "." anything at all, is in a directory.
func (p *plain) has(at, name string) bool {
	at = path.Join(p.below, at)
	if name != "." {
		_, err := p.root.Lstat(path.Join(at, name))
		return err == nil
	}
	lines, err := fs.ReadDir(p.root.FS(), at)
	return err != nil || len(lines) > 0
}

// open implements shelf. A file that is replaced by something else before it is read is not what was listed.
func (p *plain) open(at string, _ entry) (int64, func() ([]byte, error), error) {
	at = path.Join(p.below, at)
	info, err := p.root.Lstat(at)
	if err != nil {
		return 0, nil, err
	}
	if !info.Mode().IsRegular() {
		return 0, nil, errChanged
	}
	return info.Size(), func() ([]byte, error) { return p.root.ReadFile(at) }, nil
}

// descend makes sure that a path below the root is a directory; it follows no link, as Git would not.
func descend(root *os.Root, at string) error {
	if !fs.ValidPath(at) {
		return fmt.Errorf("path %q: must be relative to the directory and stay inside it", at)
	}
	if at == "." {
		return nil
	}
	for i := range len(at) + 1 {
		if i < len(at) && at[i] != '/' {
			continue
		}
		info, err := root.Lstat(at[:i])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w: %s does not exist (check --path)", ErrPathGone, at[:i])
		case err != nil:
			return err
		case info.Mode().Type() == fs.ModeSymlink:
			return fmt.Errorf("%w: %s is a symbolic link", ErrPathGone, at[:i])
		case !info.IsDir():
			return fmt.Errorf("%w: %s is a file", ErrPathGone, at[:i])
		}
	}
	if _, err := root.Lstat(at + "/.git"); err == nil {
		return excluded(at, errors.New("a repository of its own"), "commit the files themselves")
	}
	return nil
}

// submodules returns the paths that .gitmodules names. Where one was never checked out, nothing else in a work tree tells it from an empty
// directory.
func submodules(root *os.Root) ([]string, error) {
	const most = 1 << 20
	info, err := root.Lstat(".gitmodules")
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil //nolint:nilerr // without such a file there are none; what else it is, is told where the files are read
	}
	if info.Size() > most {
		return nil, fmt.Errorf(".gitmodules: is larger than %d MiB", most>>20)
	}
	data, err := root.ReadFile(".gitmodules")
	if err != nil {
		return nil, err
	}
	modules := config.NewModules()
	if err := modules.Unmarshal(data); err != nil {
		return nil, fmt.Errorf(".gitmodules: %w", err)
	}
	var out []string
	for _, m := range modules.Submodules {
		out = append(out, m.Path)
	}
	return slices.Sorted(slices.Values(out)), nil
}

// File returns one file of this machine as a tree of its own, under the rules of Dir. Path does not count.
func File(name string, o Options) (Snapshot, error) {
	chosen, err := newChoice(o)
	if err != nil {
		return Snapshot{}, err
	}
	dir, base := filepath.Split(name)
	root, err := os.OpenRoot(cmp.Or(dir, "."))
	if err != nil {
		return Snapshot{}, fmt.Errorf("read file: %w", err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	info, err := root.Lstat(base)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read file: %w", err)
	}
	one := &single{plain{root: root, below: "."}, fs.FileInfoToDirEntry(info)}
	tree, err := build(one, entry{name: ".", dir: true}, chosen, nil)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read file: %w", err)
	}
	return Snapshot{Tree: tree}, nil
}

// single is a directory of which one file is seen.
type single struct {
	plain
	file fs.DirEntry
}

// list implements shelf.
func (s *single) list(string, entry) ([]entry, error) {
	return []entry{s.entry(s.file.Name(), s.file)}, nil
}
