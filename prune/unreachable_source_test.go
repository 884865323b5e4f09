package prune

import (
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

var accountOfWest = object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "linkwright.west"}

// The access of a source stays until its end is gone, or it was dead for as long as people grant, counted from when it was
// first found so. A source that is suspended, refused, or merely not read keeps it, and is heard anew.
func TestAccessOfADeadSource(t *testing.T) {
	began := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	const day = 24 * time.Hour
	tests := map[string]struct {
		peer    Peer
		leaving bool
		since   time.Time
		now     time.Time
		grace   time.Duration
		goes    bool
		until   time.Time
		says    string
	}{
		"dead, at first":             {peer: Peer{State: PeerUnreachable}, now: began, grace: day, until: began.Add(day), says: "or until 2026-11-23T15:04:05Z (--unreachable-source-timeout 24h0m0s)"},
		"dead, a moment before":      {peer: Peer{State: PeerUnreachable}, leaving: true, since: began, now: began.Add(day - time.Second), grace: day, until: began.Add(day), says: "cannot be read"},
		"dead for long enough":       {peer: Peer{State: PeerUnreachable}, leaving: true, since: began, now: began.Add(day), grace: day, goes: true},
		"dead, and nothing granted":  {peer: Peer{State: PeerUnreachable}, now: began, goes: true},
		"dead, begun who knows when": {peer: Peer{State: PeerUnreachable}, leaving: true, now: began, grace: day, until: began.Add(day), says: "or until"},
		"dead and suspended":         {peer: Peer{State: PeerUnreachable, Closed: object.Because(reason.Suspended, "it is")}, leaving: true, since: began, now: began.Add(9 * day), grace: day, says: "it is"},
		"not read":                   {peer: Peer{}, leaving: true, since: began, now: began.Add(9 * day), grace: day, says: "cannot be read"},
		"alive":                      {peer: Peer{State: PeerHasObjects}, leaving: true, since: began, now: began.Add(9 * day), grace: day, says: "has removed its end"},
		"through":                    {peer: absentPeer(), leaving: true, since: began, now: began, grace: day, goes: true},
	}
	for name, tt := range tests {
		in := input(target, sorted(accountOfWest), linkerd.Mirror{})
		in.Recorded[0].Leaving, in.Recorded[0].Since, in.Now, in.UnreachableSourceTimeout = tt.leaving, tt.since, tt.now, tt.grace
		v := onlyVerdict(t, in, tt.peer)
		if len(v.Changes) > 0 != tt.goes || !v.AccessUntil.Equal(tt.until) {
			t.Errorf("%s: %s, until %s", name, summarize(v), v.AccessUntil)
		}
		if tt.says != "" && (v.Waiting == nil || !strings.Contains(v.Waiting.Message, tt.says)) {
			t.Errorf("%s: waits for %v, want %q", name, v.Waiting, tt.says)
		}
		if tt.peer.State == PeerUnreachable && tt.peer.Closed == nil && v.Next.Since.IsZero() {
			t.Errorf("%s: nobody remembers when it began", name)
		}
		if tt.peer.State != PeerUnreachable && !v.Next.Since.IsZero() {
			t.Errorf("%s: it counts as dead since %s", name, v.Next.Since)
		}
	}
	in := input(target, sorted(accountOfWest), linkerd.Mirror{})
	in.Recorded = []inventory.Inventory{{End: target, Entries: sorted(accountOfWest), Leaving: true}}
	in.Now, in.UnreachableSourceTimeout = began, day
	if v := onlyVerdict(t, in, Peer{State: PeerHasObjects}); !v.Next.Since.IsZero() {
		t.Errorf("the inventory of a living source's access is written anew: %s", v.Next.Since)
	}
}
