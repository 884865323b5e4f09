package fault

import (
	"strings"
	"sync"
)

// Rules count what they match, and say which requests are struck. The zero value strikes none; it is safe for
// concurrent use.
type Rules struct {
	mu    sync.Mutex
	rules []Rule
	hits  []int
}

// Set replaces all rules, and counting begins anew.
func (s *Rules) Set(rules ...Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules, s.hits = rules, make([]int, len(rules))
}

// Strike counts a request against every rule, and gives the first due fault. A fault of Kind Pass, which only delays or
// tells, gives way to a later one that is not.
func (s *Rules) Strike(r Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due Fault
	for i, rule := range s.rules {
		if !rule.matches(r) {
			continue
		}
		s.hits[i]++
		if rule.due(s.hits[i]) {
			due = due.and(rule.Fault)
		}
	}
	return due
}

// and has both faults call and delay; one thing alone becomes of a request, the first.
func (f Fault) and(next Fault) Fault {
	out := f
	if f.Kind == Pass {
		out = next
	}
	out.Delay = f.Delay + next.Delay
	out.Before, out.After = callBoth(f.Before, next.Before), callBoth(f.After, next.After)
	return out
}

func callBoth(a, b func(Request)) func(Request) {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	return func(r Request) {
		a(r)
		b(r)
	}
}

func (r Rule) matches(q Request) bool {
	resource, group, grouped := strings.Cut(r.Resource, ".")
	for _, pair := range [][2]string{
		{r.Verb, q.Verb},
		{resource, q.Resource},
		{r.Namespace, q.Namespace},
		{r.Name, q.Name},
		{r.Subresource, q.Subresource},
		{r.Path, q.Path},
	} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	return (!grouped || group == q.Group) && (!r.Continued || q.Continued)
}

// due reports whether the n-th match is struck.
func (r Rule) due(n int) bool {
	first, times := max(1, r.Nth), r.Times
	if times == 0 {
		times = 1
	}
	return n >= first && (times < 0 || n < first+times)
}
