package sync

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
	"github.com/linkwright/linkwright/sync/plan"
)

// sum is a short word for something that is only compared.
type sum = [sha256.Size]byte

// view is a world, with what tells whether a step from it is still what it was.
type view struct {
	plan.World
	record string // the version of the home record
	rules  sum    // which commits are barred, and who is who: of all clusters
	shown  map[api.ClusterName]sum
}

// basis is all that a step is planned from but the cluster's own objects and the time, in short.
type basis struct {
	fleet  *fleet.Fleet
	record string
	rules  sum
	peers  sum
}

// view is the world of an epoch to plan writes from; false: that is over, or what is declared is not in force.
func (b *board) view(epoch int) (view, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fleet == nil || b.fleet != b.good || b.epoch != epoch {
		return view{}, false
	}
	v := view{World: b.worldNow(), record: b.record.Was.UID + " " + b.record.Was.ResourceVersion, shown: maps.Clone(b.shown)}
	v.rules = v.ruled()
	return v, true
}

func (v view) ruled() sum {
	var h bytes.Buffer
	for _, commit := range slices.Sorted(maps.Keys(v.Barred)) {
		fmt.Fprintln(&h, commit, v.Barred[commit].Message)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Sides)) {
		fmt.Fprintln(&h, name, v.Sides[name].Known, v.Sides[name].Facts.UID)
	}
	return sha256.Sum256(h.Bytes())
}

// basis is that of a step: what its neighbours show is a part of it.
func (v view) basis(s plan.Step) basis {
	h := sha256.New()
	for _, peer := range v.peers(s) {
		shown := v.shown[peer]
		h.Write(shown[:])
	}
	return basis{fleet: v.Fleet, record: v.record, rules: v.rules, peers: sum(h.Sum(nil))}
}

// peers are the clusters at the other ends of all links of a step's cluster, declared or not.
func (v view) peers(s plan.Step) []api.ClusterName {
	var out []api.ClusterName
	for _, l := range v.Fleet.Out(s.Cluster) {
		out = append(out, l.Target.Name)
	}
	for _, l := range v.Fleet.In(s.Cluster) {
		out = append(out, l.Source.Name)
	}
	for _, r := range s.Rows {
		out = append(out, r.End.Link.Source, r.End.Link.Target)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(n api.ClusterName) bool { return n == s.Cluster })
}

// world is a moment's copy to plan from; nothing in it changes any more.
func (b *board) world() plan.World {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.worldNow()
}

// worldNow is world; b.mu is held.
func (b *board) worldNow() plan.World {
	uids := make(map[api.ClusterName]string, len(b.record.Clusters))
	for name, k := range b.record.Clusters {
		uids[name] = k.UID
	}
	elsewhere := map[api.ClusterName]bool{}
	for name := range b.table {
		elsewhere[name] = !b.loop.writes(name)
	}
	contested, immutable := b.quarrels()
	return plan.World{
		Contested: contested, Immutable: immutable,
		Elsewhere: elsewhere, Barred: b.barred(), Pass: b.pass, Fresh: maps.Clone(b.fresh),
		Owner: b.loop.Owner, Term: b.term, Fleet: b.fleet, Departed: b.departed,
		Sides: maps.Clone(b.sides), UIDs: uids, Accepted: b.loop.Accepted, Now: time.Now(),
	}
}

// shownBy sums up what of a side other clusters depend on: facts, whether it was read, tokens and inventories, and the
// credentials that it uses, which must not lose their tokens.
//
// What a Linkerd Link tells is decoded once for each version of it: last is what was decoded of the side before, next of this
// one.
func shownBy(s pair.Side, last announcements) (shown sum, next announcements) {
	var buf bytes.Buffer
	next = make(announcements, len(last))
	facts, err := json.Marshal(s.Facts)
	fmt.Fprintln(&buf, s.Known, s.Err != nil, string(facts), err, s.Facts.Missing)
	for k, body := range s.Seen.Bodies() {
		switch {
		case !shows(k):
		case k.Kind != "Link":
			fmt.Fprintln(&buf, k)
			buf.Write(body.Bytes())
		default:
			next[k] = last.of(k, body)
			fmt.Fprintln(&buf, k, next[k].text)
		}
	}
	return sha256.Sum256(buf.Bytes()), next
}

// announcements are what Linkerd Links tell of credentials, by key.
type announcements map[object.Key]announcement

type announcement struct {
	body object.Body // of which it was decoded
	text string
}

func (a announcements) of(k object.Key, body object.Body) announcement {
	if known, ok := a[k]; ok && bytes.Equal(known.body.Bytes(), body.Bytes()) {
		return known
	}
	secret, entries := linkerd.Announced(body)
	return announcement{body, fmt.Sprintln(secret, entries)}
}
