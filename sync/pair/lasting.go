package pair

import (
	"fmt"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Lasting is where the tokens of a link of mode LegacyToken stand, which do not expire.
type Lasting struct {
	Use  *linkerd.Credential // what the source is to hold; nil: none was issued yet
	Keep []object.Key        // Secrets of tokens that the target is to hold, oldest first
	Met  bool                // what people asked for is done
}

// Lasting decides on the tokens of a link, all of it read from what is live:
//
//	wanted  the newest that is live, else that is recorded, else the first: a token of an earlier number would be the very one that was
//	        revoked. Where people asked for one past that, the next
//	in use  the newest that was issued
//	kept    both, and what was issued before while the source did not take that, or cannot do with it
//
// An error is about a Secret that cannot be read.
func (v View) Lasting(a Access) (out Lasting, err error) {
	live := slices.Clone(a.Tokens)
	if len(live) == 0 {
		live = []int{max(1, a.Last)}
	}
	if newest := live[len(live)-1]; a.Asked != nil && newest <= a.Asked.Past {
		live = append(live, a.Asked.Past+1)
	}
	from := 0
	for i := len(live) - 1; i >= 0 && out.Use == nil; i-- {
		from = i
		if out.Use, err = v.Credential(tokenOf(a.Account, live[i])); err != nil {
			return Lasting{Keep: a.tokens(live)}, err
		}
	}
	if asked := a.Asked; asked != nil && live[from] > asked.Past && (from == 0 || !asked.Revoke) {
		out.Met = out.Use != nil && v.replaces(out.Use, a)
	}
	if from > 0 && v.replaces(out.Use, a) {
		live = live[from:]
	}
	out.Keep = a.tokens(live)
	return out, nil
}

// Newest is the number of the last token that a link has, of its mode; 0: none. Where the source's Secrets were not read, nobody knows.
func (v View) Newest(a Access) (int, error) {
	numbers := a.Tokens
	if v.Link.Spec.Credentials.Mode == api.Bound {
		tokens, read := v.tokens()
		if !read {
			return 0, fmt.Errorf("the credential of %s in cluster %s was not read", v.Link.Pair(), v.Link.Source.Name)
		}
		t := choice{View: v, Access: a, named: map[int]bool{}}
		for _, token := range tokens {
			t.names(token)
		}
		numbers = slices.Clone(a.Live)
		for n := range t.named {
			numbers = append(numbers, n)
		}
	}
	newest := 0
	for _, n := range numbers {
		newest = max(newest, n)
	}
	return newest, nil
}
