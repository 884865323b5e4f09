package inventory

import (
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/object"
)

const (
	damped      = 30 * time.Second // for how long conditions stand before they are written anew
	longestWord = 64               // of a reason
	longest     = 256              // of a message
)

// toldRead are the conditions of an end as we would have written them: of types that we know, in their order, each once. What looks
// otherwise is none, and is written anew once it is known.
func toldRead(all []object.Condition) (out []object.Condition) {
	for _, kind := range []string{object.Ready, object.Reconciling, object.Stalled} {
		i := slices.IndexFunc(all, func(c object.Condition) bool { return c.Type == kind && readable(c) })
		if i >= 0 {
			c := all[i]
			c.Since = spelled(c.Since)
			out = append(out, c)
		}
	}
	return out
}

// readable says that a condition is of our making: it may come to a terminal.
func readable(c object.Condition) bool {
	word := func(r rune) bool { return r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' }
	return slices.Contains([]string{object.True, object.False, object.Unknown}, c.Status) &&
		c.Reason != "" && len(c.Reason) <= longestWord && !strings.ContainsFunc(c.Reason, word) &&
		len(c.Message) <= longest && plain(c.Message) && !strings.Contains(c.Message, `"`) && !spelled(c.Since).IsZero()
}

// Tell is the inventory in which these conditions stand, and when it may be written: zero where it need not be, since it tells the
// same already. What gets ready while it is set up is told at once; all else is told anew half a minute after the last time.
func (i Inventory) Tell(next []object.Condition, now time.Time) (Inventory, time.Time) {
	if slices.EqualFunc(i.Conditions, next, object.Condition.Stands) {
		return i, time.Time{}
	}
	var last time.Time
	settingUp := false
	for _, c := range i.Conditions {
		if c.Since.After(last) {
			last = c.Since
		}
		settingUp = settingUp || c.Type == object.Reconciling
	}
	done := settingUp && len(next) == 1 && next[0].Status == object.True
	at := last.Add(damped)
	if done || last.IsZero() || last.After(now) { // of a clock that was ahead
		at = now
	}
	i.Conditions = next
	return i, at
}

// conditions reads what Object wrote of them.
func conditions(list string) (out []object.Condition, ok bool) {
	for rest := list; ; {
		c, ok := condition(&rest)
		if !take(&rest, `}`) || !ok {
			return nil, false
		}
		if out = append(out, c); rest == "" {
			return out, true
		}
		if !take(&rest, `,`) {
			return nil, false
		}
	}
}

// condition takes one up to its closing brace.
func condition(s *string) (c object.Condition, ok bool) {
	ok = take(s, `{"type":"`)
	c.Type, ok = text(s, ok)
	ok = take(s, `,"status":"`) && ok
	c.Status, ok = text(s, ok)
	ok = take(s, `,"reason":"`) && ok
	c.Reason, ok = text(s, ok)
	if take(s, `,"message":"`) {
		c.Message, ok = text(s, ok)
	}
	ok = take(s, `,"since":"`) && ok
	c.Since, ok = moment(s, ok)
	return c, ok
}

// conditioned cuts the conditions from what stands before them.
func conditioned(before string) (rest string, out []object.Condition, ok bool) {
	rest, list, some := strings.Cut(before, `,"conditions":[`)
	if !some {
		return before, nil, true
	}
	list, ok = strings.CutSuffix(list, "]")
	if !ok {
		return "", nil, false
	}
	out, ok = conditions(list)
	return rest, out, ok
}
