package inventory

import (
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

const (
	minReasonInterval = 30 * time.Second // for how long conditions stand before another reason alone is written
	maxReasonLength   = 64               // of a reason
	maxMessageLength  = 256              // of a message
)

// knownConditions are the conditions of an end as we would have written them: of types that we know, in their order, each once. What looks
// otherwise is none, and is written anew once it is known.
func knownConditions(all []object.Condition) (out []object.Condition) {
	for _, kind := range []string{object.Ready, object.Reconciling, object.Stalled} {
		i := slices.IndexFunc(all, func(c object.Condition) bool { return c.Type == kind && wellFormed(c) })
		if i >= 0 {
			c := all[i]
			c.Since = wholeSecond(c.Since)
			out = append(out, c)
		}
	}
	return out
}

// wellFormed reports whether a condition is of our making: it may come to a terminal.
func wellFormed(c object.Condition) bool {
	word := func(r rune) bool { return r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' }
	return slices.Contains([]string{object.True, object.False, object.Unknown}, c.Status) &&
		string(c.Reason) != "" && len(c.Reason) <= maxReasonLength && !strings.ContainsFunc(string(c.Reason), word) &&
		len(c.Message) <= maxMessageLength && isPlain(c.Message) && !strings.Contains(c.Message, `"`) && !wholeSecond(c.Since).IsZero()
}

// Tell is the inventory in which these conditions stand, and when it may be written: zero where it need not be, since it tells the
// same already. A transition is written at once; another reason alone half a minute after the last time.
func (i Inventory) Tell(next []object.Condition, now time.Time) (Inventory, time.Time) {
	was := i.Conditions
	i.Conditions = next
	switch changed := lastTransition(was); {
	case slices.EqualFunc(was, next, object.Condition.Stands):
		i.Conditions = was
		return i, time.Time{}
	case transition(was, next), changed.After(now): // of a clock that was ahead
		return i, now
	default:
		return i, changed.Add(minReasonInterval)
	}
}

// transition reports whether one of the conditions is there or not, or has another status. No rate limit holds it back: who reads
// conditions acts on it.
func transition(was, next []object.Condition) bool {
	return !slices.EqualFunc(was, next, func(a, b object.Condition) bool { return a.Type == b.Type && a.Status == b.Status })
}

// lastTransition is when the last of some conditions began to stand.
func lastTransition(all []object.Condition) (last time.Time) {
	for _, c := range all {
		if c.Since.After(last) {
			last = c.Since
		}
	}
	return last
}

// parseConditions reads what Object wrote of them.
func parseConditions(list string) (out []object.Condition, ok bool) {
	for rest := list; ; {
		c, ok := parseCondition(&rest)
		if !takePrefix(&rest, `}`) || !ok {
			return nil, false
		}
		if out = append(out, c); rest == "" {
			return out, true
		}
		if !takePrefix(&rest, `,`) {
			return nil, false
		}
	}
}

// parseCondition takes one up to its closing brace.
func parseCondition(s *string) (c object.Condition, ok bool) {
	ok = takePrefix(s, `{"type":"`)
	c.Type, ok = takeText(s, ok)
	ok = takePrefix(s, `,"status":"`) && ok
	c.Status, ok = takeText(s, ok)
	ok = takePrefix(s, `,"reason":"`) && ok
	code, ok := takeText(s, ok)
	c.Reason = reason.Code(code)
	if takePrefix(s, `,"message":"`) {
		c.Message, ok = takeText(s, ok)
	}
	ok = takePrefix(s, `,"since":"`) && ok
	c.Since, ok = takeTime(s, ok)
	return c, ok
}

// cutConditions cuts the conditions from what stands before them.
func cutConditions(before string) (rest string, out []object.Condition, ok bool) {
	rest, list, some := strings.Cut(before, `,"conditions":[`)
	if !some {
		return before, nil, true
	}
	list, ok = strings.CutSuffix(list, "]")
	if !ok {
		return "", nil, false
	}
	out, ok = parseConditions(list)
	return rest, out, ok
}
