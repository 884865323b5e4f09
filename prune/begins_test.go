package prune

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
)

// TestWaitsUntilObjectsAreRead: an unlink does not begin while something of it was not looked for, and writes down nothing but what it knew.
func TestWaitsUntilObjectsAreRead(t *testing.T) {
	in := input(source, perLink(), linkerd.Mirror{})
	in.WasRead = func(k object.Key) bool { return k.Kind != "Deployment" }
	v := onlyVerdict(t, in, absentPeer())
	if v.Waiting == nil || !strings.Contains(v.Waiting.Message, deploymentKey.String()) || len(v.Changes) > 0 || v.Next.Leaving {
		t.Errorf("got %s, leaving %t", summarize(v), v.Next.Leaving)
	}
	in.WasRead = func(object.Key) bool { return true }
	if v := onlyVerdict(t, in, absentPeer()); v.Waiting != nil || !v.Next.Leaving {
		t.Errorf("all seen: got %s, leaving %t", summarize(v), v.Next.Leaving)
	}
}

// A source's end does not begin while the target answers and cannot be read: nobody knows what its guards say. One that is
// dead, or that nobody can ask, has no say, and what has begun goes on.
func TestTargetNotRead(t *testing.T) {
	unread := object.Because(reason.Forbidden, "no list of secrets")
	for name, tt := range map[string]struct {
		peer    Peer
		leaving bool
		held    bool
	}{
		"it answers":                {peer: Peer{Unread: unread}, held: true},
		"its inventory is broken":   {peer: Peer{State: PeerUnknown, Unread: unread}, held: true},
		"it answers, and has begun": {peer: Peer{Unread: unread}, leaving: true},
		"dead":                      {peer: Peer{State: PeerUnreachable}},
		"nobody can ask":            {},
	} {
		in := input(source, perLink(), all())
		in.Recorded[0].Leaving, in.In.Owner = tt.leaving, "blue"
		v := onlyVerdict(t, in, tt.peer)
		if held := len(v.Changes) == 0 && v.Waiting != nil && v.Waiting.Code == reason.WaitingForTarget; held != tt.held || v.Next.Leaving == held {
			t.Errorf("%s: %s, leaving %t", name, summarize(v), v.Next.Leaving)
		}
		if tt.held && (!strings.Contains(v.Waiting.Message, unread.Message) || !strings.Contains(v.Waiting.Message, "run linkwright abandon east --owner blue")) {
			t.Errorf("%s: %s", name, v.Waiting.Message)
		}
	}
}

// An inventory that was lost is written again, with all that is found of its end, before the end begins to leave: guards judge what it lists.
func TestLostInventoryIsWrittenFirst(t *testing.T) {
	in := input(target, sorted(accountOfWest), linkerd.Mirror{})
	in.Recorded[0].Was = object.Record{}
	v := onlyVerdict(t, in, absentPeer())
	if len(v.Changes) > 0 || v.Next.Leaving || v.Drop || v.Waiting == nil || v.Waiting.Code != reason.Waiting {
		t.Errorf("%s, leaving %t: %v", summarize(v), v.Next.Leaving, v.Waiting)
	}
}
