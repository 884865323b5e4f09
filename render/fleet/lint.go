package fleet

import (
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// lint gives warnings about a fleet that is valid and may still not be what was meant.
func lint(f *Fleet) []api.Problem { return append(suffixes(f), blind(f)...) }

// suffixes warns of targets whose mirrors could get one name in a source: web-us of east and web of us-east are both
// web-us-east. One warning for two such targets, with one source as example.
func suffixes(f *Fleet) []api.Problem {
	var out []api.Problem
	for i := range f.Clusters {
		long := &f.Clusters[i]
		for rest := string(long.Name); ; {
			head, tail, more := strings.Cut(rest, "-")
			if !more {
				break
			}
			rest = tail
			prefix := strings.TrimSuffix(string(long.Name), "-"+tail)
			if source, ok := bothLinked(f, api.ClusterName(tail), long.Name); ok && head != "" {
				out = append(out, ambiguous(long, tail, prefix, source))
			}
		}
	}
	return out
}

func ambiguous(long *Cluster, short, prefix string, source api.ClusterName) api.Problem {
	return api.Problem{
		Pos: long.At, Warning: true,
		Message: fmt.Sprintf("cluster names %s and %s can collide: in %s, service web-%s of %s and service web of %s would both be web-%s",
			short, long.Name, source, prefix, short, long.Name, long.Name),
		Hint: "names that do not end in another cluster's name are safe",
	}
}

// bothLinked gives the first source that has links to both targets.
func bothLinked(f *Fleet, a, b api.ClusterName) (source api.ClusterName, ok bool) {
	x, y := f.In(a), f.In(b)
	for len(x) > 0 && len(y) > 0 {
		switch c := strings.Compare(string(x[0].Source.Name), string(y[0].Source.Name)); {
		case c == 0:
			return x[0].Source.Name, true
		case c < 0:
			x = x[1:]
		default:
			y = y[1:]
		}
	}
	return "", false
}

// blind warns of links that can mirror nothing: no gateway in the target, and nothing selected that does without one.
// One warning for a declaration.
func blind(f *Fleet) []api.Problem {
	first, more := map[*api.Pos]Link{}, map[*api.Pos]int{}
	for l := range f.Links() {
		if l.Target.Spec.Gateway.On() || l.Spec.UsesRemoteDiscovery() {
			continue
		}
		if _, known := first[l.At]; known {
			more[l.At]++
			continue
		}
		first[l.At] = l
	}
	var out []api.Problem
	for at, l := range first {
		out = append(out, api.Problem{
			Pos: *at, Warning: true,
			Message: fmt.Sprintf("%s: nothing can be mirrored over %s: the target's gateway is disabled, and neither remote discovery nor federation is selected",
				l.From, andMore(l.Pair(), more[at])),
			Hint: "add remoteDiscoverySelector or federatedServiceSelector, or enable the gateway",
		})
	}
	return out
}
