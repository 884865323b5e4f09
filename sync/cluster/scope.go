package cluster

import (
	"cmp"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/linkwright/linkwright/object"
)

// scope is what one read is about: a kind in a namespace, narrowed by a label selector, or one object of it.
type scope struct {
	kind                      schema.GroupVersionKind
	namespace, selector, name string
	depth                     object.Depth
	polled, versions, health  bool
}

// unite gives the scopes that show all that is watched, each read once and as deep as any watch wants it, the deepest
// first. What a wider scope shows as deeply is left out.
func unite(watches []object.Watch) []scope {
	var all []scope
	at := map[scope]int{}
	for _, w := range watches {
		for _, s := range scopesOf(w) {
			where := s
			where.depth, where.polled, where.health = 0, false, false
			i, ok := at[where]
			if !ok {
				at[where] = len(all)
				all = append(all, s)
				continue
			}
			all[i].depth, all[i].polled, all[i].health = max(all[i].depth, s.depth), all[i].polled || s.polled, all[i].health || s.health
		}
	}
	wide := slices.DeleteFunc(slices.Clone(all), func(s scope) bool { return s.selector != "" || s.name != "" })
	all = slices.DeleteFunc(all, func(s scope) bool {
		return slices.ContainsFunc(wide, func(w scope) bool { return w.shows(s) })
	})
	slices.SortStableFunc(all, func(a, b scope) int { return cmp.Compare(b.depth, a.depth) })
	return all
}

// scopesOf gives one for a watch, or one for each of its names; these have no use for its selector.
func scopesOf(w object.Watch) []scope {
	s := scope{
		kind:      schema.GroupVersionKind{Group: w.Group, Version: w.Version, Kind: w.Kind},
		namespace: w.Namespace, depth: w.Depth, versions: w.Versions, health: w.Health,
	}
	if len(w.Names) == 0 {
		s.selector = w.Selector
		return []scope{s}
	}
	out := make([]scope, len(w.Names))
	for i, name := range w.Names {
		out[i] = s
		out[i].name, out[i].polled = name, w.Polled
	}
	return out
}

// shows says that what s, which is no narrowed scope, shows includes all that another one would.
func (s scope) shows(o scope) bool {
	within := s.namespace == o.namespace || s.namespace == ""
	return s != o && within && s.kind == o.kind && s.depth >= o.depth && (s.health || !o.health)
}

// called is the kind as Observation.Unserved names it.
func (s scope) called() string {
	return object.Watch{Group: s.kind.Group, Version: s.kind.Version, Kind: s.kind.Kind}.Called()
}

// String is how errors call it.
func (s scope) String() string {
	out := s.kind.Kind
	if s.kind.Group != "" {
		out += "." + s.kind.Group
	}
	if s.name != "" {
		out += " " + s.name
	}
	if s.namespace != "" {
		out += " in namespace " + s.namespace
	}
	return out
}

// fits refuses a scope that makes no sense for where its kind is served.
func (s scope) fits(r resource) error {
	switch {
	case s.namespace != "" && !r.namespaced:
		return errors.New("the kind is cluster-scoped: watch it without namespace")
	case s.name != "" && s.namespace == "" && r.namespaced:
		return errors.New("names need a namespace")
	}
	return nil
}
