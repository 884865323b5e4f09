package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

func ghost(kind, name string) object.Key {
	k := object.Key{Kind: kind, Namespace: object.AccessNamespace, Name: name}
	if kind == "ClusterRoleBinding" {
		k.Group, k.Namespace = "rbac.authorization.k8s.io", ""
	}
	return k
}

func laid(s *sim, c api.ClusterName, mark object.Mark, keys ...object.Key) {
	for _, k := range keys {
		record(&s.live[c].Seen, k, object.Record{UID: "uid of " + k.String(), ResourceVersion: "1", Mark: mark})
		show(&s.live[c].Seen, k, object.NewBody([]byte(`{"metadata":{}}`)))
	}
}

// Account, token and binding of a source that nobody declares, remembers or recorded go, though their inventory is lost.
func TestJanitorAccessThatNoLinkUses(t *testing.T) {
	s := linked(t, all)
	before := s.names("east")
	laid(s, "east", object.Ours, ghost("ServiceAccount", "linkwright.ghost"), ghost("Secret", "linkwright.ghost-token"),
		ghost("Secret", "linkwright.ghost-3"), ghost("ClusterRoleBinding", "linkwright-access.linkwright.ghost"))
	for c, step := range s.settle() {
		allInPlace(t, c, step)
	}
	same(t, "east", before, s.names("east"))
}

// An end whose link nobody declares, and whose other cluster nobody declares or remembers, goes from its inventory alone.
func TestJanitorPeerIsUnknown(t *testing.T) {
	s := linked(t, all)
	s.world.Fleet = declare(t, two[1:], "")
	s.settle()
	same(t, "west", []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names("west"))
}

// What carries our label and is not provably ours is told, with what to do, and nothing is done; it makes nothing unclean, and
// of many only the first are told.
func TestStrays(t *testing.T) {
	s := linked(t, "")
	steps := s.steps
	odd := ghost("ServiceAccount", "of-nobody")
	copied := object.Key{Kind: "Service", Namespace: mc, Name: "web-copied"}
	laid(s, "west", object.Ours, odd)
	laid(s, "west", object.Copied, copied)
	laid(s, "west", object.Theirs, ghost("ServiceAccount", "blue.west"))
	laid(s, "west", object.Unmarked, ghost("ServiceAccount", "mine"))
	step := s.settle()["west"]
	allInPlace(t, "west", step)
	var told []object.Key
	for _, stray := range step.Strays {
		told = append(told, stray.Key)
		if stray.Why == "" || !strings.Contains(stray.Do, object.OwnerLabel) {
			t.Errorf("%s: %q, %q", stray.Key, stray.Why, stray.Do)
		}
	}
	if want := []object.Key{copied, odd}; !slices.Equal(told, want) || step.MoreStrays > 0 || s.steps != steps {
		t.Errorf("told %v and %d more, want %v; %d writes", told, step.MoreStrays, want, s.steps-steps)
	}
	if got := s.turn("east").Strays; len(got) > 0 {
		t.Errorf("east has none, and tells %v", got)
	}
	for i := range 20 {
		laid(s, "west", object.Copied, ghost("ServiceAccount", fmt.Sprintf("copy-%02d", i)))
	}
	if step = s.turn("west"); len(step.Strays) != mostStrays || step.MoreStrays != 22-mostStrays {
		t.Errorf("of 22: %d and %d more", len(step.Strays), step.MoreStrays)
	}
}
