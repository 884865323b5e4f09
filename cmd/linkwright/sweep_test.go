package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/hack/faultproxy"
	"github.com/linkwright/linkwright/hack/testbed"
)

var (
	sweepRounds = flag.Int("sweep", 1, "kill the program at so many requests of each deed; 0: at each of them")
	sweepSeed   = flag.Uint64("sweep-seed", 1, "which of them")
	sweepLabs   = flag.Int("sweep-labs", 1, "labs, of two clusters each, that share the work")
	sweepDeed   = flag.String("sweep-deed", "", "only deeds whose names match this expression")
	sweepPoint  = flag.String("sweep-point", "", "only the point of this name, as a failure names it")
	sweepLog    = flag.String("sweep-log", "", "file that gets a line for each point; those that are in it already are not played again")
	sweepFor    = flag.Duration("sweep-for", 0, "begin no point after so long, to go on another time; 0: until all is done, or 15 s with -sweep 1 and no deed or point chosen")
)

// sweep is a lab in which every request of the program passes a proxy, which can kill it. A stand-in for Linkerd's
// controller mirrors east's services into west.
type sweep struct {
	*lab
	book    *book
	proxies map[string]*faultproxy.Proxy // east, west, and management, which is the server of west
	groups  [][]*deed
	nothing *deed  // where all begin
	at      *deed  // the last one that was done, and compared
	listen  string // address of the daemon
	lap     time.Time
	fate    string // of the point that is played
}

// TestSweep kills the program before and after requests to API servers, at any of them, and starts it again: it comes to
// where an undisturbed one comes to, says so, and has nothing left to write.
func TestSweep(t *testing.T) {
	t.Parallel()
	testbed.Need(t)
	b := newBook(t)
	var labs sync.WaitGroup
	for i := range *sweepLabs {
		labs.Go(func() { b.lab(t, i+1) })
	}
	labs.Wait()
	b.conclude(t)
}

// lab plays what is left in one lab after the other: one in which something failed is left, since from where it is nothing can
// be compared.
func (b *book) lab(t *testing.T, number int) {
	t.Helper()
	for try := 1; try == 1 || try < 10 && b.left() > 0; try++ {
		t.Run(fmt.Sprintf("lab %d.%d", number, try), func(t *testing.T) {
			s := newSweep(t, b)
			if number == 1 && try == 1 && whole() {
				t.Run("disasters", func(t *testing.T) { s.t = t; s.disasters(s.nothing.fleet) })
				s.t = t
			}
			s.sweep()
		})
	}
}

// whole says that no deed is chosen.
func whole() bool { return *sweepDeed == "" && *sweepPoint == "" }

// sweep plays what is left in the book, group by group, until something fails.
func (s *sweep) sweep() {
	s.book.start(s.t)
	for _, group := range s.today() {
		if s.t.Failed() || !s.book.open(group) {
			continue
		}
		s.reach(s.nothing)
		for _, d := range group {
			s.reach(d.from)
			s.undisturbed(d)
		}
		for s.round(group) {
		}
	}
}

// today are the groups. A slice begins with another one each day, so that all have their turn.
func (s *sweep) today() [][]*deed {
	if *sweepRounds == 0 || len(s.groups) == 0 {
		return s.groups
	}
	first := int(time.Now().Unix()/86400) % len(s.groups)
	s.t.Logf("today it begins with group %d of %d", first+1, len(s.groups))
	return slices.Concat(s.groups[first:], s.groups[:first])
}

// round plays a point of each deed of a group; false: none was left, or something failed.
func (s *sweep) round(group []*deed) (played bool) {
	for _, d := range group {
		if s.t.Failed() {
			return false
		}
		if p, ok := s.book.next(d); ok {
			s.play(d, p)
			played = true
		}
	}
	return played
}

// play is one point of a deed, as a test of its own.
func (s *sweep) play(d *deed, at point) {
	t := s.t
	defer func() { s.t = t }()
	t.Run(d.name+", killed "+at.String(), func(t *testing.T) {
		s.t = t
		s.reach(d.from)
		began := time.Now()
		s.fate = "FAILED"
		defer func() { s.book.write(d, at, s.fate, time.Since(began)) }()
		s.disturbed(d, at)
		if t.Failed() {
			s.fate = "FAILED"
		}
	})
}

// reach does what a deed begins from, unless this is where things stand.
func (s *sweep) reach(d *deed) {
	s.t.Helper()
	if s.at.state() == d.state() {
		return
	}
	if d.from != nil {
		s.reach(d.from)
	}
	s.begin(d)
	s.set("")
	s.done("on the way, "+d.name, d)
	s.follow("on the way, "+d.name, d)
	s.at = d
}

// undisturbed notes every request of a run, and what it leaves.
func (s *sweep) undisturbed(d *deed) {
	s.t.Helper()
	s.begin(d)
	s.set("")
	s.done(d.name, d)
	var points []point
	for _, name := range []string{"east", "management", "west"} {
		points = append(points, pointsOf(name, s.proxies[name].Log())...)
	}
	s.book.note(d, points)
	s.follow(d.name, d)
	if d.mirrors {
		s.eventually("the mirror is there", func() bool {
			_, err := s.client("west").CoreV1().Services("default").Get(s.t.Context(), "web-east", metav1.GetOptions{})
			return err == nil
		})
	}
	d.end = s.snapshot()
	s.at = d
	s.t.Logf("%s: %d requests", d.name, len(points)/2)
}

// disturbed does a deed with a process that is killed at a point, and then with one that is not.
func (s *sweep) disturbed(d *deed, at point) {
	s.t.Helper()
	what := fmt.Sprintf("%s, killed %s", d.name, at)
	s.lap = time.Now()
	s.begin(d)
	s.spent(d, "begin")
	fate := s.kill(d, at)
	s.spent(d, "kill")
	s.set("")
	s.abandon()
	s.done(what, d)
	s.spent(d, "restart")
	s.follow(what, d)
	s.spent(d, "follow")
	s.same(what, d)
	s.spent(d, "compare")
	var sent []string
	for range 2 {
		s.set("")
		s.again(what+", and again", d)
		// On a busy machine, a condition may be due at any time. A run that recorded one has the next one write nothing.
		if sent = s.sent(); len(sent) == 0 || slices.ContainsFunc(sent, func(w string) bool { return !toInventory.MatchString(w) }) {
			break
		}
	}
	s.spent(d, "again")
	for _, w := range sent {
		s.t.Errorf("%s: a further run sent to %s", what, w)
	}
	s.at, s.fate = d, fate
}

// toInventory is a write to an inventory, as sent gives it.
var toInventory = regexp.MustCompile(`^\w+: patch /api/v1/namespaces/linkwright-access/configmaps/linkwright\.\S+$`)

// sent returns the writes that got to the servers since the last set, by cluster.
func (s *sweep) sent() []string {
	var out []string
	for name, p := range s.proxies {
		for _, r := range p.Log() {
			restart := strings.HasSuffix(r.Path, "/deployments/linkerd-destination") // it waits until five minutes after the last one
			if r.Writes() && r.Resource != "leases" && !restart {
				out = append(out, fmt.Sprintf("%s: %s %s", name, r.Verb, r.Path))
			}
		}
	}
	return out
}

// spent puts down what a step took.
func (s *sweep) spent(d *deed, step string) {
	now := time.Now()
	s.book.spend(d, step, now.Sub(s.lap))
	s.lap = now
}

// pageOf reads the log of an earlier run, if there is one.
func pageOf(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path) //nolint:gosec // a flag's
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(raw)
}
