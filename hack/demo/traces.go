package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/linkwright/linkwright/api"
)

// mark says that an object is there, or says what it says, because of a link. It is made of names and
// Linkerd's labels alone, and knows nothing of what linkwright writes down about itself.
type mark struct {
	name   *regexp.Regexp           // of what belongs to the link
	except *regexp.Regexp           // of namespace/name: bears the same word, and belongs to another
	labels func(metav1.Object) bool // nil: no labels count
}

// atSource: every name with the target's name in it as a word (controller-east, probe-east-x7k2p,
// linkwright.west.east), every label and membership that Linkerd writes for it. Not the target's kubeconfig
// in the daemon's namespace, and not the access of the link the other way round.
func atSource(l api.Pair) mark {
	target := string(l.Target)
	return mark{
		name:   regexp.MustCompile(`(^|[.-])` + target + `($|[.-])`),
		except: regexp.MustCompile(`^` + namespace + `/` + target + `$|/(linkwright-access\.)?linkwright\.` + target + `($|[.-])`),
		labels: func(o metav1.Object) bool {
			members := strings.Split(o.GetAnnotations()[discoveryMark], ",")
			return o.GetLabels()[targetLabel] == target || o.GetLabels()[discoveryMark] == target ||
				slices.ContainsFunc(members, func(m string) bool { return strings.HasSuffix(m, "@"+target) })
		},
	}
}

// atTarget: the source's account, its token, its rights, and the inventory that begin so.
func atTarget(l api.Pair) mark {
	return mark{name: regexp.MustCompile(`(^|[.-])linkwright\.` + string(l.Source) + `($|[.-])`)}
}

func (m mark) on(o metav1.Object) bool {
	return m.names(o.GetNamespace(), o.GetName()) || m.labels != nil && m.labels(o)
}

func (m mark) names(namespace, name string) bool {
	return m.name.MatchString(name) && (m.except == nil || !m.except.MatchString(namespace+"/"+name))
}

// traces lists everything that the API server serves, Events apart, and counts by kind what bears the mark.
func (c *cluster) traces(ctx context.Context, m mark) (found map[string]int, kinds int, err error) {
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
				if m.on(&seen.Items[i]) {
					found[r.Kind]++
				}
			}
		}
	}
	return found, kinds, nil
}

// traced is the mark of a link at one of its ends, and what was found of it before the link went.
type traced struct {
	at     *cluster
	end    string
	mark   mark
	before map[string]int
	must   []string // kinds that a link has there: without them the look itself would prove nothing
}

func (d *demo) ends(l api.Pair) []*traced {
	return []*traced{
		{at: d.cluster(l.Source), end: "source", mark: atSource(l), must: []string{
			"Link", "Deployment", "ReplicaSet", "Pod", "ServiceAccount", "Role", "RoleBinding", "ClusterRoleBinding",
			"Secret", "Service", "Endpoints", "EndpointSlice", "Lease", "ConfigMap",
		}},
		{at: d.cluster(l.Target), end: "target", mark: atTarget(l), must: []string{
			"ServiceAccount", "Secret", "ClusterRoleBinding", "ConfigMap",
		}},
	}
}

// look remembers what is there of the link.
func (t *traced) look(ctx context.Context) (err error) {
	t.before, _, err = t.at.traces(ctx, t.mark)
	if err != nil {
		return err
	}
	for _, kind := range t.must {
		if t.before[kind] == 0 {
			return fmt.Errorf("cluster %s: nothing of kind %s is there of the link", t.at.Name, kind)
		}
	}
	return nil
}

// gone gives the rows of a table of what was there, once nothing of it is.
func (t *traced) gone(ctx context.Context) ([][]string, error) {
	now, kinds, err := t.at.traces(ctx, t.mark)
	if err != nil {
		return nil, err
	}
	for _, kind := range slices.Sorted(maps.Keys(now)) {
		return nil, fmt.Errorf("cluster %s: %d of kind %s are left of the link", t.at.Name, now[kind], kind)
	}
	var rows [][]string
	for _, kind := range slices.Sorted(maps.Keys(t.before)) {
		rows = append(rows, []string{t.end + " " + t.at.Name, kind, strconv.Itoa(t.before[kind]), "0"})
	}
	return append(rows, []string{t.end + " " + t.at.Name, fmt.Sprintf("any of %d kinds", kinds), "", "0"}), nil
}
