package plan

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/pair"
)

// After is the side a cluster would show once the step was done; side stays as it is. Every object that
// was written has a body, as it went out: what others add to one (a token, a status, defaults) is not
// in it, so credentials come from World.Fresh. A refused step, an unknown side: nothing changes.
//
//	create, update, drain, replace   record of object.Written, body of the object
//	release                          record as it was, body with the patch merged in
//	delete                           neither is left
func After(side pair.Side, s Step) pair.Side {
	if !side.Known || s.Refused != nil {
		return side
	}
	side.Seen.Own, side.Seen.Bodies = maps.Clone(side.Seen.Own), maps.Clone(side.Seen.Bodies)
	if side.Seen.Own == nil {
		side.Seen.Own = map[object.Key]object.Record{}
	}
	if side.Seen.Bodies == nil {
		side.Seen.Bodies = map[object.Key]object.Body{}
	}
	for _, c := range slices.Concat(s.Ahead, s.Changes, s.After) {
		do(side.Seen, c)
	}
	return side
}

func do(seen object.Observation, c object.Change) {
	switch c.Action {
	case object.None:
	case object.Delete:
		delete(seen.Own, c.Key)
		delete(seen.Bodies, c.Key)
	case object.Release:
		if body, ok := seen.Bodies[c.Key]; ok {
			seen.Bodies[c.Key] = merged(body, c.Object.Body)
		}
	default:
		seen.Own[c.Key], seen.Bodies[c.Key] = object.Written(c.Object), c.Object.Body
	}
}

// merged applies a JSON merge patch (RFC 7396) to an object; what is no object stays as it is.
func merged(body, patch object.Body) object.Body {
	var into, from map[string]any
	if json.Unmarshal(body.Bytes(), &into) != nil || json.Unmarshal(patch.Bytes(), &from) != nil || into == nil {
		return body
	}
	merge(into, from)
	out, err := json.Marshal(into)
	if err != nil {
		return body
	}
	return object.NewBody(out)
}

func merge(into, from map[string]any) {
	for name, v := range from {
		child, isMap := v.(map[string]any)
		switch {
		case v == nil:
			delete(into, name)
		case isMap:
			below, ok := into[name].(map[string]any)
			if !ok {
				below = map[string]any{}
				into[name] = below
			}
			merge(below, child)
		default:
			into[name] = v
		}
	}
}
