package inventory

import (
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/object"
)

// Place is where something of ours may lie, or come to lie, though no other inventory tells of it: a Namespace, for all that
// is ours in it, or one object. Only a base has places.
type Place struct {
	object.Key
	// Since is when nothing was declared there any more, in UTC and whole seconds; zero: something is.
	Since time.Time `json:"since,omitzero"`
}

// Former says that nothing is declared there.
func (p Place) Former() bool { return !p.Since.IsZero() }

// Namespace is the namespace that the place is as a whole; false: it is one object.
func (p Place) Namespace() (string, bool) {
	return p.Name, p.Group == "" && p.Kind == "Namespace"
}

func (p Place) same(q Place) bool { return p.Key == q.Key && p.Since.Equal(q.Since) }

// SamePlaces says that writing one list over the other would change nothing.
func SamePlaces(a, b []Place) bool { return slices.EqualFunc(a, b, Place.same) }

// placesRead are places as we would have written them; what names nothing is none.
func placesRead(places []Place) []Place {
	places = slices.DeleteFunc(places, func(p Place) bool { return p.Kind == "" || p.Name == "" })
	for i, p := range places {
		places[i].Since = spelled(p.Since)
	}
	slices.SortStableFunc(places, func(a, b Place) int { return a.Compare(b.Key) })
	return slices.CompactFunc(places, func(a, b Place) bool { return a.Key == b.Key })
}

// places reads what Object wrote of them.
func places(list string) (out []Place, ok bool) {
	for rest := list; ; {
		var p Place
		if p.Key, ok = key(&rest); take(&rest, `,"since":"`) {
			p.Since, ok = moment(&rest, ok)
		}
		if !take(&rest, `}`) || !ok {
			return nil, false
		}
		if out = append(out, p); rest == "" {
			return out, true
		}
		if !take(&rest, `,`) {
			return nil, false
		}
	}
}

// placed cuts the places from what stands before the entries.
func placed(before string) (rest string, out []Place, ok bool) {
	rest, list, some := strings.Cut(before, `,"places":[`)
	if !some {
		return before, nil, true
	}
	list, ok = strings.CutSuffix(list, "]")
	if !ok {
		return "", nil, false
	}
	out, ok = places(list)
	return rest, out, ok
}

// Remembers says that a base remembers this very object as one that an inventory held.
func (inv Inventory) Remembers(k object.Key) bool {
	return slices.ContainsFunc(inv.Places, func(p Place) bool { return p.Key == k })
}
