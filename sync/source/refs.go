package source

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/linkwright/linkwright/api"
)

// target is what to fetch, and which commit to take out of it.
type target struct {
	want    []plumbing.Hash
	commit  string          // digits of its hash: all 40, or the first ones
	history bool            // all that want reaches, else its tips alone
	tips    []plumbing.Hash // what to look through where the server does not give want
	ref     string          // by which it was named, in full; empty: by its hash
}

// names says that the target is this commit.
func (t target) names(c api.Commit) bool { return strings.HasPrefix(string(c), t.commit) }

// find reads a revision as a person wrote it:
//
//	""  HEAD         what the remote's HEAD names
//	refs/pull/7/head that ref
//	main             a branch, else a tag
//	1f3a, 40 digits  a commit
//	semver:>=1.2 <2  the highest version among the tags that lies within the range
func find(refs *packp.AdvRefs, rev string) (target, error) {
	if rule, ok := strings.CutPrefix(rev, semverPrefix); ok {
		return highest(refs, rule)
	}
	if rev == "" || rev == "HEAD" {
		if refs.Head == nil {
			return target{}, fmt.Errorf("%w: the remote's HEAD names no branch; name one", ErrRefGone)
		}
		return target{want: []plumbing.Hash{*refs.Head}, commit: refs.Head.String(), ref: "HEAD"}, nil
	}
	for _, prefix := range []string{"refs/heads/", "refs/tags/", ""} {
		if strings.HasPrefix(rev, "refs/") == (prefix == "") {
			if t, ok := tip(refs, prefix+rev); ok {
				return t, nil
			}
		}
	}
	if t, ok := tipOf(refs, strings.ToLower(rev)); ok {
		return t, nil
	}
	return target{}, ErrRefGone
}

// tip is what one ref names. Of an annotated tag the tag is asked for, since a server gives only what it advertised.
func tip(refs *packp.AdvRefs, name string) (target, bool) {
	hash, ok := refs.References[name]
	if !ok {
		return target{}, false
	}
	commit := hash
	if peeled, ok := refs.Peeled[name]; ok {
		commit = peeled
	}
	return target{want: []plumbing.Hash{hash}, commit: commit.String(), ref: name}, true
}

// tipOf is a commit by its digits: the tip of a ref, else one that the server gives by hash, else somewhere in the history of
// all branches and tags. (The last is what the protocol leaves: an abbreviated hash cannot be asked for.) Of a server that
// does not say that it gives any commit, one is asked for all the same, and the history if it gives none: over http, Git's own
// does. On a connection it would hang up, in the middle of what we say; there the history is asked for at once (see visit).
func tipOf(refs *packp.AdvRefs, digits string) (target, bool) {
	if !regexp.MustCompile(`^[0-9a-f]{4,40}$`).MatchString(digits) {
		return target{}, false
	}
	var tips []plumbing.Hash
	for name := range refs.References {
		t, _ := tip(refs, name)
		if t.commit == digits {
			t.ref = ""
			return t, true
		}
		if strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/") {
			tips = append(tips, t.want...)
		}
	}
	if len(digits) < 40 {
		return target{want: tips, commit: digits, history: true}, true
	}
	t := target{want: []plumbing.Hash{plumbing.NewHash(digits)}, commit: digits, tips: tips}
	if refs.Capabilities.Supports(capability.AllowReachableSHA1InWant) {
		t.tips = nil
	}
	return t, true
}
