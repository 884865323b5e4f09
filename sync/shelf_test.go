package sync

import (
	"maps"
	"testing"
)

// What was handed out stays as it was, whatever is done to the shelf; what nobody has seen is not copied.
func TestShelf(t *testing.T) {
	even := func(k, _ int) bool { return k%2 == 0 }
	for name, do := range map[string]func(*shelf[int, int]){
		"set":   func(s *shelf[int, int]) { s.set(1, 10) },
		"add":   func(s *shelf[int, int]) { s.set(3, 3) },
		"drop":  func(s *shelf[int, int]) { s.drop(even) },
		"clear": func(s *shelf[int, int]) { s.clear() },
	} {
		var s shelf[int, int]
		s.set(1, 1)
		s.set(2, 2)
		seen := s.all()
		was := maps.Clone(seen)
		do(&s)
		if !maps.Equal(seen, was) {
			t.Errorf("%s: what was handed out is %v, was %v", name, seen, was)
		}
		if maps.Equal(s.at, was) {
			t.Errorf("%s: nothing was done", name)
		}
		if do(&s); !maps.Equal(seen, was) {
			t.Errorf("%s, again: what was handed out is %v, was %v", name, seen, was)
		}
	}
	var s shelf[int, int]
	s.set(1, 1)
	if s.drop(even) {
		t.Error("it dropped what is not there")
	}
	if before := testing.AllocsPerRun(100, func() { s.set(1, 2) }); before > 0 {
		t.Errorf("%v allocations to change what nobody has seen", before)
	}
}
