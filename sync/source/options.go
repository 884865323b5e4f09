package source

import (
	"context"
	"time"
)

// Options say where Git is and who we are there.
type Options struct {
	// Repo is https://, ssh:// or git@host:path; with Allow.File also file:// or an absolute path; http:// and git:// only to
	// a loopback host, else with Allow.Insecure.
	Repo string
	// Ref is a branch, a tag, a full name (refs/…), a commit, or semver:RANGE for the highest version among the tags; empty
	// is the branch that the remote's HEAD names.
	Ref string
	// Path is the directory that becomes the root of Tree; empty is the whole repository.
	Path string
	// Include and Exclude are patterns in the syntax of .gitignore, relative to Path. Where there are any, only what Include
	// chooses is read, and nothing that Exclude names: it may be a link, a submodule, or larger than the bounds.
	Include, Exclude []string
	// Ignored are files and directories, relative to Path, that Dir leaves out because Git does not have them. Names are no patterns.
	Ignored []string
	// Cache is the directory of the store, which several Sources and processes may share; empty is a temporary one, which
	// Close removes. It may be deleted at any time.
	Cache string
	// Keys gives the credentials. It is called again for every visit, so that a rotated one needs no restart; nil gives none. What the URL holds
	// counts where they are silent.
	Keys func(context.Context) (Keys, error)
	// Flags are how the caller's people supply what is missing: told in errors.
	Flags Flags
	// Agent is the socket of an ssh agent that signs where Keys have no identity: for the command line.
	Agent string
	// Proxy is http://, https:// or socks5://, with credentials if it wants some, for https, http and ssh; empty is the
	// environment's, for https and http alone.
	Proxy string
	// Hosts are shared by all that may visit the same hosts; nil is one for this Source.
	Hosts *Hosts
	// Trust says whose signatures are wanted; empty wants none.
	Trust Trust
	// Timeout bounds one Poll or At; zero is DefaultTimeout.
	Timeout time.Duration
	// Allow is what is refused otherwise.
	Allow Allow
}

// Allow says what may be read that is refused otherwise.
type Allow struct {
	// File takes repositories on this machine. They are read by the program git-upload-pack, which must be
	// installed: for demos, tests and the command line, not for a daemon.
	File bool
	// Insecure lets declarations, and with http credentials, cross a network in the clear: http:// and git:// to
	// hosts beyond loopback.
	Insecure bool
}

// Flags are how people supply a key, or allow what an option allows, by its name: errors tell it beside the name, since only linkwright's caller
// knows it.
type Flags map[string]string

// The names in Flags that are no names of Keys.
const (
	FlagPassphrase    = "passphrase" // the key password, of ssh
	FlagAllowFile     = "AllowFile"
	FlagAllowInsecure = "AllowInsecure"
)

// key returns a key's name, and how to supply it.
func (f Flags) key(name string) string {
	if flag := f[name]; flag != "" {
		return name + " (" + flag + ")"
	}
	return name
}

// passphrase returns the key password, of ssh.
func (f Flags) passphrase() string { return Flags{KeyPassword: f[FlagPassphrase]}.key(KeyPassword) }

// or ends a list of what to do by what a flag allows.
func (f Flags) or(name string) string {
	if flag := f[name]; flag != "" {
		return ", or allow it with " + flag
	}
	return ""
}
