package cli

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// local makes of a directory of this machine the repository that holds it: its absolute root, and in front of --path the way
// from there. What is no directory stays as it is, to be judged as an address, unless it is written as a path.
func (g *GitFlags) local() error {
	o := &g.Options
	if !g.Here && !o.Allow.File {
		return nil
	}
	if strings.HasPrefix(o.Repo, "file://") {
		o.Allow.File = true
		return nil
	}
	info, err := os.Stat(o.Repo)
	switch address := strings.Contains(o.Repo, ":"); {
	case err != nil && !address && o.Repo != "" && !o.Allow.File: // with it, a directory may come back, as a server may
		return Usage("--repo %s: no such directory, and no address of a repository", o.Repo)
	case err != nil || !info.IsDir():
		return nil //nolint:nilerr // an address is judged later
	}
	dir, err := filepath.Abs(o.Repo)
	if err != nil {
		return Usage("--repo %s: %w", o.Repo, err)
	}
	root, below := repositoryOf(dir)
	o.Repo, o.Allow.File = root, true
	if below != "" {
		o.Path = path.Join(below, filepath.ToSlash(o.Path))
	}
	return nil
}

// repositoryOf gives the root of the repository in which a directory lies, and the way down from there; a directory in none is
// its own root.
func repositoryOf(dir string) (root, below string) {
	for at := dir; ; at = filepath.Dir(at) {
		if isRepository(at) {
			if way, err := filepath.Rel(at, dir); err == nil && way != "." {
				return at, filepath.ToSlash(way)
			}
			return at, ""
		}
		if at == filepath.Dir(at) {
			return dir, ""
		}
	}
}

// isRepository says whether a directory is the root of a work tree, or a bare repository.
func isRepository(dir string) bool {
	exists := func(name string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	return exists(".git") || exists("HEAD") && exists("objects") && exists("refs")
}
