package plan

import "github.com/linkwright/linkwright/object"

// record shows the object with another record, and the body it had.
func record(seen *object.Observation, k object.Key, r object.Record) {
	body, _ := seen.Body(k)
	edit(seen, k, r, body)
}

// show shows the object with another body, and the record it had.
func show(seen *object.Observation, k object.Key, body object.Body) {
	edit(seen, k, seen.Record(k), body)
}

func edit(seen *object.Observation, k object.Key, r object.Record, body object.Body) {
	e := seen.Edit()
	e.Put(k, r, body)
	*seen = e.Observation()
}

// bodyOf is zero for what was not seen.
func bodyOf(seen object.Observation, k object.Key) object.Body {
	body, _ := seen.Body(k)
	return body
}
