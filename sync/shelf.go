package sync

import "maps"

// shelf is a map that is handed out as it is: whoever has it sees it stay so, since it is copied before it changes. Its zero
// value is empty.
type shelf[K comparable, V any] struct {
	at  map[K]V // to read; it changes by the methods alone
	out bool    // it was handed out since it was copied
}

// all hands it out.
func (s *shelf[K, V]) all() map[K]V {
	s.out = true
	return s.at
}

func (s *shelf[K, V]) set(k K, v V) {
	s.own()
	s.at[k] = v
}

// drop takes out what is gone, and says whether something was.
func (s *shelf[K, V]) drop(gone func(K, V) bool) bool {
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
func (s *shelf[K, V]) clear() { *s = shelf[K, V]{} }

// own has nobody else see the map.
func (s *shelf[K, V]) own() {
	if s.at == nil {
		s.at = map[K]V{}
	}
	if s.out {
		s.at, s.out = maps.Clone(s.at), false
	}
}
