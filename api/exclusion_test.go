package api

import "testing"

// Both fields of a pair give the same answer. Only the first pair is wrong by declarations alone: another tool may set runAsRoot.
func TestExclusions(t *testing.T) {
	for _, c := range []struct {
		first, second      string
		rejected, declared [2]bool // by each of the rules
	}{
		{"true", "5", [2]bool{true, true}, [2]bool{true, false}},
		{"true", "0", [2]bool{false, true}, [2]bool{}},
		{"true", "", [2]bool{false, true}, [2]bool{}},
		{"true", "null", [2]bool{false, true}, [2]bool{}},
		{"false", "5", [2]bool{false, true}, [2]bool{}},
		{"", "5", [2]bool{}, [2]bool{}},
		{"0", "false", [2]bool{}, [2]bool{}},
		{"5", "true", [2]bool{}, [2]bool{}},
		{"5", "false", [2]bool{false, true}, [2]bool{}},
	} {
		for i, e := range Exclusions() {
			first, second := e.Rejects(e.Fields[0], c.first, c.second), e.Rejects(e.Fields[1], c.second, c.first)
			if first != c.rejected[i] || second != first {
				t.Errorf("%v: %s and %s are rejected: %t, seen from the other field %t", e.Fields, c.first, c.second, first, second)
			}
			if got := e.RejectsDeclared(c.first, c.second); got != c.declared[i] {
				t.Errorf("%v: declared %s and %s are wrong: %t", e.Fields, c.first, c.second, got)
			}
			if e.Other(e.Fields[0]) != e.Fields[1] || e.Other(e.Fields[1]) != e.Fields[0] || e.Other("proxy.await") != "" {
				t.Errorf("%v: the other fields are %q, %q and %q", e.Fields, e.Other(e.Fields[0]), e.Other(e.Fields[1]), e.Other("proxy.await"))
			}
		}
	}
}
