package prune

import "github.com/linkwright/linkwright/object"

// record shows the object with another record, and the body it had.
func record(observed *object.Observation, k object.Key, r object.Record) {
	body, _ := observed.Body(k)
	put(observed, k, r, body)
}

// show shows the object with another body, and the record it had.
func show(observed *object.Observation, k object.Key, body object.Body) {
	put(observed, k, observed.Record(k), body)
}

func put(observed *object.Observation, k object.Key, r object.Record, body object.Body) {
	e := observed.Edit()
	e.Put(k, r, body)
	*observed = e.Observation()
}

func drop(observed *object.Observation, k object.Key) {
	e := observed.Edit()
	e.Drop(k)
	*observed = e.Observation()
}
