package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	strike "github.com/linkwright/linkwright/hack/fault"
	"github.com/linkwright/linkwright/hack/faultproxy"
)

// point is one request of the undisturbed run.
type point struct {
	proxy string
	rule  strike.Rule
	after bool // the server has answered, and the program has not heard of it
	write bool
}

func (p point) String() string {
	when := "before"
	if p.after {
		when = "after"
	}
	verb := p.rule.Verb
	if p.rule.Continued {
		verb = "continue " + verb
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s: %s %s %s", when, p.proxy, verb, p.rule.Path, p.rule.Name)) + fmt.Sprintf(" no. %d", p.rule.Nth)
}

// pointsOf numbers what was asked among what was asked alike: whatever order requests arrive in, it is the same one.
func pointsOf(proxy string, asked []faultproxy.Request) (out []point) {
	seen := map[strike.Request]int{}
	for _, r := range asked {
		seen[r.Request]++
		p := point{proxy: proxy, write: r.Writes() && r.Resource != "leases", rule: strike.Rule{Verb: r.Verb, Path: r.Path, Name: r.Name, Continued: r.Continued, Nth: seen[r.Request]}}
		out = append(out, p)
		p.after = true
		out = append(out, p)
	}
	return out
}

// book says which points there are, which are played yet, and how they ended; labs share it.
type book struct {
	chosen *regexp.Regexp
	until  time.Time // zero: for ever
	began  time.Time
	log    *os.File // nil: none

	mu    sync.Mutex
	pages []*page // by deed, in the order in which these were first done
}

// page is what is known of a deed.
type page struct {
	deed   string
	points []point
	known  map[string]bool // points, by name, and those of a log
	played int             // of points, from the first on
	fates  map[string]int  // of those that are over, by what became of them
	logged map[string]int  // the same of earlier runs
	steps  map[string]time.Duration
	order  []string // of steps
}

func newBook(t *testing.T) *book {
	t.Helper()
	b := &book{chosen: regexp.MustCompile(*sweepDeed), began: time.Now()}
	if *sweepLog == "" {
		return b
	}
	for line := range strings.Lines(pageOf(t, *sweepLog)) {
		if f := strings.Split(line, "\t"); len(f) == 4 && (f[2] == "killed" || f[2] == "missed") {
			p := b.page(f[0])
			p.known[f[1]] = true
			p.logged[f[2]]++
		}
	}
	var err error
	if b.log, err = os.OpenFile(*sweepLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.log.Close() })
	return b
}

// start lets points be begun from now on, for as long as the flag says; without it, a slice has 15 seconds.
func (b *book) start(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if *sweepFor == 0 && *sweepRounds > 0 && whole() {
		*sweepFor = 15 * time.Second
	}
	if *sweepFor > 0 && b.until.IsZero() {
		b.until = time.Now().Add(*sweepFor)
	}
}

// page is the one of a deed. The caller holds mu.
func (b *book) page(deed string) *page {
	for _, p := range b.pages {
		if p.deed == deed {
			return p
		}
	}
	p := &page{deed: deed, known: map[string]bool{}, fates: map[string]int{}, logged: map[string]int{}, steps: map[string]time.Duration{}}
	b.pages = append(b.pages, p)
	return p
}

// open says that of a group there is something to play, as far as is known.
func (b *book) open(group []*deed) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.late() && slices.ContainsFunc(group, func(d *deed) bool {
		p := b.page(d.name)
		return b.chosen.MatchString(d.name) && (p.points == nil || len(p.points) > p.played)
	})
}

func (b *book) late() bool {
	return !b.until.IsZero() && time.Now().After(b.until) && slices.ContainsFunc(b.pages, func(p *page) bool { return p.played > 0 })
}

// note adds the points of an undisturbed run that no lab has seen yet.
func (b *book) note(d *deed, points []point) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.chosen.MatchString(d.name) {
		return
	}
	p := b.page(d.name)
	if *sweepRounds > 0 {
		points = shuffled(points)[:min(*sweepRounds, len(points))]
	}
	if p.points == nil {
		p.points = []point{}
	} else if *sweepRounds > 0 {
		return
	}
	for _, at := range points {
		if name := at.String(); !p.known[name] && (*sweepPoint == "" || *sweepPoint == name) {
			p.known[name] = true
			p.points = append(p.points, at)
		}
	}
}

