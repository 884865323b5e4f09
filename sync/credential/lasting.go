package credential

import (
	"fmt"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// LegacyTokens is where the tokens of a link of mode LegacyToken stand, which do not expire.
type LegacyTokens struct {
	Use    *linkerd.Credential // what the source is to hold; nil: none was issued yet
	Number int                 // of Use
	Keep   []object.Key        // Secrets of tokens that the target is to hold, oldest first
	Done   bool                // what people asked for is done
}

// LegacyTokens decides on the tokens of a link, all of it read from what is live:
//
//	wanted  the newest that is live, else that is recorded, else the first past all of mode Bound: a token of an earlier number would
//	        be the very one that was revoked. Where people asked for one past that, the next; what is not live then is not made again
//	in use  the newest that was issued
//	kept    both, and what was issued before while the source did not take that, or cannot do with it
//
// An error is about a Secret that cannot be read.
func (v Pair) LegacyTokens(a Access) (out LegacyTokens, err error) {
	live := slices.Clone(a.Tokens)
	if n := a.nextNumber(); n > 0 && (a.Requested == nil || n > a.Requested.After) {
		live = append(live, n)
	}
	if asked := a.Requested; asked != nil && (len(live) == 0 || live[len(live)-1] <= asked.After) {
		live = append(live, asked.After+1)
	}
	from := 0
	for i := len(live) - 1; i >= 0 && out.Use == nil; i-- {
		from = i
		if out.Use, err = v.Credential(tokenSecret(a.Account, live[i])); err != nil {
			return LegacyTokens{Keep: a.tokens(live)}, err
		}
	}
	if out.Use != nil {
		out.Number = live[from]
	}
	if asked := a.Requested; asked != nil && live[from] > asked.After && (from == 0 || !asked.Revoke) {
		out.Done = out.Use != nil && v.replaces(out.Use, a)
	}
	if from > 0 && v.replaces(out.Use, a) {
		live = live[from:]
	}
	out.Keep = a.tokens(live)
	return out, nil
}

// nextNumber returns the number of a token to make that is not live, though it was, or is the first; 0: there is none. Both modes have one count, so
// that none comes again when the mode changes there and back.
func (a Access) nextNumber() int {
	if n := len(a.Tokens); n > 0 {
		if a.Last <= a.Tokens[n-1] {
			return 0
		}
		return a.Last
	}
	bound := a.Bound
	for _, live := range a.Live {
		bound = max(bound, live)
	}
	return max(a.Last, bound+1)
}

// Newest returns the number of the last token that a link has, of its mode; 0: none. Where the source's Secrets were not read, nobody knows.
func (v Pair) Newest(a Access) (int, error) {
	numbers := append(slices.Clone(a.Tokens), a.Last)
	if v.Link.Spec.Credentials.Mode == api.Bound {
		tokens, read := v.tokens()
		if !read {
			return 0, fmt.Errorf("linkwright has not read the credential of %s in cluster %s", v.Link.Pair(), v.Link.Source.Name)
		}
		t := rotation{Pair: v, Access: a, inUse: map[int]bool{}}
		for _, token := range tokens {
			t.addInUse(token)
		}
		numbers = slices.Clone(a.Live) // those of the other mode go with the next rotation
		for n := range t.inUse {
			numbers = append(numbers, n)
		}
	}
	newest := 0
	for _, n := range numbers {
		newest = max(newest, n)
	}
	return newest, nil
}
