package fleet

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/linkwright/linkwright/api"
)

// mesh is a declared Mesh with the clusters that it selects.
type mesh struct {
	*origin
	doc      declared[api.MeshDoc]
	selected selection     // all that its selectors choose
	active   selection     // without the clusters that are Leaving: these are linked
	except   map[int][]int // targets left out by source, ascending, each once; only what active would link
	idle     []int         // items of spec.except that leave nothing out, ascending
}

// selection are the clusters of a mesh as indices, ascending.
//
//	topology      links                                             hubs
//	Full          every ordered pair of members                     all members (the same slice)
//	HubAndSpoke   a hub with every other member, both directions    those members that spec.hubs selects
type selection struct{ members, hubs []int }

// links reports whether the mesh links source to target.
func (c selection) links(source, target int) bool {
	return source != target && containsIndex(c.members, source) && containsIndex(c.members, target) && (containsIndex(c.hubs, source) || containsIndex(c.hubs, target))
}

// size is the number of links: each hub has all other members, and each spoke all hubs.
func (c selection) size() int {
	hubs, members := len(c.hubs), len(c.members)
	return hubs*(members-1) + (members-hubs)*hubs
}

// mesh evaluates the selectors of a Mesh; false: one is invalid.
func (e *resolver) mesh(d declared[api.MeshDoc]) (*mesh, bool) {
	spec := d.value.Spec.WithDefaults()
	m := &mesh{
		origin: &origin{from: "Mesh " + d.name(), at: d.at(), spec: spec.Template, mesh: true},
		doc:    d, except: map[int][]int{},
	}
	members, ok := e.selector(d, &spec.Clusters, "clusters")
	hubs, okHubs := e.selector(d, spec.Hubs, "hubs")
	if !ok || !okHubs {
		return nil, false
	}
	m.selected = e.selectClusters(members, hubs, spec.Topology)
	m.active = m.selected.without(func(i int) bool { return e.fleet.names[i].leaving() })
	for i, x := range spec.Except {
		m.addExcept(e, i, x)
	}
	return m, true
}

func (e *resolver) selector(d declared[api.MeshDoc], s *metav1.LabelSelector, field string) (labels.Selector, bool) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil && d.valid {
		e.failIn(d.document, api.Path{"spec", field}, err.Error(), "")
	}
	return selector, err == nil
}

// selectClusters evaluates the selectors for all clusters.
func (e *resolver) selectClusters(members, hubs labels.Selector, topology api.Topology) selection {
	var c selection
	for i := range e.fleet.names {
		set := labels.Set(e.fleet.names[i].Labels)
		if !members.Matches(set) {
			continue
		}
		c.members = append(c.members, i)
		if topology == api.HubAndSpoke && hubs.Matches(set) {
			c.hubs = append(c.hubs, i)
		}
	}
	if topology != api.HubAndSpoke {
		c.hubs = c.members
	}
	return c
}

// without drops the clusters for which out is true.
func (c selection) without(out func(int) bool) selection {
	if !slices.ContainsFunc(c.members, out) {
		return c
	}
	return selection{slices.DeleteFunc(slices.Clone(c.members), out), slices.DeleteFunc(slices.Clone(c.hubs), out)}
}

// addExcept adds one item of spec.except.
func (m *mesh) addExcept(e *resolver, i int, x api.Except) {
	source, okSource := e.resolve(linkEnd{x.Source, x.Target}, m.doc.document, "spec", "except", strconv.Itoa(i), "source")
	target, okTarget := e.resolve(linkEnd{x.Target, x.Source}, m.doc.document, "spec", "except", strconv.Itoa(i), "target")
	switch at, twice := slices.BinarySearch(m.except[source], target); {
	case !okSource || !okTarget || source == target || twice: // reported elsewhere
	case m.active.links(source, target):
		m.except[source] = slices.Insert(m.except[source], at, target)
	case !m.selected.links(source, target):
		m.idle = append(m.idle, i)
	}
}

// targets returns the clusters to which the mesh links source, ascending, perhaps with source itself. The slice belongs to the mesh.
func (m *mesh) targets(source int) []int {
	out := m.active.hubs
	switch {
	case containsIndex(m.active.hubs, source):
		out = m.active.members
	case !containsIndex(m.active.members, source):
		return nil
	}
	if excepted := m.except[source]; len(excepted) > 0 {
		return slices.DeleteFunc(slices.Clone(out), func(t int) bool { return containsIndex(excepted, t) })
	}
	return out
}

// size is the number of its links.
func (m *mesh) size() int {
	n := m.active.size()
	for _, targets := range m.except {
		n -= len(targets)
	}
	return n
}

func containsIndex(ascending []int, i int) bool {
	_, found := slices.BinarySearch(ascending, i)
	return found
}
