package store

import (
	"maps"
	"testing"
)

// What was handed out stays as it was, whatever is done to the map; what nobody has seen is not copied.
func TestSharedMap(t *testing.T) {
	even := func(k, _ int) bool { return k%2 == 0 }
	for name, do := range map[string]func(*sharedMap[int, int]){
		"set":   func(s *sharedMap[int, int]) { s.set(1, 10) },
		"add":   func(s *sharedMap[int, int]) { s.set(3, 3) },
		"drop":  func(s *sharedMap[int, int]) { s.drop(even) },
		"clear": func(s *sharedMap[int, int]) { s.clear() },
	} {
		var s sharedMap[int, int]
		s.set(1, 1)
		s.set(2, 2)
		observed := s.all()
		was := maps.Clone(observed)
		do(&s)
		if !maps.Equal(observed, was) {
			t.Errorf("%s: what was handed out is %v, was %v", name, observed, was)
		}
		if maps.Equal(s.at, was) {
			t.Errorf("%s: nothing was done", name)
		}
		if do(&s); !maps.Equal(observed, was) {
			t.Errorf("%s, again: what was handed out is %v, was %v", name, observed, was)
		}
	}
	var s sharedMap[int, int]
	s.set(1, 1)
	if s.drop(even) {
		t.Error("it dropped what is not there")
	}
	if before := testing.AllocsPerRun(100, func() { s.set(1, 2) }); before > 0 {
		t.Errorf("%v allocations to change what nobody has seen", before)
	}
}

// What is lent stays as it was until it is given back, and is not copied after that.
func TestSharedMapLends(t *testing.T) {
	var s sharedMap[int, int]
	s.set(1, 1)
	first, loan := s.lend()
	s.set(1, 2)
	if first[1] != 1 {
		t.Error("what is on loan has changed")
	}
	*loan--
	second, loan := s.lend()
	if *loan--; second[1] != 2 {
		t.Fatal("it does not hold what was set")
	}
	s.set(1, 3)
	if second[1] != 3 {
		t.Error("what was given back was copied")
	}
	s.all()
	if s.set(1, 4); second[1] != 3 {
		t.Error("what was handed out has changed")
	}
}
