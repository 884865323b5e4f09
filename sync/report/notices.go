package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

// Notice is one transition as Kubernetes shows it, in an Event. It holds no secret.
type Notice struct {
	Object  string // link/SOURCE/TARGET, cluster/NAME or revision/COMMIT, as in `linkwright events`; empty: more than one
	Warning bool   // somebody may have to act
	Reason  string
	Message string // which names the object
}

// maxAlike is how many links may have the same transition in one report before one notice tells of all of them.
const maxAlike = 10

// Notices are the transitions of links and clusters that reports showed so far. The zero one is of none.
type Notices struct {
	states map[subject]subjectState
	begun  bool
}

// Next gives the transitions that lead from what was reported before to a report, and those reported so far. The first sync of a process shows
// nothing but what changes while it is under way: what it finds as it was is no transition.
func (n Notices) Next(r Report) (Notices, []Notice) {
	if r.Clusters == nil {
		return n, nil
	}
	next := n
	var moved []transition
	next.states, moved = transitions(n.states, r)
	next.begun = n.begun || r.When == AtEnd
	var out []Notice
	for _, t := range moved {
		if n.begun || t.from.is != "" {
			out = append(out, t.notice())
		}
	}
	return next, together(out)
}

// notice is a transition as a Notice.
func (t transition) notice() Notice {
	what := t.of.ref()
	n := Notice{Object: what, Warning: !t.to.fine(), Reason: cmp.Or(string(t.to.reason), reasonFor(t.of.message, t.to.is))}
	switch t.of.message {
	case LinkChanged, ClusterChanged:
		n.Message = fmt.Sprintf("%s is %s", what, t.to.is)
	case BaseChanged:
		n.Message = fmt.Sprintf("the base of %s is %s", what, t.to.is)
	default: // cleanup changed, orphans changed, confinement changed
		kind, _, _ := strings.Cut(t.of.message, " ")
		n.Message = fmt.Sprintf("%s of %s: %s", kind, what, t.to.is)
	}
	if t.from.is != "" {
		n.Message += ", was " + t.from.is
	}
	if t.to.why != "" {
		n.Message += ": " + t.to.why
	}
	return n
}

// ref names a subject as `linkwright events` does.
func (s subject) ref() string {
	if !s.link.IsZero() {
		return output.Link{Source: string(s.link.Source), Target: string(s.link.Target)}.Ref()
	}
	return output.Cluster{Name: string(s.cluster)}.Ref()
}

// reasonFor is the reason of a transition that has none: that of the condition Ready for a link, so that `linkwright events` shows the same.
func reasonFor(message, to string) string {
	over := to == isGone
	switch {
	case message == LinkChanged && to == isReady:
		return string(reason.Healthy)
	case message == CleanupChanged && over:
		return string(reason.CleanupComplete)
	case message == CleanupChanged:
		return string(reason.CleanupPending)
	case message == OrphansChanged && !over:
		return string(reason.OrphansFound)
	case message == OrphansChanged:
		return string(reason.OrphansGone)
	case message == ConfinementChanged && over:
		return string(reason.Confined)
	}
	return to
}

// together has one notice tell of many links with the same transition.
func together(all []Notice) (out []Notice) {
	type kind struct {
		reason  string
		warning bool
	}
	of := map[kind][]Notice{}
	for _, n := range all {
		if strings.HasPrefix(n.Object, "link/") {
			of[kind{n.Reason, n.Warning}] = append(of[kind{n.Reason, n.Warning}], n)
		}
	}
	for _, n := range all {
		alike := of[kind{n.Reason, n.Warning}]
		switch {
		case !strings.HasPrefix(n.Object, "link/") || len(alike) <= maxAlike:
			out = append(out, n)
		case n == alike[0]:
			n.Object, n.Message = "", fmt.Sprintf("%d links, for example: %s", len(alike), n.Message)
			out = append(out, n)
		}
	}
	return out
}
