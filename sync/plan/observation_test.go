package plan

import "github.com/linkwright/linkwright/object"

// record shows the object with another record, and the body it had.
func record(observed *object.Observation, k object.Key, r object.Record) {
	body, _ := observed.Body(k)
	edit(observed, k, r, body)
}

// show shows the object with another body, and the record it had.
func show(observed *object.Observation, k object.Key, body object.Body) {
	edit(observed, k, observed.Record(k), body)
}

func edit(observed *object.Observation, k object.Key, r object.Record, body object.Body) {
	e := observed.Edit()
	e.Put(k, r, body)
	*observed = e.Observation()
}

// bodyOf is zero for what was not seen.
func bodyOf(observed object.Observation, k object.Key) object.Body {
	body, _ := observed.Body(k)
	return body
}
