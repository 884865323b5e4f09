package cluster

import (
	"cmp"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/linkwright/linkwright/object"
)

// scope is what one read is about, and what of it is kept.
type scope struct {
	location
	extent
	versions, mayHide bool // as of a watch
}

// extent is how much of an object is kept, as a watch says it.
type extent struct {
	depth        object.Depth
	health, spec bool
}

// whole reports whether all of an object is asked for, whatever of it is kept.
func (e extent) whole() bool { return e.depth == object.Whole || e.health || e.spec }

// location is a kind in a namespace, narrowed by a label selector, or one object of it.
type location struct {
	kind                      schema.GroupVersionKind
	namespace, selector, name string
}

// mergeScopes returns the scopes that show all that is watched, each read once and as deep as any watch wants it, the deepest first. What a wider
// scope shows as deeply is left out.
func mergeScopes(watches []object.Watch) []scope {
	var all []scope
	at := map[location]int{}
	for _, w := range watches {
		for _, s := range scopesOf(w) {
			if i, ok := at[s.location]; ok {
				all[i] = all[i].and(s)
				continue
			}
			at[s.location] = len(all)
			all = append(all, s)
		}
	}
	wide := slices.DeleteFunc(slices.Clone(all), func(s scope) bool { return s.selector != "" || s.name != "" })
	for i, s := range all {
		for _, w := range wide {
			if w.contains(s.location) && s.health { // what is judged must not be hidden by what is only deeper
				all[i].depth = max(all[i].depth, w.depth)
			}
		}
	}
	all = slices.DeleteFunc(all, func(s scope) bool {
		return slices.ContainsFunc(wide, func(w scope) bool { return w.contains(s.location) && w.and(s) == w })
	})
	slices.SortStableFunc(all, func(a, b scope) int { return cmp.Or(cmp.Compare(b.depth, a.depth), first(a.health, b.health)) })
	return all
}

// first orders what is true before what is not.
func first(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

// scopesOf returns one for a watch, or one for each of its names; these have no use for its selector.
func scopesOf(w object.Watch) []scope {
	s := scope{
		location: location{kind: schema.GroupVersionKind{Group: w.Group, Version: w.Version, Kind: w.Kind}, namespace: w.Namespace},
		extent:   extent{w.Depth, w.Health, w.Spec}, versions: w.Versions, mayHide: w.MayBeForbidden,
	}
	if len(w.Names) == 0 {
		s.selector = w.Selector
		return []scope{s}
	}
	out := make([]scope, len(w.Names))
	for i, name := range w.Names {
		out[i] = s
		out[i].name = name
	}
	return out
}

// and keeps of s what either of two scopes keeps.
func (s scope) and(o scope) scope {
	s.depth = max(s.depth, o.depth)
	s.versions, s.health, s.spec = s.versions || o.versions, s.health || o.health, s.spec || o.spec
	s.mayHide = s.mayHide && o.mayHide
	return s
}

// contains reports whether what lies elsewhere is a part of this place, which is not narrowed.
func (p location) contains(o location) bool {
	return p != o && p.kind == o.kind && (p.namespace == o.namespace || p.namespace == "")
}

// kindName returns the kind as Observation.Unserved names it.
func (s scope) kindName() string {
	return object.Watch{Group: s.kind.Group, Version: s.kind.Version, Kind: s.kind.Kind}.KindName()
}

// key returns that of the single object that it is about; without a name, of all of them.
func (s scope) key() object.Key {
	return object.Key{Group: s.kind.Group, Kind: s.kind.Kind, Namespace: s.namespace, Name: s.name}
}

// hidden returns what nobody sees while it may not be read.
func (s scope) hidden(by object.Installation) object.Hidden {
	return object.Hidden{Key: s.key(), Selector: s.selector, By: by}
}

// String returns how errors call it.
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
