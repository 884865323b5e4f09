package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/linkwright/linkwright/api"
)

// Value is one field of Linkerd's values that a cluster must have.
type Value struct {
	Path string  // such as proxy.logLevel
	JSON string  // the value, in the form of encoding/json
	From string  // such as "ProxyConfig base"
	At   api.Pos // of the field
}

// proxyConfig is a ProxyConfig with the values that it declares, by path.
type proxyConfig struct {
	declared[api.ProxyConfigDoc]
	values  []Value
	waves   []labels.Selector  // of its rollout
	idle    bool               // it selects no cluster
	clashes map[[2]string]bool // with which other one, and in which field: each is reported once, however many clusters have it
}

// clash reports whether a contradiction is new.
func (p *proxyConfig) clash(from, path string) bool {
	known := p.clashes[[2]string{from, path}]
	p.clashes[[2]string{from, path}] = true
	return !known
}

// proxyConfigs sets the values of each cluster by all ProxyConfigs that select it, and fails those that contradict each other. A ProxyConfig of a higher
// priority comes first, so that only those are compared that would decide.
func (j *joiner) proxyConfigs(f *Fleet) (out []*proxyConfig) {
	docs := unique(j, "ProxyConfig", j.proxies)
	slices.SortStableFunc(docs, func(a, b declared[api.ProxyConfigDoc]) int {
		return cmp.Compare(b.value.Spec.Priority, a.value.Spec.Priority)
	})
	for _, d := range docs {
		selector, err := metav1.LabelSelectorAsSelector(&d.value.Spec.Clusters)
		if err != nil {
			if d.valid {
				j.failIn(d.document, api.Path{"spec", "clusters"}, err.Error(), "")
			}
			continue
		}
		p := &proxyConfig{declared: d, values: valuesOf(d), waves: wavesOf(d), idle: true, clashes: map[[2]string]bool{}}
		for i := range f.names {
			c := &f.names[i]
			if c.Spec.SameAs == "" && selector.Matches(labels.Set(c.Labels)) {
				p.idle = false
				j.mergeValues(c, p)
				j.mergeRollout(c, p)
			}
		}
		out = append(out, p)
	}
	for i := range f.names {
		j.settleValues(&f.names[i])
	}
	return out
}

// mergeValues adds the values of a ProxyConfig to those of a cluster.
func (j *joiner) mergeValues(c *Cluster, p *proxyConfig) {
	for _, v := range p.values {
		at, found := slices.BinarySearchFunc(c.values, v.Path, func(w rankedValue, path string) int { return cmp.Compare(w.Path, path) })
		ranked := rankedValue{v, p.value.Spec.Priority}
		switch {
		case !found:
			c.values = slices.Insert(c.values, at, ranked)
		case c.values[at].priority == ranked.priority && p.clash(c.values[at].From, v.Path):
			j.failTwice(v.At, c.values[at].At, fmt.Sprintf("%s and %s both set %s of cluster %s with priority %d", c.values[at].From, v.From, v.Path, c.Name, ranked.priority),
				"remove one, or declare another spec.priority")
		}
	}
}

// rankedValue is a value with the priority of its ProxyConfig.
type rankedValue struct {
	Value
	priority int32
}

// settleValues makes the values of a cluster known, and fails a combination that the injector rejects.
func (j *joiner) settleValues(c *Cluster) {
	for _, v := range c.values {
		c.Values = append(c.Values, v.Value)
	}
	c.values = nil
	for _, e := range api.Exclusions() {
		first, second := c.value(e.Fields[0]), c.value(e.Fields[1])
		if first.From != second.From && e.RejectsDeclared(first.JSON, second.JSON) {
			j.failTwice(second.At, first.At, fmt.Sprintf("%s sets %s of cluster %s, and %s sets %s", second.From, second.Path, c.Name, first.From, first.Path),
				"remove one of them: "+e.Wrong)
		}
	}
}

// value returns the declared value of a path; zero: there is none.
func (c *Cluster) value(path string) Value {
	if at, found := slices.BinarySearchFunc(c.Values, path, func(v Value, path string) int { return cmp.Compare(v.Path, path) }); found {
		return c.Values[at]
	}
	return Value{}
}

// valuesOf returns the values that a ProxyConfig declares, by path. A list is one value.
func valuesOf(d declared[api.ProxyConfigDoc]) []Value {
	spec := d.value.Spec
	spec.Clusters, spec.Priority, spec.Rollout = metav1.LabelSelector{}, 0, nil
	text, err := json.Marshal(spec)
	var tree map[string]json.RawMessage
	if err != nil || json.Unmarshal(text, &tree) != nil {
		return nil // it was decoded from JSON
	}
	delete(tree, "clusters")
	return leaves(d, api.Path{}, tree)
}

func leaves(d declared[api.ProxyConfigDoc], at api.Path, tree map[string]json.RawMessage) (out []Value) {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		path := join(at, name)
		var below map[string]json.RawMessage
		if json.Unmarshal(tree[name], &below) == nil && below != nil {
			out = append(out, leaves(d, path, below)...)
			continue
		}
		out = append(out, Value{Path: path.String(), JSON: string(tree[name]), From: "ProxyConfig " + d.name(), At: d.at(append(api.Path{"spec"}, path...)...)})
	}
	return out
}

// idleProxyConfigs warns of ProxyConfigs that change nothing.
func idleProxyConfigs(x *lintInput) (out []api.Problem) {
	for _, p := range x.proxyConfigs {
		switch {
		case len(p.values) == 0 && p.value.Spec.Rollout == nil:
			out = append(out, api.Problem{Pos: p.at("spec"), Message: "ProxyConfig " + p.name() + " sets nothing", Hint: "declare spec.proxy or spec.rollout, or remove it"})
		case p.idle && contradiction(&p.value.Spec.Clusters) == "":
			out = append(out, api.Problem{Pos: p.at("spec", "clusters"), Message: "ProxyConfig " + p.name() + " selects no cluster", Hint: "check the labels of the clusters"})
		}
	}
	return out
}
