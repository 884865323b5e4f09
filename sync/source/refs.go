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

// commitPrefix is what a revision begins with that is digits of a commit, and no name.
const commitPrefix = "commit:"

// target is what to fetch, and which commit to take out of it.
type target struct {
	want    []plumbing.Hash
	commit  string          // digits of its hash: all 40, or the first ones
	history bool            // all that want reaches, else its tips alone
	tips    []plumbing.Hash // what to look through where the server does not give want
	ref     string          // by which it was named, in full; empty: by its hash
}

// names reports whether the target is this commit.
func (t target) names(c api.Commit) bool { return strings.HasPrefix(string(c), t.commit) }

// find reads a revision as a person wrote it:
//
//	""  HEAD         what the remote's HEAD names
//	refs/pull/7/head that ref
//	main             a branch or a tag; where it is both, neither
//	1f3a             a commit, where no branch or tag is called so
//	commit:1f3a      a commit, whatever is called so
//	40 digits        that commit and nothing else
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
	digits, byHash := strings.CutPrefix(rev, commitPrefix)
	if !byHash && !plumbing.IsHash(rev) {
		if t, ok, err := refOf(refs, rev); ok || err != nil {
			return t, err
		}
	}
	if t, ok := tipOf(refs, strings.ToLower(digits)); ok {
		return t, nil
	}
	return target{}, ErrRefGone
}

// refOf finds a ref by its name. Whoever may push a tag called like the branch that is followed, or the other way round, must not choose
// what is read.
func refOf(refs *packp.AdvRefs, rev string) (target, bool, error) {
	if strings.HasPrefix(rev, "refs/") {
		t, ok := tip(refs, rev)
		return t, ok, nil
	}
	branch, isBranch := tip(refs, "refs/heads/"+rev)
	tag, isTag := tip(refs, "refs/tags/"+rev)
	switch {
	case isBranch && isTag:
		return target{}, false, fmt.Errorf("it is a branch and a tag: name %s or %s", branch.ref, tag.ref)
	case isTag:
		return tag, true, nil
	}
	return branch, isBranch, nil
}

// tip returns what one ref names. Of an annotated tag the tag is asked for, since a server gives only what it advertised.
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

// tipOf returns a commit by its digits: the tip of a ref, else one that the server gives by hash, else somewhere in the history of all branches and
// tags. (The last is what the protocol leaves: an abbreviated hash cannot be asked for.) Of a server that does not say that it gives any commit, one
// is asked for all the same, and the history if it gives none: over http, Git's own does. On a connection it would hang up, in the middle of what we
// say; there the history is asked for at once (see visit).
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
