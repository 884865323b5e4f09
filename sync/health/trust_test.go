package health

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/state"
)

func TestTrust(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	anchor := func(digit string, days int) linkerd.Anchor {
		return linkerd.Anchor{Fingerprint: strings.Repeat(digit, 64), Expires: now.AddDate(0, 0, days)}
	}
	a, b, c := anchor("a", 400), anchor("b", 500), anchor("c", 100)
	soon, over := anchor("d", 59), anchor("e", 0)
	type anchors = []linkerd.Anchor
	for name, x := range map[string]struct {
		source, target anchors
		code           string
		says           []string
		next           time.Time
	}{
		"the same":                    {anchors{a}, anchors{a}, "", nil, a.Expires.Add(-anchorNotice)},
		"of the source unknown":       {nil, anchors{a}, "", nil, time.Time{}},
		"of the target unknown":       {anchors{a}, nil, "", nil, time.Time{}},
		"none in common":              {anchors{a}, anchors{b, c}, string(reason.TrustAnchorsNotShared), []string{"west has aaaaaaaaaaaaaaaa (until 2027-12-27); east has bbbbbbbbbbbbbbbb (until 2028-04-05), cccccccccccccccc (until 2027-03-02)"}, time.Time{}},
		"the only one expired":        {anchors{over}, anchors{over}, string(reason.TrustAnchorsNotShared), []string{"west has eeeeeeeeeeeeeeee (until 2026-11-22)"}, time.Time{}},
		"a rotation, half done":       {anchors{a}, anchors{a, b}, string(reason.TrustAnchorsDiffer), []string{"both clusters have aaaaaaaaaaaaaaaa (until 2027-12-27); apart from shared ones, west has none, and east has bbbb"}, a.Expires.Add(-anchorNotice)},
		"each one of its own":         {anchors{a, b}, anchors{b, c}, string(reason.TrustAnchorsDiffer), []string{"west has aaaa", "east has cccc"}, b.Expires.Add(-anchorNotice)},
		"the last one ends soon":      {anchors{soon, over}, anchors{soon, over}, string(reason.TrustAnchorExpiring), []string{"dddddddddddddddd (until 2027-01-20)"}, soon.Expires},
		"one ends soon, one does not": {anchors{soon, a}, anchors{soon, a}, "", nil, a.Expires.Add(-anchorNotice)},
		"more than can be told":       {anchors{a}, anchors{b, c, soon, over}, string(reason.TrustAnchorsNotShared), []string{"dddddddddddddddd (until 2027-01-20), and more"}, time.Time{}},
	} {
		v := Link{Pair: credential.Pair{View: state.View{Source: state.Cluster{Reading: state.Read}, Target: state.Cluster{Reading: state.Read}}}}
		v.Link.Source, v.Link.Target = &fleet.Cluster{Name: "west"}, &fleet.Cluster{Name: "east"}
		v.Source.Facts.Anchors, v.Target.Facts.Anchors = x.source, x.target
		got := v.Trust(now)
		code, text := "", ""
		if got.Why != nil {
			code, text = string(got.Why.Code), got.Why.Message
		}
		missed := slices.ContainsFunc(x.says, func(s string) bool { return !strings.Contains(text, s) })
		if code != x.code || missed || !got.Next.Equal(x.next) || got.Broken() != (code == string(reason.TrustAnchorsNotShared)) {
			t.Errorf("%s: got %+v %q, want %s %q, next %s", name, got, text, x.code, x.says, x.next)
		}
		for mode, blocked := range map[api.Strictness]bool{api.Warn: false, api.Skip: false, api.Require: got.Broken()} {
			v.Link.Spec = &api.LinkSpec{TrustAnchors: mode}
			if why := v.Distrust(now); (why != nil) != blocked {
				t.Errorf("%s, %s: held by %v", name, mode, why)
			}
		}
		for _, cluster := range []*state.Cluster{&v.Source, &v.Target} {
			cluster.Reading = state.Unread
			if got := v.Trust(now); got != (Trust{}) {
				t.Errorf("%s, with an end that was not read: %+v", name, got)
			}
			cluster.Reading = state.Read
		}
	}
}
