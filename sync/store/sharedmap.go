package store

import "maps"

// sharedMap is a map that is handed out as it is: whoever has it sees it stay so, since it is copied before it changes. What is
// lent is given back, and need not be copied after that. Its zero value is empty.
type sharedMap[K comparable, V any] struct {
	at      map[K]V // to read; it changes by the methods alone
	readers bool    // it was handed out since it was copied
	shared  *int    // how many have it on loan; nil: nobody since it was copied
}

// all hands it out.
func (s *sharedMap[K, V]) all() map[K]V {
	s.readers = true
	return s.at
}

// lend hands it out until its borrower counts one down.
func (s *sharedMap[K, V]) lend() (map[K]V, *int) {
	if s.shared == nil {
		s.shared = new(int)
	}
	*s.shared++
	return s.at, s.shared
}

func (s *sharedMap[K, V]) set(k K, v V) {
	s.own()
	s.at[k] = v
}

// drop takes out what is gone, and says whether something was.
func (s *sharedMap[K, V]) drop(gone func(K, V) bool) bool {
	for k, v := range s.at {
		if gone(k, v) {
			s.own()
			maps.DeleteFunc(s.at, gone)
			return true
		}
	}
	return false
}

// clear empties it.
func (s *sharedMap[K, V]) clear() { *s = sharedMap[K, V]{} }

// own has nobody else see the map.
func (s *sharedMap[K, V]) own() {
	if s.at == nil {
		s.at = map[K]V{}
	}
	if s.readers || s.shared != nil && *s.shared > 0 {
		s.at, s.readers, s.shared = maps.Clone(s.at), false, nil
	}
}
