package linkerd

import (
	"fmt"
	"strconv"
	"strings"
)

// Release is one of Linkerd's releases, with the features that links depend on.
type Release struct {
	Number [2]int // as in 2.18
	// Edge is the first month, as year and month, whose edge releases may have the release's features.
	Edge [2]int
	// Link is the newest version of links.multicluster.linkerd.io that it serves.
	Link string
	// Controllers: linkwright may run a controller for each link from such a cluster. In earlier releases the user's chart runs it.
	Controllers bool
	// Servers: it serves servers.policy.linkerd.io v1beta3. Control planes since 2.16 list it in the targets of remote
	// discovery and federation, and restart again and again if they cannot (linkerd2 controller/api/destination/watcher).
	Servers bool
}

// String is as in 2.18.
func (r Release) String() string { return fmt.Sprintf("%d.%d", r.Number[0], r.Number[1]) }

// Releases are the known releases, oldest first, from tags of linkerd2. Newer ones count as the last.
func Releases() []Release {
	all := releases()
	return all[:]
}

// releases returns an array, which needs no allocation: it is called for each link.
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

// Running finds the release of a running version, such as stable-2.14.10, 2.18.1 or edge-25.4.4; false: it is unknown. An edge
// release of the month in which a release appeared counts as that release.
func Running(version string) (found Release, ok bool) {
	at, edge := parseNumbers(version)
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

// parseNumbers returns the first two numbers of a version, or zeros; edge: they are year and month.
func parseNumbers(version string) (first [2]int, edge bool) {
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

// Incompatible reports whether the control plane of a source with one version cannot use a target with the other for remote discovery and
// federation. Unknown versions count as compatible.
func Incompatible(source, target string) bool {
	from, ok := Running(source)
	to, known := Running(target)
	return ok && known && from.Servers && !to.Servers
}
