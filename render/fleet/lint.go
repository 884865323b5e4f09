package fleet

import (
	"fmt"
	"slices"

	"github.com/linkwright/linkwright/api"
)

// The codes of warnings: words for machines, which stay as they are.
const (
	LocalAPIServer     = "LocalAPIServer"
	ImpossibleSelector = "ImpossibleSelector"
	EmptySelector      = "EmptySelector"
	LinkOverMesh       = "LinkOverMesh"
	SmallMesh          = "SmallMesh"
	NoHub              = "NoHub"
	NoSpoke            = "NoSpoke"
	IdleExcept         = "IdleExcept"
	NameCollision      = "NameCollision"
	NameTooLong        = "NameTooLong"
	NoReverse          = "NoReverse"
	FederatedOneWay    = "FederatedOneWay"
	SameSelector       = "SameSelector"
	NothingMirrored    = "NothingMirrored"
	Unlinked           = "Unlinked"
	UnusedOverlay      = "UnusedOverlay"
	Unjudged           = "Unjudged"
)

// Rule is one kind of warning: its Code, and in one sentence what it says.
type Rule struct{ Code, Help string }

// Rules returns all kinds of warnings that Load may give, in the order of its checks.
func Rules() []Rule {
	var out []Rule
	for _, c := range checks() {
		out = append(out, c.Rule)
	}
	return append(out, Rule{Unjudged, "linkwright does not check everything until these errors are corrected."})
}

// check judges what is valid and may still not be what was meant.
type check struct {
	Rule
	find func(*linted) []api.Problem
	when when
}

// when says in which case a check can be trusted.
type when bool

const (
	always when = false
	// whole: only where there is no error, since what a broken declaration says is unknown.
	whole when = true
)

// checks is the list. A check is linear in links, with no table of them, or better: it judges a mesh as a rule.
func checks() []check {
	return []check{
		// Peers get this address in their credentials.
		{Rule{LocalAPIServer, "Other clusters cannot use the API server address that a cluster declares."}, localServers, always},
		// No labels can fulfil it, whatever clusters or services there are.
		{Rule{ImpossibleSelector, "The requirements of a selector contradict each other, so it selects nothing."}, impossible, always},
		// Kubernetes takes {} for everything, Linkerd for nothing.
		{Rule{EmptySelector, "A service selector is empty, and an empty selector selects nothing in Linkerd."}, empty, always},
		// Allowed, but the pair no longer follows the mesh's template.
		{Rule{LinkOverMesh, "A declared Link replaces the one that a Mesh declares for its pair."}, replaced, always},
		// One cluster alone has nobody to be linked with.
		{Rule{SmallMesh, "A Mesh selects fewer than two clusters."}, small, whole},
		// Without a hub there are no links at all.
		{Rule{NoHub, "A Mesh of topology HubAndSpoke selects no hub among its members."}, noHub, whole},
		// All of them hubs is a full mesh by another name.
		{Rule{NoSpoke, "A Mesh of topology HubAndSpoke has only hubs."}, noSpoke, whole},
		// A pair that was never linked is mostly a pair written the wrong way round.
		{Rule{IdleExcept, "A Mesh excepts a link that it does not have."}, idle, whole},
		// Linkerd calls a mirror <service>-<target>: web-us of east and web of us-east are one name.
		{Rule{NameCollision, "The names of two targets of one source can give mirrors of different services the same name."}, collisions, whole},
		// The same name has at most 63 characters.
		{Rule{NameTooLong, "The name of a target leaves few characters for the names of services that can be mirrored."}, tooLong, whole},
		// Who is linked in both directions everywhere else has mostly forgotten one.
		{Rule{NoReverse, "A pair is linked in one direction, while nearly all others are linked in both."}, oneWay, whole},
		// Members join where their link is; the other side keeps to its own.
		{Rule{FederatedOneWay, "Only one of the two links between two clusters federates services."}, federatedOneWay, whole},
		// Linkerd asks the remote discovery selector first.
		{Rule{SameSelector, "Remote discovery or federation selects the same services that are mirrored through the gateway."}, same, whole},
		// The controller would run for nothing.
		{Rule{NothingMirrored, "A link can mirror nothing, because it has no gateway, no remote discovery and no federation."}, blind, whole},
		// It is in nobody's mesh, perhaps for want of a label.
		{Rule{Unlinked, "No link leads to or from a cluster."}, unlinked, whole},
		// Its patches reach nothing.
		{Rule{UnusedOverlay, "No Cluster names a directory that has a kustomization."}, unused, whole},
	}
}

// linted is what checks look at: the fleet, and what it was made of, which knows where a word stands. Fleet.names and
// docs have the same order.
type linted struct {
	*Fleet
	*expansion
	*loader
	docs []declared[api.ClusterDoc]
}

// lint returns the warnings of all checks.
func lint(x *linted, broken bool) []api.Problem {
	var out []api.Problem
	for _, c := range checks() {
		if broken && c.when == whole {
			// A link that is broken leaves its clusters unlinked: that alone says nothing.
			x.withheld = x.withheld || c.Code != Unlinked && len(c.find(x)) > 0
			continue
		}
		for _, p := range c.find(x) {
			p.Code, p.Warning = c.Code, true
			out = append(out, p)
		}
	}
	return out
}

// unjudged returns what was left out because of errors, so that nobody takes those that are told for all.
func (l *loader) unjudged() []api.Problem {
	var what string
	switch {
	case l.silent && l.withheld:
		what = "names of undeclared clusters, and some warnings,"
	case l.silent:
		what = "names of undeclared clusters"
	case l.withheld:
		what = "some warnings"
	default:
		return nil
	}
	return []api.Problem{{Code: Unjudged, Warning: true, Message: what + " are reported once these errors are corrected"}}
}

// firstOf keeps the first problems by position, and says in the last of them how many more there are: ten show what
// is meant, a thousand hide everything else.
func firstOf(all []api.Problem) []api.Problem {
	const most = 10
	slices.SortFunc(all, compareProblems)
	if more := len(all) - most; more > 0 {
		all = all[:most]
		all[most-1].Message += fmt.Sprintf("; and %d more like it", more)
	}
	return all
}

// tally counts links by the declaration that gives them.
type tally map[*api.Pos]*counted

// counted is the first of some links, and the number of the others.
type counted struct {
	Link
	more int
}

func (t tally) add(l Link) {
	if c := t[l.At]; c != nil {
		c.more++
		return
	}
	t[l.At] = &counted{Link: l}
}

// tell gives one problem for a declaration.
func (t tally) tell(message func(counted) string, hint string) []api.Problem {
	var out []api.Problem
	for at, c := range t {
		out = append(out, api.Problem{Pos: *at, Message: message(*c), Hint: hint})
	}
	return out // Load sorts
}

// link is the first pair and how many more there are.
func (c counted) link() string { return andMore(c.Pair(), c.more) }
