package linkerd

import (
	"fmt"
	"strconv"
	"strings"
)

// Release is one of Linkerd's releases, with what of it counts for links.
type Release struct {
	Number [2]int // as in 2.18
	// Edge is the month, as year and month, since when edge releases hold what the release brought, for sure or perhaps.
	Edge [2]int
	// Link is the newest version of links.multicluster.linkerd.io that it serves.
	Link string
	// Controllers says that links from such a cluster may have a controller of their own from us: those share LocalAccessRole. Before, the
	// user's chart brings it.
	Controllers bool
	// Servers says that it serves servers.policy.linkerd.io v1beta3, which control planes since 2.16 list in the targets of remote
	// discovery and federation: where they cannot, they start over again and again (linkerd2 controller/api/destination/watcher).
	Servers bool
}

// String is as in 2.18.
func (r Release) String() string { return fmt.Sprintf("%d.%d", r.Number[0], r.Number[1]) }

// Releases are those that are known, the oldest first; from tags of linkerd2. What is newer is as the last.
func Releases() []Release {
	all := releases()
	return all[:]
}

// releases is an array, which nobody has to make room for: each link asks.
func releases() [7]Release {
	return [...]Release{
		{Number: [2]int{2, 14}, Edge: [2]int{23, 8}, Link: "v1alpha1"},
		{Number: [2]int{2, 15}, Edge: [2]int{24, 2}, Link: "v1alpha1"},
		{Number: [2]int{2, 16}, Edge: [2]int{24, 8}, Link: "v1alpha1", Servers: true},
		{Number: [2]int{2, 17}, Edge: [2]int{24, 11}, Link: "v1alpha2", Servers: true},
		{Number: [2]int{2, 18}, Edge: [2]int{25, 4}, Link: LinkVersion, Controllers: true, Servers: true},
		{Number: [2]int{2, 19}, Edge: [2]int{25, 10}, Link: LinkVersion, Controllers: true, Servers: true},
		{Number: [2]int{2, 20}, Edge: [2]int{26, 6}, Link: LinkVersion, Controllers: true, Servers: true},
	}
}

// Running finds the release of a running version, such as stable-2.14.10, 2.18.1 or edge-25.4.4; false: it is none that is
// known. Which of an edge's month came first is not known: one of the month counts as the newer release.
func Running(version string) (found Release, ok bool) {
	at, edge := numbers(version)
	for _, r := range releases() {
		since := r.Number
		if edge {
			since = r.Edge
		}
		if at[0] > since[0] || at[0] == since[0] && at[1] >= since[1] {
			found, ok = r, true
		}
	}
	return found, ok
}

// numbers are the first two of a version, zero where there are none; edge: they are year and month.
func numbers(version string) (first [2]int, edge bool) {
	word, rest, _ := strings.Cut(version, "-")
	if word == "" || word[0] >= '0' && word[0] <= '9' || word[0] == 'v' && word != "version" {
		word, rest = "", strings.TrimPrefix(version, "v")
	}
	major, rest, _ := strings.Cut(rest, ".")
	minor, _, _ := strings.Cut(rest, ".")
	for i, part := range []string{major, minor} {
		n, err := strconv.Atoi(part)
		if err != nil {
			return [2]int{}, false
		}
		first[i] = n
	}
	return first, word == "edge"
}

// Skewed reports whether the control plane of a source of this version cannot use a target of that one for remote discovery and
// federation. What is not known is taken to be good.
func Skewed(source, target string) bool {
	from, ok := Running(source)
	to, known := Running(target)
	return ok && known && from.Servers && !to.Servers
}
