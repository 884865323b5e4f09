package declared

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/source"
)

// past is a history: each commit with its parents. What is not in it is forgotten.
type past map[api.Commit][]api.Commit

func (p past) follows(commit, last api.Commit) error {
	if p[commit] == nil {
		return source.ErrRefGone
	}
	if p[last] == nil {
		return fmt.Errorf("%w: %s", source.ErrUnknownCommit, last)
	}
	if commit == last || slices.ContainsFunc(p[commit], func(parent api.Commit) bool { return p.follows(parent, last) == nil }) {
		return nil
	}
	return fmt.Errorf("%w: %s does not descend from %s", source.ErrNonFastForward, commit, last)
}

// An allowance lets one commit, and what descends from it, be applied after a history without it; and then never again.
func TestMayFollow(t *testing.T) {
	//	1 ─ 2 ─ 3 ─ 4
	//	     ╲
	//	      b ─ c ─ d      other: x ─ y
	//	           ╲
	//	            e
	p := past{
		"1": {}, "2": {"1"}, "3": {"2"}, "4": {"3"},
		"b": {"2"}, "c": {"b"}, "d": {"c"}, "e": {"c"},
		"x": {}, "y": {"x"},
	}
	for _, tt := range []struct {
		what                string
		next, last, allowed api.Commit
		want                bool
	}{
		{"the same", "3", "3", "", true},
		{"on top", "4", "2", "", true},
		{"back", "2", "3", "", false},
		{"sideways", "b", "3", "", false},
		{"another history", "y", "3", "", false},
		{"of a forgotten one", "3", "f", "", false},
		{"on top, whatever is allowed", "4", "3", "x", true},

		{"back, allowed", "2", "4", "2", true},
		{"sideways, allowed", "b", "4", "b", true},
		{"another history, allowed", "y", "4", "y", true},
		{"of a forgotten one, allowed", "3", "f", "3", true},
		{"another one is allowed", "b", "4", "y", false},
		{"one that is not there is allowed", "b", "4", "f", false},

		{"on top of what is allowed", "c", "4", "b", true},
		{"far on top of what is allowed", "d", "4", "b", true},
		{"on top of another history", "y", "4", "x", true},
		{"before what is allowed", "b", "4", "c", false},
		{"beside what is allowed", "d", "4", "e", false},
		{"back beyond it, and on top of it again", "4", "c", "2", false},

		{"what was allowed was applied, and is left again", "2", "b", "b", false},
		{"something on top was, and it is left again", "2", "d", "b", false},
		{"something on top was, and another one comes", "e", "d", "b", false},
		{"back to what was allowed itself", "b", "d", "b", true},
		{"on top of it, after a forgotten one", "c", "f", "b", false},
		{"on top of what was allowed to go back to", "b", "3", "2", false},
	} {
		if err := mayFollow(tt.next, tt.last, tt.allowed, p.follows); (err == nil) != tt.want {
			t.Errorf("%s: mayFollow(%s, %s, %s): got %v, want %t", tt.what, tt.next, tt.last, tt.allowed, err, tt.want)
		}
	}
	down := errors.New("no route")
	if err := mayFollow("d", "4", "b", func(api.Commit, api.Commit) error { return down }); !errors.Is(err, down) {
		t.Errorf("what is not known: %v", err)
	}
}

// untold is a repository that knows nothing.
type untold struct{ Repository }

func (untold) Follows(_ context.Context, commit, last api.Commit) error {
	return fmt.Errorf("%w: %s after %s", source.ErrNonFastForward, commit, last)
}

// What several people allow counts each for itself.
func TestFollowsAllowed(t *testing.T) {
	const a, b = "89abcdef0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef01234567"
	d := &Branch{Source: untold{}, In: object.Installation{Owner: "blue", Namespace: "ops"}}
	for commit, want := range map[api.Commit]bool{a: true, b: true, api.Commit(strings.Repeat("c", 40)): false} {
		if err := d.Follows(t.Context(), commit, api.Commit(strings.Repeat("d", 40)), []api.Commit{a, b}); (err == nil) != want ||
			err != nil && !strings.Contains(err.Error(), "linkwright allow non-fast-forward "+string(commit)+" --owner blue --namespace ops") {
			t.Errorf("Follows(%s): %v, want %t", commit, err, want)
		}
	}
}

// While nobody knows what was applied before, an allowance is for the very commit that it names.
func TestFollowsBlindly(t *testing.T) {
	const head, short, other = "89abcdef0123456789abcdef0123456789abcdef", "89abcde", "0123456789abcdef0123456789abcdef01234567"
	for allowed, want := range map[api.Commit]bool{head: true, short: true, other: false} {
		d := &Branch{Source: untold{}}
		err := d.Follows(t.Context(), head, "", []api.Commit{other, allowed})
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "linkwright allow non-fast-forward "+head) {
			t.Errorf("with %q allowed: got %v, want %t", allowed, err, want)
		}
	}
}
