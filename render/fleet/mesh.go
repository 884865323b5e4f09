package fleet

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/linkwright/linkwright/api"
)

// mesh is a rule that gives links.
type mesh struct {
	*origin
	doc    declared[api.MeshDoc]
	chosen chosen        // all that its selectors choose
	active chosen        // without the clusters that are Leaving: these are linked
	except map[int][]int // targets left out by source, ascending, each once; only what active would link
	idle   []int         // items of spec.except that leave nothing out, ascending
}

// chosen are the clusters of a mesh as indices, ascending.
//
//	topology      links                                             hubs
//	Full          every ordered pair of members                     all members (the same slice)
//	HubAndSpoke   a hub with every other member, both directions    those members that spec.hubs selects
type chosen struct{ members, hubs []int }

// gives reports whether there is a link from source to target.
func (c chosen) gives(source, target int) bool {
	return source != target && has(c.members, source) && has(c.members, target) && (has(c.hubs, source) || has(c.hubs, target))
}

// size is the number of links: each hub has all other members, and each spoke all hubs.
func (c chosen) size() int {
	hubs, members := len(c.hubs), len(c.members)
	return hubs*(members-1) + (members-hubs)*hubs
}

// mesh returns what a declaration selects, or false if its selectors are none.
func (e *endings) mesh(d declared[api.MeshDoc]) (*mesh, bool) {
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
	m.chosen = e.choose(members, hubs, spec.Topology)
	m.active = m.chosen.without(func(i int) bool { return e.fleet.names[i].leaving() })
	for i, x := range spec.Except {
		m.leaveOut(e, i, x)
	}
	return m, true
}

func (e *endings) selector(d declared[api.MeshDoc], s *metav1.LabelSelector, field string) (labels.Selector, bool) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil && d.sound {
		e.failIn(d.document, api.Path{"spec", field}, err.Error(), "")
	}
	return selector, err == nil
}

// choose returns what a mesh selects.
func (e *endings) choose(members, hubs labels.Selector, topology api.Topology) chosen {
	var c chosen
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

// without leaves out the clusters for which it is true.
func (c chosen) without(out func(int) bool) chosen {
	if !slices.ContainsFunc(c.members, out) {
		return c
	}
	return chosen{slices.DeleteFunc(slices.Clone(c.members), out), slices.DeleteFunc(slices.Clone(c.hubs), out)}
}

// leaveOut takes in one item of spec.except.
func (m *mesh) leaveOut(e *endings, i int, x api.Except) {
	source, okSource := e.find(x.Source, m.doc.document, "spec", "except", strconv.Itoa(i), "source")
	target, okTarget := e.find(x.Target, m.doc.document, "spec", "except", strconv.Itoa(i), "target")
	switch at, twice := slices.BinarySearch(m.except[source], target); {
	case !okSource || !okTarget || source == target || twice: // told elsewhere
	case m.active.gives(source, target):
		m.except[source] = slices.Insert(m.except[source], at, target)
	case !m.chosen.gives(source, target):
		m.idle = append(m.idle, i)
	}
}

// targets gives whom the mesh links from source, ascending, source itself perhaps among them. The slice belongs to the mesh.
func (m *mesh) targets(source int) []int {
	out := m.active.hubs
	switch {
	case has(m.active.hubs, source):
		out = m.active.members
	case !has(m.active.members, source):
		return nil
	}
	if left := m.except[source]; len(left) > 0 {
		return slices.DeleteFunc(slices.Clone(out), func(t int) bool { return has(left, t) })
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

func has(ascending []int, i int) bool {
	_, found := slices.BinarySearch(ascending, i)
	return found
}
