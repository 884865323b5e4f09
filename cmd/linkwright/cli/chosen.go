package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
)

// Links are the links that arguments name, in any spelling that an output shows: SOURCE/TARGET, SOURCE → TARGET,
// SOURCE->TARGET, or the name of a Link or a Mesh, which is all links of that. Undeclared ones can be named by their clusters,
// if loose.
func Links(f *fleet.Fleet, args []string, loose bool) (map[api.Pair]bool, error) {
	out := map[api.Pair]bool{}
	for _, arg := range args {
		found, err := linksNamed(f, arg, loose)
		if err != nil {
			return nil, err
		}
		for _, pair := range found {
			out[pair] = true
		}
	}
	return out, nil
}

// linksNamed gives the links that one argument names; an argument that names none, or could name several things, is an error
// that lists what there is.
func linksNamed(f *fleet.Fleet, arg string, loose bool) ([]api.Pair, error) {
	if pair, ok := ParsePair(arg); ok {
		if err := CheckPair(pair); err != nil {
			return nil, err
		}
		if _, declared := f.Link(pair); declared || loose {
			return []api.Pair{pair}, nil
		}
		return nil, noLink(f, arg)
	}
	meanings := map[string][]api.Pair{}
	for l := range f.Links() {
		if _, name, _ := strings.Cut(l.From, " "); name == arg {
			meanings[l.From] = append(meanings[l.From], l.Pair())
		}
	}
	names := slices.Sorted(maps.Keys(meanings))
	switch len(names) {
	case 0:
		return nil, noLink(f, arg)
	case 1:
		return meanings[names[0]], nil
	}
	return nil, fmt.Errorf("%s is ambiguous, it names %s: write SOURCE/TARGET", arg, strings.Join(names, " and "))
}

// ParsePair reads a link that is written with a separator, which no name of a cluster holds.
func ParsePair(arg string) (api.Pair, bool) {
	for _, separator := range []string{"→", "->", "/"} {
		if source, target, ok := strings.Cut(arg, separator); ok {
			return api.Pair{Source: api.ClusterName(strings.TrimSpace(source)), Target: api.ClusterName(strings.TrimSpace(target))}, true
		}
	}
	return api.Pair{}, false
}

// CheckPair refuses a link whose clusters cannot have such names.
func CheckPair(p api.Pair) error {
	for _, name := range []api.ClusterName{p.Source, p.Target} {
		if err := api.CheckClusterName(name); err != nil {
			return Usage("%s/%s is not a link: %w", p.Source, p.Target, err)
		}
	}
	return nil
}

// noLink lists the declared links, as many as anybody reads.
func noLink(f *fleet.Fleet, arg string) error {
	const most = 10
	var names []string
	for l := range f.Links() {
		names = append(names, l.Pair().Name())
	}
	listed := strings.Join(names[:min(len(names), most)], ", ")
	switch {
	case len(names) == 0:
		listed = "none"
	case len(names) > most:
		listed += fmt.Sprintf(" and %d more", len(names)-most)
	}
	declared := func(p api.Pair) bool {
		_, found := f.Link(p)
		return found
	}
	return fmt.Errorf("no link %s is declared: name a Link or a Mesh of the repository, or SOURCE/TARGET%s; declared are %s", arg, DidYouMeanLink(arg, declared), listed)
}

// NearestLink is a part of an error about a link that is not among some: the one with the nearest name, or the one in the other direction.
// Empty if neither is there.
func NearestLink(link api.Pair, among []api.Pair) string {
	names := make([]string, len(among))
	for i, p := range among {
		names[i] = p.Name()
	}
	near, ok := api.Nearest(link.Name(), names)
	if back := (api.Pair{Source: link.Target, Target: link.Source}); !ok && slices.Contains(among, back) {
		near, ok = back.Name(), true
	}
	if !ok {
		return ""
	}
	return " (did you mean " + near + "?)"
}

// DidYouMeanLink is a part of an error about a text that is no link: the link that it names if a hyphen stands for the slash. Empty if
// that is no such link, or several are, because names of clusters have hyphens, too. Without a filter, any link may be meant.
func DidYouMeanLink(text string, is func(api.Pair) bool) string {
	var found []string
	for i, r := range text {
		p := api.Pair{Source: api.ClusterName(text[:i]), Target: api.ClusterName(text[min(i+1, len(text)):])}
		if r == '-' && CheckPair(p) == nil && (is == nil || is(p)) {
			found = append(found, p.Name())
		}
	}
	if len(found) != 1 {
		return ""
	}
	return " (did you mean " + found[0] + "?)"
}

// Clusters are those that are named, or all; in order.
func Clusters(f *fleet.Fleet, names []string) ([]fleet.Cluster, error) {
	for _, name := range names {
		if err := api.CheckClusterName(api.ClusterName(name)); err != nil {
			return nil, Usage("--cluster: %w", err)
		}
		if _, ok := f.Cluster(api.ClusterName(name)); !ok {
			return nil, fmt.Errorf("--cluster %s: no such cluster is declared", name)
		}
	}
	return slices.DeleteFunc(slices.Clone(f.Clusters), func(c fleet.Cluster) bool {
		return len(names) > 0 && !slices.Contains(names, string(c.Name))
	}), nil
}

// AllLinks is all declared links.
func AllLinks(f *fleet.Fleet) map[api.Pair]bool {
	out := map[api.Pair]bool{}
	for l := range f.Links() {
		out[l.Pair()] = true
	}
	return out
}

// SomeOrAll refuses links beside --all, and neither.
func SomeOrAll(args []string, all bool) error {
	switch {
	case all && len(args) > 0:
		return Usage("--all and %s: give one of the two", args[0])
	case !all && len(args) == 0:
		return Usage("name the links, or give --all")
	}
	return nil
}
