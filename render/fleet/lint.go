package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// The codes of warnings. They are part of the interface and do not change.
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
	IgnoredReplicas    = "IgnoredReplicas"
	Unlinked           = "Unlinked"
	UnusedOverlay      = "UnusedOverlay"
	UnusedProxyConfig  = "UnusedProxyConfig"
	Unjudged           = "Unjudged"
)

// Rule is one kind of warning: its Code, and one sentence of help.
type Rule struct{ Code, Help string }

// Rules returns all kinds of warnings that Load may give, in the order of its checks.
func Rules() []Rule {
	var out []Rule
	for _, c := range checks() {
		out = append(out, c.Rule)
	}
	return append(out, Rule{Unjudged, "linkwright does not check everything until these errors are corrected."})
}

// check finds declarations that are valid and probably not what was meant.
type check struct {
	Rule
	find      func(*lintInput) []api.Problem
	condition condition
}

// condition is when a check runs.
type condition bool

const (
	always condition = false
	// onlyValid: only if there is no error, because the content of an invalid declaration is unknown.
	onlyValid condition = true
)

// checks is the list of all checks. A check takes time linear in links or less, and needs no table of them.
func checks() []check {
	return []check{
		// Other clusters get this address in their credentials.
		{Rule{LocalAPIServer, "Other clusters cannot use the API server address that a cluster declares."}, localServers, always},
		// No labels can match it.
		{Rule{ImpossibleSelector, "The requirements of a selector contradict each other, so it selects nothing."}, impossibleSelectors, always},
		// {} selects everything in Kubernetes, and nothing in Linkerd.
		{Rule{EmptySelector, "A service selector is empty, and an empty selector selects nothing in Linkerd."}, emptySelectors, always},
		// Allowed, but the pair no longer follows the mesh's template.
		{Rule{LinkOverMesh, "A declared Link replaces the one that a Mesh declares for its pair."}, linkOverMesh, always},
		// A mesh of one cluster has no links.
		{Rule{SmallMesh, "A Mesh selects fewer than two clusters."}, smallMesh, onlyValid},
		// Without a hub there are no links at all.
		{Rule{NoHub, "A Mesh of topology HubAndSpoke selects no hub among its members."}, noHub, onlyValid},
		// If all members are hubs, the mesh is a full one.
		{Rule{NoSpoke, "A Mesh of topology HubAndSpoke has only hubs."}, noSpoke, onlyValid},
		// Such a pair is often written the wrong way round.
		{Rule{IdleExcept, "A Mesh excepts a link that it does not have."}, idleExcepts, onlyValid},
		// Linkerd calls a mirror <service>-<target>: web-us of east and web of us-east are one name.
		{Rule{NameCollision, "The names of two targets of one source can give mirrors of different services the same name."}, collisions, onlyValid},
		// The same name has at most 63 characters.
		{Rule{NameTooLong, "The name of a target leaves few characters for the names of services that can be mirrored."}, tooLong, onlyValid},
		// The other direction was probably forgotten.
		{Rule{NoReverse, "A pair is linked in one direction, while nearly all others are linked in both."}, oneWay, onlyValid},
		// Members join only in the source of their link.
		{Rule{FederatedOneWay, "Only one of the two links between two clusters federates services."}, federatedOneWay, onlyValid},
		// Linkerd evaluates the remote discovery selector first.
		{Rule{SameSelector, "Remote discovery or federation selects the same services that are mirrored through the gateway."}, sameSelectors, onlyValid},
		// The controller would run for nothing.
		{Rule{NothingMirrored, "A link can mirror nothing, because it has no gateway, no remote discovery and no federation."}, nothingMirrored, onlyValid},
		// linkwright never applies them.
		{Rule{IgnoredReplicas, "A link declares replicas of its controller, and the SyncPolicy ignores them."}, ignoredReplicas, onlyValid},
		// No mesh selects it, perhaps because a label is missing.
		{Rule{Unlinked, "No link leads to or from a cluster."}, unlinked, onlyValid},
		// Its patches reach nothing.
		{Rule{UnusedOverlay, "No Cluster names a directory that has a kustomization."}, unused, onlyValid},
		// A label is missing, or the values are.
		{Rule{UnusedProxyConfig, "A ProxyConfig selects no cluster, or sets nothing."}, idleProxyConfigs, onlyValid},
	}
}

// lintInput is the fleet with the declarations it was made of, which have positions. Fleet.names and docs have the same order.
type lintInput struct {
	*Fleet
	*expansion
	*joiner
	docs         []declared[api.ClusterDoc]
	proxyConfigs []*proxyConfig
}

// lint returns the warnings of all checks.
func lint(x *lintInput, hasErrors bool) []api.Problem {
	var out []api.Problem
	for _, c := range checks() {
		if hasErrors && c.condition == onlyValid {
			// An invalid Link leaves its clusters unlinked, so Unlinked means nothing here.
			x.suppressed.warnings = x.suppressed.warnings || c.Code != Unlinked && len(c.find(x)) > 0
			continue
		}
		for _, p := range c.find(x) {
			p.Code, p.Warning = c.Code, true
			out = append(out, p)
		}
	}
	return out
}

// problems reports what was suppressed because of errors.
func (s suppressed) problems() []api.Problem {
	var what []string
	for _, part := range []struct {
		suppressed bool
		what       string
	}{
		{s.documents, "other errors in documents of unknown kind or version"},
		{s.names, "names of undeclared clusters"},
		{s.warnings, "some warnings"},
	} {
		if part.suppressed {
			what = append(what, part.what)
		}
	}
	switch len(what) {
	case 0:
		return nil
	case 1:
	default:
		what[len(what)-1] = "and " + what[len(what)-1] + ","
	}
	return []api.Problem{{Code: Unjudged, Warning: true, Message: strings.Join(what, ", ") + " are reported once these errors are corrected"}}
}

// firstFew keeps the first ten problems by position, and counts the rest in the last message.
func firstFew(all []api.Problem) []api.Problem {
	const most = 10
	slices.SortFunc(all, compareProblems)
	if more := len(all) - most; more > 0 {
		all = all[:most]
		all[most-1].Message += fmt.Sprintf("; and %d more like it", more)
	}
	return all
}

// linkTally counts links by their declaration.
type linkTally map[*api.Pos]*countedLink

// countedLink is the first of some links, and the number of the others.
type countedLink struct {
	Link
	more int
}

func (t linkTally) add(l Link) {
	if c := t[l.At]; c != nil {
		c.more++
		return
	}
	t[l.At] = &countedLink{Link: l}
}

// problems returns one problem for each declaration.
func (t linkTally) problems(message func(countedLink) string, hint string) []api.Problem {
	var out []api.Problem
	for at, c := range t {
		out = append(out, api.Problem{Pos: *at, Message: message(*c), Hint: hint})
	}
	return out // Load sorts
}

// link is the first pair and how many more there are.
func (c countedLink) link() string { return andMore(c.Pair(), c.more) }
