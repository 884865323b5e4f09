//go:build unix

package source_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/linkwright/linkwright/sync/source"
)

// What others put into a cache that they may write to leads nowhere.
func TestPlantedLinks(t *testing.T) {
	r := newRepo(t)
	cache := t.TempDir()
	o := source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Cache: cache}
	first := open(t, o)
	poll(t, first)
	dir := stored(t, cache)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	aside := filepath.Join(t.TempDir(), "aside")
	for name, plant := range map[string]func(victim string) error{
		"a file in the store": func(victim string) error { return os.Symlink(victim, filepath.Join(dir, "shallow.new")) },
		"the store":           func(string) error { return errors.Join(os.Rename(dir, aside), os.Symlink(aside, dir)) },
		"a store that all may write to": func(string) error {
			return os.Chmod(dir, 0o777) //nolint:gosec // that is the point
		},
	} {
		t.Run(name, func(t *testing.T) {
			victim := keep(t, filepath.Join(t.TempDir(), "victim"), "precious")
			s := open(t, o)
			if err := plant(victim); err != nil {
				t.Fatal(err)
			}
			r.write("fleet/east.yaml", name)
			r.push(name)
			same(t, r, s)
			if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
				t.Errorf("the file that a link led to holds %q, %v", text, err)
			}
			if info, err := os.Lstat(dir); err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
				t.Errorf("the store is %v, %v", info, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A lock that is a link to another file is not taken.
func TestPlantedLock(t *testing.T) {
	r := newRepo(t)
	cache := t.TempDir()
	o := source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Cache: cache}
	s := open(t, o)
	poll(t, s)
	dir := stored(t, cache)
	remove(t, dir+".lock")
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.Symlink(victim, dir+".lock"); err != nil {
		t.Fatal(err)
	}
	r.write("fleet/east.yaml", "changed")
	r.push("changed")
	_, err := s.Poll(t.Context())
	refuse(t, err, dir+".lock", "symbolic link")
	if _, err := os.Lstat(victim); err == nil {
		t.Error("a file was made where the link leads")
	}
}
