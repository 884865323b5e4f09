package store

import (
	"testing"

	"github.com/linkwright/linkwright/object"
)

func TestListsAlikeAreKeptOnce(t *testing.T) {
	list := func(names ...string) []object.Watch {
		return []object.Watch{{Version: "v1", Kind: "Secret", Namespace: "ns", Names: names}}
	}
	same := func(a, b []object.Watch) bool { return &a[0] == &b[0] }
	var l watchLists
	first := l.one(list("a"), nil)
	if other := l.one(list("b"), nil); same(first, other) || other[0].Names[0] != "b" {
		t.Error("another list is taken for the first")
	}
	for range 2 * mostLists { // what is used stays
		if !same(first, l.one(list("a"), nil)) {
			t.Fatal("a list like the first is kept beside it")
		}
		l.one(list("a", string(rune('a'+len(l)))), nil)
		if len(l) > mostLists {
			t.Fatalf("%d lists are kept, want at most %d", len(l), mostLists)
		}
	}
	if own := list("c"); !same(own, l.one(list("c"), own)) {
		t.Error("a list like the cluster's last is kept beside that")
	}
}
