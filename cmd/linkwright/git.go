package main

import (
	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/sync/source"
)

// gitFlags say where the declarations are.
type gitFlags struct {
	options source.Options
}

func (g *gitFlags) add(f *pflag.FlagSet) {
	o := &g.options
	f.StringVar(&o.Repo, "repo", "", "Git repository: https://…, ssh://… or git@host:path")
	f.StringVar(&o.Ref, "ref", "", "branch, tag, refs/…, commit or semver:RANGE of tags to follow (default: the remote's HEAD)")
	f.StringVar(&o.Path, "path", "", "directory of the declarations inside the repository (default: all of it)")
	f.StringArrayVar(&o.Include, "include", nil, "read only what this pattern chooses, in .gitignore's syntax, below --path (repeatable)")
	f.StringArrayVar(&o.Exclude, "exclude", nil, "do not read what this pattern names, in .gitignore's syntax, below --path (repeatable)")
	f.StringVar(&o.Cache, "git-cache", "", "directory that keeps what was fetched; may be deleted at any time (default: a temporary one)")
	f.StringVar(&o.Auth.Username, "git-username", "", "user for --git-password-file (default: git)")
	f.StringVar(&o.Auth.PasswordFile, "git-password-file", "", "file with the password or access token for https, sent as basic authentication")
	f.StringVar(&o.Auth.TokenFile, "git-token-file", "", "file with a bearer token for https")
	f.StringVar(&o.Auth.SSHKeyFile, "git-ssh-key-file", "", "file with the private key for ssh, without a passphrase")
	f.StringVar(&o.Auth.KnownHostsFile, "git-known-hosts-file", "", "known_hosts file; a server that is not in it is refused")
	f.StringVar(&o.CAFile, "git-ca-file", "", "file with PEM certificates to trust for https instead of the system's")
	f.DurationVar(&o.Timeout, "git-timeout", source.DefaultTimeout, "bound of one poll")
	f.BoolVar(&o.AllowFile, "allow-file-repo", false, "let --repo be a directory of this machine: for demos and tests")
}

func (g *gitFlags) open() (*source.Source, error) {
	if g.options.Repo == "" {
		return nil, usage("--repo is missing: the Git repository that declares the fleet")
	}
	s, err := source.New(g.options)
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	return s, nil
}
