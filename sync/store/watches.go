package store

import (
	"reflect"
	"slices"

	"github.com/linkwright/linkwright/object"
)

// mostLists bounds the lists that are kept to be shared: clusters that differ in what is read are all different.
const mostLists = 8

// watchLists are lists of what is read in clusters, the last used one first. Most clusters are read alike: one list does for all of them.
type watchLists [][]object.Watch

// one returns the list that is kept for one like it; nobody changes it any more.
func (l *watchLists) one(list, last []object.Watch) []object.Watch {
	if reflect.DeepEqual(list, last) {
		return last
	}
	at := slices.IndexFunc(*l, func(kept []object.Watch) bool { return reflect.DeepEqual(kept, list) })
	if at < 0 {
		*l = slices.Insert((*l)[:min(len(*l), mostLists-1)], 0, list)
		return list
	}
	kept := (*l)[at]
	*l = slices.Insert(slices.Delete(*l, at, at+1), 0, kept)
	return kept
}
