package plan

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Need is a token that the cluster is to be asked for, for the source of a link.
type Need struct {
	Link    api.Pair
	Request object.TokenRequest
}

// Try is a credential that is to be tried, seen from this process. What has the same At goes by the same address.
type Try struct {
	Link  api.Pair
	Print string // of pair.Proof
	At    string
	Trial object.Trial
}

// Moments are when the step may differ by the clock: Next and Retry, and where that is but another look, the deadlines behind it.
func (s Step) Moments() []time.Time {
	out := []time.Time{s.Next}
	if !s.Retry.IsZero() {
		out = append(out, s.Retry)
	}
	for _, r := range s.Rows {
		if !r.Until.IsZero() {
			out = append(out, r.Until)
		}
	}
	return out
}

// row is zero for an end that the step says nothing of.
func (s Step) row(end object.End) Row {
	at, ok := slices.BinarySearchFunc(s.Rows, end, func(r Row, e object.End) int { return r.End.Compare(e) })
	if !ok {
		return Row{}
	}
	return s.Rows[at]
}

// Writes says how many writes the step plans.
func (s Step) Writes() int { return len(s.Ahead) + len(s.Changes) + len(s.After) }