// shuffled has writes come first: they are what may be half done.
func shuffled(points []point) []point {
	seeded := rand.New(rand.NewPCG(*sweepSeed, 0)) //nolint:gosec // to be had again
	out := slices.SortedFunc(slices.Values(points), func(a, b point) int { return cmp.Compare(a.String(), b.String()) })
	seeded.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	slices.SortStableFunc(out, func(a, b point) int {
		switch {
		case a.write == b.write:
			return 0
		case a.write:
			return -1
		}
		return 1
	})
	return out
}

// next is a point that nobody has played.
func (b *book) next(d *deed) (point, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.page(d.name)
	if b.late() || p.played >= len(p.points) {
		return point{}, false
	}
	p.played++
	return p.points[p.played-1], true
}

// left is how many points of deeds that were done undisturbed are to be played.
func (b *book) left() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.late() {
		return 0
	}
	for _, p := range b.pages {
		n += len(p.points) - p.played
	}
	return n
}

// write puts down how a point ended.
func (b *book) write(d *deed, at point, fate string, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.page(d.name).fates[fate]++
	if b.log != nil {
		_, _ = fmt.Fprintf(b.log, "%s\t%s\t%s\t%.2fs\n", d.name, at, fate, took.Seconds())
	}
}

func (b *book) spend(d *deed, step string, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.page(d.name)
	if _, known := p.steps[step]; !known {
		p.order = append(p.order, step)
	}
	p.steps[step] += took
}

// conclude logs for every deed what was played of it.
func (b *book) conclude(t *testing.T) {
	t.Helper()
	played, killed, missed := 0, 0, 0
	for _, p := range b.pages {
		if len(p.points)+len(p.logged) == 0 {
			continue
		}
		killed, missed = killed+p.fates["killed"]+p.logged["killed"], missed+p.fates["missed"]+p.logged["missed"]
		n := p.fates["killed"] + p.fates["missed"] + p.fates["overslept"] + p.fates["FAILED"]
		played += n
		var steps strings.Builder
		for _, s := range p.order {
			fmt.Fprintf(&steps, ", %s %d ms", s, p.steps[s].Milliseconds()/int64(max(1, n)))
		}
		t.Logf("%s: %d points, killed at %d, did not come to %d, overslept %d, FAILED %d, left %d; before, killed at %d, did not come to %d%s",
			p.deed, len(p.points), p.fates["killed"], p.fates["missed"], p.fates["overslept"], p.fates["FAILED"], len(p.points)-p.played, p.logged["killed"], p.logged["missed"], &steps)
	}
	t.Logf("killed %d times, %d times it did not come to the request, with those before; now %v", killed, missed, time.Since(b.began).Round(time.Second))
	if played == 0 && (*sweepPoint != "" || killed+missed == 0) && !t.Failed() {
		t.Errorf("nothing was played: no deed %q has a point %q", *sweepDeed, *sweepPoint)
	}
	if !cameToMost(killed, missed) && *sweepPoint == "" {
		t.Errorf("killed %d times only, %d times the request was not made: the runs are not alike", killed, missed)
	}
}

// cameToMost says that enough of the points were come to. Two may be missed by chance: on a busy machine, a slice is one point or two.
func cameToMost(killed, missed int) bool {
	return missed <= max(2, killed/4)
}

func TestCameToMost(t *testing.T) {
	for _, c := range []struct {
		killed, missed int
		want           bool
	}{{0, 0, true}, {0, 1, true}, {0, 3, false}, {1, 1, true}, {3, 1, true}, {3, 2, true}, {7, 3, false}, {12, 3, true}, {100, 25, true}, {100, 26, false}} {
		if got := cameToMost(c.killed, c.missed); got != c.want {
			t.Errorf("cameToMost(%d, %d): %v, want %v", c.killed, c.missed, got, c.want)
		}
	}
}
