package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// What makers alone set goes, if ours does not name it; what holds others goes only when it is empty.
func TestPrunePaths(t *testing.T) {
	const live = `{"a":{"mine":1,"orphan":2,"other":3},"b":{"orphan":1},"list":[{"name":"x","v":1,"o":2},{"name":"y","o":1}],"set":["a","b"],"atomic":[1,2]}`
	const ours = `{"a":{"mine":1},"list":[{"name":"x","v":1}],"set":["a"],"atomic":[3]}`
	const fields = `{"f:a":{".":{},"f:mine":{},"f:orphan":{}},"f:b":{".":{},"f:orphan":{}},
"f:list":{".":{},"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:v":{},"f:o":{}},"k:{\"name\":\"y\"}":{".":{},"f:name":{},"f:o":{}}},
"f:set":{"v:\"a\"":{},"v:\"b\"":{}},"f:atomic":{},"f:missing":{}}`
	const want = `{"a":{"mine":1,"other":3},"list":[{"name":"x","v":1}],"set":["a"],"atomic":[1,2]}`
	set := fieldpath.NewSet()
	if err := set.FromJSON(strings.NewReader(fields)); err != nil {
		t.Fatal(err)
	}
	from, mine, wanted := mustDecode(t, live), mustDecode(t, ours), mustDecode(t, want)
	if !prunePaths(set, from, mine) {
		t.Error("nothing was taken away")
	}
	if diff := cmp.Diff(wanted, from); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if prunePaths(set, from, mine) {
		t.Error("twice is once")
	}
}

func mustDecode(t *testing.T, text string) any {
	t.Helper()
	v, err := decoded([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
