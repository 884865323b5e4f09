package prune

import "github.com/linkwright/linkwright/object"

// record shows the object with another record, and the body it had.
func record(seen *object.Observation, k object.Key, r object.Record) {
	body, _ := seen.Body(k)
	put(seen, k, r, body)
}

// show shows the object with another body, and the record it had.
func show(seen *object.Observation, k object.Key, body object.Body) {
	put(seen, k, seen.Record(k), body)
}

func put(seen *object.Observation, k object.Key, r object.Record, body object.Body) {
	e := seen.Edit()
	e.Put(k, r, body)
	*seen = e.Observation()
}

func drop(seen *object.Observation, k object.Key) {
	e := seen.Edit()
	e.Drop(k)
	*seen = e.Observation()
}
