package cli

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/sync/source"
)

// GitFlags say where the declarations are.
type GitFlags struct {
	Options source.Options
	auth    gitAuth
	verify  verifyFlags
	all     *pflag.FlagSet // the command's
	Here    bool           // a person runs the command in a checkout: a directory needs no flag
}

// Add adds the flags that say which repository it is, and how it is read.
func (g *GitFlags) Add(f *pflag.FlagSet) {
	g.all = f
	Group(f, groupRepository, g.addRepository)
	Group(f, groupCredentials, g.auth.add)
	Group(f, GroupTrust, g.verify.add)
}

func (g *GitFlags) addRepository(f *pflag.FlagSet) {
	o := &g.Options
	f.StringVar(&o.Repo, "repo", "", "Git repository: https://…, ssh://… or git@host:path; with --allow-insecure-repo also http://… and git://…, with --allow-file-repo also a directory of this machine")
	f.StringVar(&o.Ref, "ref", "", "branch, tag, refs/…, commit or semver:RANGE of tags to follow (default: the remote's HEAD)")
	f.StringVar(&o.Path, "path", "", "directory of the declarations inside the repository (default: all of it)")
	f.StringArrayVar(&o.Include, "include", nil, "read only files that match this pattern, in .gitignore's syntax, below --path (repeatable)")
	f.StringArrayVar(&o.Exclude, "exclude", nil, "do not read files that match this pattern, in .gitignore's syntax, below --path (repeatable)")
	f.StringVar(&o.Cache, "git-cache", "", "directory that keeps what was fetched; you may delete it at any time (default: a temporary one)")
	o.Timeout = source.DefaultTimeout
	f.Var(&Span{At: &o.Timeout}, "git-timeout", "time limit of one poll")
	f.BoolVar(&o.Allow.Insecure, "allow-insecure-repo", false, "let --repo be http:// or git:// of another machine: anybody on the network path can then change what is applied")
	f.BoolVar(&o.Allow.File, "allow-file-repo", false, "let --repo be a directory of this machine, for demos and tests; diff, render, status and validate do not need it")
}

// plain refuses what says nothing about a directory or a file: a person who sets it expects that it counts.
func (g *GitFlags) plain(name string) (err error) {
	if err := g.verify.plain(name); err != nil {
		return err
	}
	if g.all == nil {
		return nil
	}
	g.all.Visit(func(flag *pflag.Flag) {
		if err == nil && gitGroup(flag) {
			err = Usage("--%s needs a Git repository, and %s is only files: use --repo, or write REPO@REV", flag.Name, name)
		}
	})
	return err
}

// Keys are the credentials that the flags name, without those of an ssh agent: what a Secret holds for a process that runs elsewhere.
func (g *GitFlags) Keys(ctx context.Context) (source.Keys, error) {
	switch {
	case g.auth.agent:
		return nil, Usage("--git-ssh-agent: linkwright has no agent where it runs: give --git-ssh-key-file")
	case g.auth.secret != "":
		return nil, Usage("--git-secret %s: leave it out; this command writes the Secret itself", g.auth.secret)
	}
	keys, err := g.auth.keys(ctx)
	if err == nil && g.auth.proxy != "" {
		keys[source.KeyProxy] = []byte(g.auth.proxy)
	}
	return keys, err
}

// OpenWith is Open with these credentials instead of those that the flags name.
func (g *GitFlags) OpenWith(keys source.Keys) (*source.Source, error) {
	return g.open(func(o *source.Options) { use(o, keys) })
}

// OpenRevisions is OpenWith for the revisions alone: what it gives reads no file.
func (g *GitFlags) OpenRevisions(keys source.Keys) (*source.Source, error) {
	return g.open(func(o *source.Options) {
		use(o, keys)
		o.Path, o.Include, o.Exclude = "", nil, []string{"*"}
	})
}

func use(o *source.Options, keys source.Keys) {
	o.Keys = func(context.Context) (source.Keys, error) { return keys, nil }
}

// Open gives the repository that the flags name, or says which flag is wrong. It reads nothing of it.
func (g *GitFlags) Open() (*source.Source, error) { return g.open(func(*source.Options) {}) }

func (g *GitFlags) open(change func(*source.Options)) (*source.Source, error) {
	if g.Options.Repo == "" {
		return nil, Usage("--repo is missing: give the Git repository with the declarations")
	}
	if err := g.local(); err != nil {
		return nil, err
	}
	o, err := g.auth.options(g.Options)
	if err != nil {
		return nil, err
	}
	o, err = g.verify.options(o)
	if err != nil {
		return nil, err
	}
	change(&o)
	s, err := source.New(o)
	if err != nil {
		return nil, Exit{Code: ExitUsage, Err: err}
	}
	return s, nil
}
