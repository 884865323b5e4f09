package main

import (
	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/sync/source"
)

// gitFlags say where the declarations are.
type gitFlags struct {
	options source.Options
	auth    gitAuth
	verify  verifyFlags
	all     *pflag.FlagSet // the command's
	here    bool           // a person runs the command in a checkout: a directory needs no flag
}

func (g *gitFlags) add(f *pflag.FlagSet) {
	g.all = f
	group(f, groupRepository, g.addRepository)
	group(f, groupCredentials, g.auth.add)
	group(f, groupTrust, g.verify.add)
}

func (g *gitFlags) addRepository(f *pflag.FlagSet) {
	o := &g.options
	f.StringVar(&o.Repo, "repo", "", "Git repository: https://…, ssh://… or git@host:path; by --allow-insecure-repo http://… and git://…, by --allow-file-repo a directory of this machine")
	f.StringVar(&o.Ref, "ref", "", "branch, tag, refs/…, commit or semver:RANGE of tags to follow (default: the remote's HEAD)")
	f.StringVar(&o.Path, "path", "", "directory of the declarations inside the repository (default: all of it)")
	f.StringArrayVar(&o.Include, "include", nil, "read only what this pattern chooses, in .gitignore's syntax, below --path (repeatable)")
	f.StringArrayVar(&o.Exclude, "exclude", nil, "do not read what this pattern names, in .gitignore's syntax, below --path (repeatable)")
	f.StringVar(&o.Cache, "git-cache", "", "directory that keeps what was fetched; may be deleted at any time (default: a temporary one)")
	o.Timeout = source.DefaultTimeout
	f.Var(&span{at: &o.Timeout}, "git-timeout", "bound of one poll")
	f.BoolVar(&o.AllowInsecure, "allow-insecure-repo", false, "let --repo be http:// or git:// of another machine: anybody on the way can then change what is applied")
	f.BoolVar(&o.AllowFile, "allow-file-repo", false, "let --repo be a directory of this machine, for demos and tests; diff, render, status and validate do without")
}

// plain refuses what says nothing about a directory or a file: whoever sets it believes that it counts.
func (g *gitFlags) plain(name string) (err error) {
	if err := g.verify.plain(name); err != nil {
		return err
	}
	if g.all == nil {
		return nil
	}
	g.all.Visit(func(flag *pflag.Flag) {
		if err == nil && gitGroup(flag) {
			err = usage("--%s needs a repository, and %s is a plain one of files: use --repo, or write REPO@REV", flag.Name, name)
		}
	})
	return err
}

func (g *gitFlags) open() (*source.Source, error) {
	if g.options.Repo == "" {
		return nil, usage("--repo is missing: the Git repository that declares the fleet")
	}
	g.local()
	o, err := g.auth.options(g.options)
	if err != nil {
		return nil, err
	}
	o, err = g.verify.options(o)
	if err != nil {
		return nil, err
	}
	s, err := source.New(o)
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	return s, nil
}
