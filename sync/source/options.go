package source

import "time"

// Options say where Git is and who we are there. Files of credentials are read anew for every Poll and At, so that a
// rotated one needs no restart.
type Options struct {
	// Repo is https://, ssh:// or git@host:path; with AllowFile also file:// or an absolute path; http:// only to a
	// loopback host, else with AllowInsecureHTTP. Proxies come from the environment, for http and https alone.
	Repo string
	// Ref is a branch, a tag, a full name (refs/…), a commit, or semver:RANGE for the highest version among the tags; empty
	// is the branch that the remote's HEAD names.
	Ref string
	// Path is the directory that becomes the root of Tree; empty is the whole repository.
	Path string
	// Include and Exclude are patterns in the syntax of .gitignore, relative to Path. Where there are any, only what Include
	// chooses is read, and nothing that Exclude names: it may be a link, a submodule, or larger than the bounds.
	Include, Exclude []string
	// Cache is the directory of the store, which several Sources and processes may share; empty is a temporary one, which
	// Close removes. It may be deleted at any time.
	Cache string
	Auth  Auth
	// CAFile holds PEM certificates to trust instead of the system's.
	CAFile string
	// Trust says whose signatures are wanted; empty wants none.
	Trust Trust
	// Timeout bounds one Poll or At; zero is DefaultTimeout.
	Timeout time.Duration
	// AllowFile takes repositories on this machine. They are read by the program git-upload-pack, which must be
	// installed: for demos, tests and the command line, not for a daemon.
	AllowFile bool
	// AllowInsecureHTTP lets credentials and declarations cross a network in the clear: for tests.
	AllowInsecureHTTP bool
}

// Auth is who we are. Of PasswordFile and TokenFile at most one; ssh needs both of its files.
type Auth struct {
	// Username goes with PasswordFile; empty is the URL's, else "git", which most servers take beside a token.
	Username string
	// PasswordFile holds the password of HTTP basic authentication; without it the URL's counts.
	PasswordFile string
	// TokenFile holds a bearer token. GitHub and GitLab want theirs as a password instead.
	TokenFile string
	// SSHKeyFile is a private key without a passphrase.
	SSHKeyFile string
	// KnownHostsFile is OpenSSH's known_hosts; a host that is not in it is refused.
	KnownHostsFile string
}
