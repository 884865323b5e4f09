package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// mirrors reports whether services of the target get mirrors called <service>-<target>; federated services are called otherwise.
func mirrors(l Link) bool { return l.Spec.Mirrors(l.Target.Spec.Gateway) }

// collisions warns of targets whose mirrors could get one name in a source: web-us of east and web of us-east are both
// web-us-east. One warning for two such targets, with one source as example.
func collisions(x *lintInput) []api.Problem {
	var out []api.Problem
	for i := range x.names {
		long := string(x.names[i].Name)
		for at := range len(long) {
			if long[at] != '-' {
				continue
			}
			short, prefix := long[at+1:], long[:at]
			if source, ok := bothMirrored(x.Fleet, api.ClusterName(short), api.ClusterName(long)); ok {
				out = append(out, api.Problem{
					Pos: x.named(i),
					Message: fmt.Sprintf("cluster names %s and %s can collide: in %s, service web-%s of %s and service web of %s would both be web-%s",
						short, long, source, prefix, short, long, long),
					Hint: "choose names that do not end in another cluster's name",
				})
			}
		}
	}
	return out
}

// bothMirrored returns the first source with mirrors of both targets.
func bothMirrored(f *Fleet, a, b api.ClusterName) (source api.ClusterName, ok bool) {
	x, y := f.into(a), f.into(b)
	for len(x) > 0 && len(y) > 0 {
		switch c := strings.Compare(string(x[0].Source.Name), string(y[0].Source.Name)); {
		case c == 0 && mirrors(x[0]) && mirrors(y[0]):
			return x[0].Source.Name, true
		case c <= 0:
			x = x[1:]
		default:
			y = y[1:]
		}
	}
	return "", false
}

// tooLong warns of targets whose name, as the end of a mirror's, leaves too little for a service's.
func tooLong(x *lintInput) []api.Problem {
	const most, enough = 63, 30 // of a Service's name; of what people call a service
	var out []api.Problem
	for i := range x.names {
		name := x.names[i].Name
		left := most - len("-") - len(name)
		if left >= enough || !slices.ContainsFunc(x.into(name), mirrors) {
			continue
		}
		out = append(out, api.Problem{
			Pos: x.named(i),
			Message: fmt.Sprintf("cluster name %s has %d characters: its mirrors are named <service>-%s, and a service whose name is longer than %d cannot be mirrored",
				name, len(name), name, left),
			Hint: fmt.Sprintf("a cluster name of %d characters leaves %d for the service", most-len("-")-enough, enough),
		})
	}
	return out
}

// named is where a cluster's name is declared.
func (x *lintInput) named(cluster int) api.Pos { return x.docs[cluster].at("metadata", "name") }
