package enroll

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// checkout is a directory of declarations in a work tree of Git. It is changed by the git program of the person who runs the command, so
// their hooks, signatures and logins count.
type checkout struct {
	dir     string // the directory of the declarations
	path    string // its path in the repository; empty: the root
	branch  string
	remote  string   // the name of the remote that the branch is pushed to
	repo    string   // the address of the repository, without a login; empty: there is none
	ignored []string // files and directories in dir that .gitignore keeps out of Git, with a path from there
}

// openCheckout finds out where a directory belongs. It changes nothing.
func openCheckout(ctx context.Context, dir string) (checkout, error) {
	c := checkout{dir: dir}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return c, fmt.Errorf("%s is not a directory: clone the repository of the declarations first", dir)
	}
	path, err := c.git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return c, fmt.Errorf("%s: %w: name a directory in a checkout of the repository", dir, err)
	}
	c.path = strings.TrimSuffix(path, "/")
	if err = c.readIgnored(ctx); err != nil {
		return c, err
	}
	if c.branch, err = c.git(ctx, "symbolic-ref", "--quiet", "--short", "HEAD"); err != nil {
		return c, fmt.Errorf("%s: no branch is checked out: finish a rebase that is under way, or check out the branch that linkwright is to follow", dir)
	}
	if c.remote, err = c.git(ctx, "config", "branch."+c.branch+".remote"); err != nil {
		c.remote = "origin" // a branch that was never pushed
	}
	if address, err := c.git(ctx, "remote", "get-url", c.remote); err == nil {
		c.repo = anonymous(address)
	}
	return c, nil
}

// readIgnored finds what linkwright will not see in the repository.
func (c *checkout) readIgnored(ctx context.Context) error {
	list, err := c.git(ctx, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
	for name := range strings.SplitSeq(list, "\x00") {
		switch name = strings.TrimSuffix(name, "/"); name {
		case "":
		case ".":
			return fmt.Errorf("%s: .gitignore names the directory, so linkwright would find no declarations there: take it out of .gitignore, or name another directory", c.dir)
		default:
			c.ignored = append(c.ignored, name)
		}
	}
	return err
}

// anonymous takes user and password out of an address of http or https. Other addresses need their user.
func anonymous(address string) string {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Scheme, "http") {
		return address
	}
	u.User = nil
	return u.String()
}

// mayCommit reports why git could not commit, and what of the declarations is not committed.
func (c checkout) mayCommit(ctx context.Context) (uncommitted []string, err error) {
	if _, err := c.git(ctx, "var", "GIT_COMMITTER_IDENT"); err != nil {
		return nil, fmt.Errorf("%s: git cannot commit here: %w", c.dir, err)
	}
	status, err := c.git(ctx, "status", "--porcelain", "-z", "--untracked-files=all", "--", ".")
	if err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(status, "\x00") {
		if ext := filepath.Ext(entry); len(entry) > 3 && (ext == ".yaml" || ext == ".yml") {
			uncommitted = append(uncommitted, entry[3:]) // two letters and a blank stand before the name
		}
	}
	return uncommitted, nil
}

// follows says why a commit on the branch would not follow a revision of the repository; none: nothing was pushed yet. unpushed: the branch is ahead.
func (c checkout) follows(ctx context.Context, revision string) (unpushed bool, err error) {
	head, err := c.git(ctx, "rev-parse", "--quiet", "--verify", "HEAD")
	switch {
	case revision == "":
		return err == nil, nil
	case err == nil && head == revision:
		return false, nil
	case err == nil:
		_, err = c.git(ctx, "merge-base", "--is-ancestor", revision, head)
	}
	if err != nil {
		return false, fmt.Errorf("%s: the checkout does not have revision %.12s, which the repository has: run git pull there, then this command again", c.dir, revision)
	}
	return true, nil
}

// free says why these files cannot be committed: one is there already, or in the branch, Git ignores one, or a merge is under way.
func (c checkout) free(ctx context.Context, files map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		tracked, err := c.git(ctx, "ls-files", "--", name)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(filepath.Join(c.dir, name)); err == nil || tracked != "" {
			return fmt.Errorf("%s exists, and does not declare what is missing: rename it, or declare it there", filepath.Join(c.dir, name))
		}
		if _, err := c.git(ctx, "add", "--dry-run", "--ignore-missing", "--", name); err != nil {
			return fmt.Errorf("%s cannot be committed: take it out of .gitignore if that names it: %w", filepath.Join(c.dir, name), err)
		}
	}
	if len(files) == 0 {
		return nil
	}
	for _, head := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"} {
		if _, err := c.git(ctx, "rev-parse", "--quiet", "--verify", head); err == nil {
			return fmt.Errorf("%s: a merge, cherry-pick or revert is under way (Git has %s): finish it, then run this command again", c.dir, head)
		}
	}
	return nil
}

// commit adds files to the branch, and nothing else that is changed in the work tree. If git refuses, the files are taken away again. A Ctrl-C in
// the terminal ends git, too: it removes its locks, and the branch has the commit or not. With it, the commit stays.
func (c checkout) commit(ctx context.Context, files map[string]string, subject string) (hash string, err error) {
	ctx = context.WithoutCancel(ctx) // a commit that has begun is finished
	names := slices.Sorted(maps.Keys(files))
	before, _ := c.git(ctx, "rev-parse", "--quiet", "--verify", "HEAD") // fails before the first commit
	made, err := c.create(files, names)
	if err == nil {
		_, err = c.git(ctx, append([]string{"add", "--"}, names...)...)
	}
	if err == nil {
		_, err = c.git(ctx, append([]string{"commit", "--quiet", "--message", subject, "--only", "--"}, names...)...)
	}
	if now, gone := c.git(ctx, "rev-parse", "--quiet", "--verify", "HEAD"); err != nil && gone == nil && now != before {
		return now, nil
	}
	if err != nil {
		return "", fmt.Errorf("commit %s: %w", strings.Join(names, ", "), errors.Join(err, c.takeBack(ctx, made)))
	}
	return c.git(ctx, "rev-parse", "HEAD")
}

// create writes files that are not there, and returns those that it made.
func (c checkout) create(files map[string]string, names []string) (made []string, err error) {
	for _, name := range names {
		at := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil { //nolint:gosec // a work tree is for everybody who may read it
			return made, err
		}
		f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // likewise
		if err != nil {
			return made, err
		}
		made = append(made, name)
		_, err = f.WriteString(files[name])
		if err = errors.Join(err, f.Close()); err != nil {
			return made, err
		}
	}
	return made, nil
}

// takeBack removes files that create made and git did not commit, so that the command may be run again.
func (c checkout) takeBack(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	_, err := c.git(ctx, append([]string{"rm", "--quiet", "--force", "--ignore-unmatch", "--cached", "--"}, names...)...)
	for _, name := range names {
		if gone := os.Remove(filepath.Join(c.dir, name)); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		if of := filepath.Dir(name); of != "." {
			_ = os.Remove(filepath.Join(c.dir, of)) // fails if it has other files
		}
	}
	return err
}

// git runs git in the directory, and returns what it printed.
func (c checkout) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // the arguments are this file's
	cmd.Dir = c.dir
	out, err := cmd.Output()
	var failed *exec.ExitError
	switch text := ""; {
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("the program git is not in your PATH: install it")
	case errors.As(err, &failed):
		if text = strings.TrimSpace(string(failed.Stderr)); text == "" {
			text = failed.Error()
		}
		return "", fmt.Errorf("git %s: %s", args[0], text)
	}
	return strings.TrimSuffix(string(out), "\n"), err
}
