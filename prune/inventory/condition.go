package inventory

import (
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

const (
	minReasonInterval = 30 * time.Second // before a change of the reason alone is written
	maxReasonLength   = 64               // of a reason
	maxMessageLength  = 640              // of a message: one name of an object always fits
)

// knownConditions are the well-formed conditions of known types, in order, each once. Others are ignored, and are overwritten.
func knownConditions(all []object.Condition) (out []object.Condition) {
	for _, kind := range []string{object.Ready, object.Reconciling, object.Stalled, object.Suspended} {
		i := slices.IndexFunc(all, func(c object.Condition) bool { return c.Type == kind && wellFormed(c) })
		if i >= 0 {
			c := all[i]
			c.Since = wholeSecond(c.Since)
			out = append(out, c)
		}
	}
	return out
}

// wellFormed reports whether linkwright can have written a condition: its text is shown on terminals.
func wellFormed(c object.Condition) bool {
	word := func(r rune) bool { return r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' }
	return slices.Contains([]string{object.True, object.False, object.Unknown}, c.Status) &&
		string(c.Reason) != "" && len(c.Reason) <= maxReasonLength && !strings.ContainsFunc(string(c.Reason), word) &&
		len(c.Message) <= maxMessageLength && isPlain(c.Message) && !strings.Contains(c.Message, `"`) && !wholeSecond(c.Since).IsZero()
}

// WithConditions sets the conditions, and returns when the inventory may be written; zero: nothing changes. A transition is
// written at once, a change of the reason or the message alone not before half a minute has passed since the last transition.
func (i Inventory) WithConditions(next []object.Condition, now time.Time) (Inventory, time.Time) {
	was := i.Conditions
	i.Conditions = next
	switch changed := lastTransition(was); {
	case slices.EqualFunc(was, next, sameWords):
		i.Conditions = was
		return i, time.Time{}
	case transition(was, next), changed.After(now): // the clock was ahead
		return i, now
	default:
		return i, changed.Add(minReasonInterval)
	}
}

// sameWords reports whether two conditions differ in nothing but when they began.
func sameWords(a, b object.Condition) bool { return a.SameState(b) && a.Message == b.Message }

// transition reports whether a condition was added or removed, or changed its status. It is not rate-limited, because readers of
// conditions act on it.
func transition(was, next []object.Condition) bool {
	return !slices.EqualFunc(was, next, func(a, b object.Condition) bool { return a.Type == b.Type && a.Status == b.Status })
}

// lastTransition is the latest Since of some conditions.
func lastTransition(all []object.Condition) (last time.Time) {
	for _, c := range all {
		if c.Since.After(last) {
			last = c.Since
		}
	}
	return last
}

// parseConditions parses conditions as Object writes them.
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

// parseCondition parses one up to its closing brace.
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

// cutConditions cuts the conditions off the end of a text.
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
