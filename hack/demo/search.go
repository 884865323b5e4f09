package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/linkwright/linkwright/api"
)

// matcher recognizes the objects that exist, or name a link's other end, because of a link. It reads names and
// Linkerd's labels only: nothing that linkwright records about itself.
type matcher struct {
	name   *regexp.Regexp           // of the link's objects
	except *regexp.Regexp           // namespace/name of objects that match name and belong to something else
	labels func(metav1.Object) bool // nil: labels do not matter
}

// sourceMatcher matches names that contain the target's name as a word (controller-east, probe-east-x7k2p,
// linkwright.west.east), and the labels and federated members that Linkerd writes. It does not match the target's
// kubeconfig in the daemon's namespace, nor the account of the link in the opposite direction.
func sourceMatcher(l api.Pair) matcher {
	target := string(l.Target)
	return matcher{
		name:   regexp.MustCompile(`(^|[.-])` + target + `($|[.-])`),
		except: regexp.MustCompile(`^` + namespace + `/` + target + `$|/(linkwright-access\.)?linkwright\.` + target + `($|[.-])`),
		labels: func(o metav1.Object) bool {
			members := strings.Split(o.GetAnnotations()[remoteDiscovery], ",")
			return o.GetLabels()[targetLabel] == target || o.GetLabels()[remoteDiscovery] == target ||
				slices.ContainsFunc(members, func(m string) bool { return strings.HasSuffix(m, "@"+target) })
		},
	}
}

// targetMatcher matches the source's account, its token, its binding and its inventory.
func targetMatcher(l api.Pair) matcher {
	return matcher{name: regexp.MustCompile(`(^|[.-])linkwright\.` + string(l.Source) + `($|[.-])`)}
}

func (m matcher) matches(o metav1.Object) bool {
	return m.matchesName(o.GetNamespace(), o.GetName()) || m.labels != nil && m.labels(o)
}

func (m matcher) matchesName(namespace, name string) bool {
	return m.name.MatchString(name) && (m.except == nil || !m.except.MatchString(namespace+"/"+name))
}

// search lists every kind that the API server serves, except Events, and counts the matching objects by kind.
func (c *cluster) search(ctx context.Context, m matcher) (found map[string]int, kinds int, err error) {
	lists, err := c.kube.Discovery().ServerPreferredResources()
	if err != nil {
		return nil, 0, fmt.Errorf("discover kinds of %s: %w", c.Name, err)
	}
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists)
	found = map[string]int{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, 0, fmt.Errorf("discover kinds of %s: %w", c.Name, err)
		}
		for _, r := range list.APIResources {
			if r.Kind == "Event" {
				continue
			}
			kinds++
			seen, err := c.metadata.Resource(gv.WithResource(r.Name)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, 0, fmt.Errorf("list %s of %s: %w", r.Name, c.Name, err)
			}
			for i := range seen.Items {
				if m.matches(&seen.Items[i]) {
					found[r.Kind]++
				}
			}
		}
	}
	return found, kinds, nil
}

// linkEnd is one end of a link, with the objects that it had before the link was removed.
type linkEnd struct {
	at      *cluster
	end     string
	matcher matcher
	before  map[string]int
	expect  []string // kinds that this end of a link always has: without them the search itself is broken
}

func (d *demo) ends(l api.Pair) []*linkEnd {
	return []*linkEnd{
		{at: d.cluster(l.Source), end: "source", matcher: sourceMatcher(l), expect: []string{
			"Link", "Deployment", "ReplicaSet", "Pod", "ServiceAccount", "Role", "RoleBinding", "ClusterRoleBinding",
			"Secret", "Service", "Endpoints", "EndpointSlice", "Lease", "ConfigMap",
		}},
		{at: d.cluster(l.Target), end: "target", matcher: targetMatcher(l), expect: []string{
			"ServiceAccount", "Secret", "ClusterRoleBinding", "ConfigMap",
		}},
	}
}

// readBefore records the objects of the link before its removal.
func (t *linkEnd) readBefore(ctx context.Context) (err error) {
	t.before, _, err = t.at.search(ctx, t.matcher)
	if err != nil {
		return err
	}
	for _, kind := range t.expect {
		if t.before[kind] == 0 {
			return fmt.Errorf("cluster %s: found no %s of the link", t.at.Name, kind)
		}
	}
	return nil
}

// gone returns how many kinds it searched, and fails while an object is left.
func (t *linkEnd) gone(ctx context.Context) (kinds int, err error) {
	now, kinds, err := t.at.search(ctx, t.matcher)
	if err != nil {
		return 0, err
	}
	for _, kind := range slices.Sorted(maps.Keys(now)) {
		return 0, fmt.Errorf("cluster %s: %d %s of the link are left", t.at.Name, now[kind], kind)
	}
	return kinds, nil
}

// removed describes the objects that the end had, in lines of at most so many columns.
func (t *linkEnd) removed(columns int) []string {
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(t.before)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", t.before[kind], kind))
	}
	return wrap(kinds, columns)
}
