package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/declared"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/source"
)

// LoadOr turns a tree without a fleet into an exit code, and shows its problems on stderr. Warnings of a fleet are validate's to show.
func (k *Kustomize) LoadOr(ctx context.Context, stderr io.Writer, o declared.Origin) (*fleet.Fleet, error) {
	f, problems, err := k.Load(ctx, o)
	if f == nil {
		for _, p := range problems {
			Say(stderr, report.Line(p))
		}
	}
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, Exit{Code: ExitInvalid}
	}
	return f, nil
}

// Find reads what an argument names: REPO@REV, a directory, one file, or - for standard input; without one --repo, else the working
// directory.
func (g *GitFlags) Find(ctx context.Context, args []string) (declared.Origin, error) {
	if len(args) > 0 && g.all != nil && FromVariable(g.all.Lookup("repo")) {
		g.Options.Repo = "" // the argument is about something else
	}
	switch {
	case g.Options.Repo != "" && len(args) > 0:
		return declared.Origin{}, Usage("--repo and %s: give one of the two", args[0])
	case g.Options.Repo != "":
		return g.head(ctx)
	case g.Options.Ref != "":
		return declared.Origin{}, Usage("--ref needs --repo: without --repo, write REPO@REV")
	case len(args) == 0:
		return g.here()
	}
	if args[0] == "-" {
		return g.stdin()
	}
	return g.named(ctx, args[0])
}

// stdin is a tree of what standard input holds.
func (g *GitFlags) stdin() (declared.Origin, error) {
	if err := g.plain("-"); err != nil {
		return declared.Origin{}, err
	}
	if g.Options.Path != "" {
		return declared.Origin{}, Usage("--path: - is standard input, and has no directories")
	}
	s, err := source.Stream(os.Stdin, g.Options)
	return declared.Origin{Snapshot: s, Name: "<stdin>", Single: true}, err
}

// head is what --repo and --ref name.
func (g *GitFlags) head(ctx context.Context) (declared.Origin, error) {
	s, err := g.Open()
	if err != nil {
		return declared.Origin{}, err
	}
	defer s.Close() //nolint:errcheck // a snapshot is in memory
	snap, err := s.Poll(ctx)
	return declared.Origin{Snapshot: snap, Dir: g.Dir()}, err
}

func (g *GitFlags) named(ctx context.Context, arg string) (declared.Origin, error) {
	if info, err := os.Stat(arg); err == nil && !info.IsDir() {
		return g.file(arg)
	} else if err == nil || !strings.Contains(arg, "@") {
		return g.directory(arg)
	}
	at := strings.LastIndex(arg, "@")
	if rev := arg[at+1:]; strings.Contains(rev, ":") && !strings.HasPrefix(rev, "semver:") { // no name holds a colon
		return declared.Origin{}, Usage("%s: the revision is missing: write %s@REV", arg, arg)
	}
	g.Options.Repo, g.Options.Ref = arg[:at], arg[at+1:]
	s, err := g.Open()
	if err != nil {
		return declared.Origin{}, err
	}
	defer s.Close() //nolint:errcheck // a snapshot is in memory
	snap, err := s.At(ctx, arg[at+1:])
	return declared.Origin{Snapshot: snap, Dir: g.Dir()}, err
}

// Dir is --path as a prefix of the names of files.
func (g *GitFlags) Dir() string { return prefix(g.Options.Path) }

// prefix is what a path adds to the names below it: nothing, where it is the place itself.
func prefix(dir string) string {
	if dir = filepath.ToSlash(filepath.Clean(dir)); dir != "." {
		return dir
	}
	return ""
}

func (g *GitFlags) directory(dir string) (declared.Origin, error) {
	if err := g.plain(dir); err != nil {
		return declared.Origin{}, err
	}
	if strings.Contains(dir, "://") {
		return declared.Origin{}, Usage("%s: the revision is missing: write REPO@REV", dir)
	}
	if !fs.ValidPath(cmp.Or(g.Dir(), ".")) {
		return declared.Origin{}, Usage("--path %q: must be relative to %s and stay inside it", g.Options.Path, dir)
	}
	o := g.Options
	o.Path = g.Dir()
	s, err := source.Dir(dir, o)
	if errors.Is(err, source.ErrPathGone) {
		err = fmt.Errorf("--path: %w", err)
	}
	return declared.Origin{Snapshot: s, Dir: prefix(filepath.Join(dir, g.Options.Path))}, err
}

// here is the working directory, which people may not have meant: an error names it.
func (g *GitFlags) here() (declared.Origin, error) {
	o, err := g.directory(".")
	if wd, unknown := os.Getwd(); unknown == nil && errors.Is(err, source.ErrTooLarge) {
		err = fmt.Errorf("without PATH linkwright reads the working directory %s: give the directory of your declarations as PATH: %w", wd, err)
	}
	return o, err
}

// file is a tree of one file alone: what it refers to must be in it.
func (g *GitFlags) file(name string) (declared.Origin, error) {
	if err := g.plain(name); err != nil {
		return declared.Origin{}, err
	}
	if g.Options.Path != "" {
		return declared.Origin{}, Usage("--path: %s is a file", name)
	}
	s, err := source.File(name, g.Options)
	return declared.Origin{Snapshot: s, Dir: prefix(filepath.Dir(name)), Single: true}, err
}
