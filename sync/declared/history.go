package declared

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/source"
)

// mayFollow returns the rule of what people allow: why next may not be applied where last was, with allowed (empty: nothing is); nil: it may.
// follows tells of two commits whether the first is the second, or descends from it.
//
//	next is last, or descends from it                    yes
//	next is what is allowed                              yes
//	next descends from it, and last is or does, too      no: something that descends from it was applied, and next leaves it again
//	next descends from it, and last does not             yes
//	anything else, or not known                          no
func mayFollow(next, last, allowed api.Commit, follows func(commit, last api.Commit) error) error {
	why := follows(next, last)
	switch {
	case why == nil || allowed == "":
		return why
	case next == allowed:
		return nil
	case last == allowed:
		return noLongerAllowed(why, allowed)
	}
	if follows(next, allowed) != nil {
		return why
	}
	switch err := follows(last, allowed); {
	case errors.Is(err, source.ErrNonFastForward):
		return nil
	case err == nil:
		return noLongerAllowed(why, allowed)
	default:
		return fmt.Errorf("%w; linkwright cannot check whether %s was applied after %s, which is allowed: %w", why, last.Short(), allowed.Short(), err)
	}
}

// mayApplyUnknown returns why a commit may not be applied while nobody knows what was applied before: it must itself be allowed. What descends from
// that may not: whether the allowance is spent is not known either.
func (d *Branch) mayApplyUnknown(ctx context.Context, commit api.Commit, allowed []api.Commit) error {
	for _, one := range allowed {
		one, err := d.fullHash(ctx, one, commit)
		if err != nil {
			return err
		}
		if one == commit {
			return nil
		}
	}
	return fmt.Errorf("linkwright cannot check whether %s descends from it (make a cluster reachable that carries it, or: %s)", commit, d.allow(commit))
}

// allow returns the command that allows a commit.
func (d *Branch) allow(commit api.Commit) string {
	return d.In.Command("allow non-fast-forward " + string(commit))
}

// rewritten says that a commit does not follow the last one, and how people allow it.
type rewritten struct {
	message string
	cause   error
}

func (r rewritten) Error() string { return r.message }

func (r rewritten) Unwrap() error { return r.cause }

// allowable says why a commit does not follow the last one, and how people allow it.
func (d *Branch) allowable(why error, commit, last api.Commit) error {
	var what string
	switch {
	case why == nil:
		return nil
	case errors.Is(why, source.ErrNonFastForward):
		what = fmt.Sprintf("revision %s does not descend from %s", commit.Short(), last.Short())
	case errors.Is(why, source.ErrUnknownCommit):
		what = fmt.Sprintf("the repository no longer has revision %s, so linkwright cannot check whether %s descends from it", last.Short(), commit.Short())
	default:
		return fmt.Errorf("linkwright cannot check whether revision %s descends from %s: %w", commit.Short(), last.Short(), why)
	}
	return rewritten{fmt.Sprintf("Git history was rewritten: %s (to allow it: %s)", what, d.allow(commit)), why}
}

func noLongerAllowed(why error, allowed api.Commit) error {
	return fmt.Errorf("%w; the allowed commit %s was for an earlier revision", why, allowed.Short())
}

// fullHash finds a commit that is allowed among those that are asked about, else in the repository: with a flag people may give its
// first digits. A branch or a tag that is called like them is not asked: who may push is not who may allow.
func (d *Branch) fullHash(ctx context.Context, allowed api.Commit, among ...api.Commit) (api.Commit, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.fullHashes[allowed]; known != "" {
		return known, nil
	}
	if len(allowed) == 40 {
		return allowed, nil
	}
	found := api.Commit("")
	for _, c := range among {
		if strings.HasPrefix(string(c), string(allowed)) {
			found = c
		}
	}
	if found == "" {
		s, err := d.Source.At(ctx, "commit:"+string(allowed))
		if err != nil {
			return "", fmt.Errorf("--allow-non-fast-forward %s: %w", allowed, err)
		}
		found = s.Commit
	}
	if d.fullHashes == nil {
		d.fullHashes = map[api.Commit]api.Commit{}
	}
	d.fullHashes[allowed] = found
	return found, nil
}
