// Package live answers: how does long work show itself, and how is it stopped?
package live

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/progress"
	"github.com/linkwright/linkwright/sync/report"
)

// Mode is how work shows itself.
//
//	Silent   not at all
//	Tree     a tree that changes, on a terminal
//	Lines    a line for each transition, and one if there was none for long
//	Records  the log has the transitions; if there was none for long, it gets a record
type Mode string

// Modes.
const (
	Silent  Mode = ""
	Tree    Mode = "Tree"
	Lines   Mode = "Lines"
	Records Mode = "Records"
)

// What work waits for before it knows clusters.
const (
	Repository = "the repository"
	Management = "the management cluster"
	Clusters   = "the clusters"
	Lease      = "the Lease of this installation"
	DryRuns    = "dry runs in the clusters"
	Requests   = "the requests for tokens"
	Status     = "the service that gets the commit status"
)

const (
	redraw = 250 * time.Millisecond // between two frames
	calm   = 500 * time.Millisecond // work that takes no longer shows no tree
)

// silences are how long nothing is shown until a line says what is waited for: the first time, the second, and so on. The first is shorter
// than 2 s by more than the clock of frames needs.
func silences() []time.Duration {
	return []time.Duration{1600 * time.Millisecond, 5 * time.Second, 10 * time.Second}
}

// Options say how work shows itself.
type Options struct {
	Mode    Mode
	Title   string        // of the work
	Writes  bool          // transitions are shown; what only reads shows what it waits for, and nothing else
	Timeout time.Duration // of one request to a cluster
	Colours bool
	Out     io.Writer
	Size    func() progress.Size // of the terminal
}

// Display shows work while it is under way. What is written to it appears above the tree, or between the lines. The zero one shows nothing.
type Display struct {
	options Options
	log     *slog.Logger // of Records

	mu     sync.Mutex
	screen screen
	view   progress.View
	depth  int       // of Show in Show
	spoke  time.Time // when something was shown last
	quiet  int       // lines since then that say what is waited for
	ending bool      // it said how work ends after a signal
}

// New gives a display. Records go to a log that is set later.
func New(o Options) *Display {
	d := &Display{options: o, screen: screen{out: o.Out}}
	if o.Size != nil {
		d.screen.width = func() int { return o.Size().Width }
	}
	return d
}

// Logs says that the log has what the work reports.
func (d *Display) Logs() bool { return d.options.Mode == Records }

// Writes says that the work from now on changes something: a person saw what it will be, and confirmed it.
func (d *Display) Writes() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.options.Writes = true
}

// RecordTo names the log that gets records.
func (d *Display) RecordTo(log *slog.Logger) { d.log = log }

// Write writes above the tree, or between the lines.
func (d *Display) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spoken()
	return d.screen.write(p)
}

// spoken notes that something was shown. d.mu is held.
func (d *Display) spoken() { d.spoke, d.quiet = time.Now(), 0 }

// Wait says what is waited for while no report says it.
func (d *Display) Wait(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.view = d.view.Wait(what, time.Now())
}

// Clusters says that these clusters are asked at the same time, and gives what is called when one of them has answered.
func (d *Display) Clusters(names []api.ClusterName) (answered func(api.ClusterName)) {
	var mu sync.Mutex
	left := slices.Clone(names)
	if len(left) > 0 {
		d.Wait(clusters(left))
	}
	return func(name api.ClusterName) {
		mu.Lock()
		defer mu.Unlock()
		if left = slices.DeleteFunc(left, func(n api.ClusterName) bool { return n == name }); len(left) > 0 {
			d.Wait(clusters(left))
		}
	}
}

// Nth says that clusters are worked on one after the other, and now the one of this index.
func (d *Display) Nth(names []api.ClusterName, i int) {
	what := Cluster(names[i])
	if len(names) > 1 {
		what += fmt.Sprintf(", %d of %d", i+1, len(names))
	}
	d.Wait(what)
}

// Cluster is what work waits for that waits for one cluster.
func Cluster(name api.ClusterName) string { return "cluster " + string(name) }

// named is how many clusters one line names.
const named = 3

func clusters(names []api.ClusterName) string {
	words := make([]string, 0, named+1)
	for _, n := range names[:min(len(names), named)] {
		words = append(words, string(n))
	}
	if more := len(names) - named; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	if len(names) == 1 {
		return Cluster(names[0])
	}
	return "clusters " + strings.Join(words, ", ")
}

// Show shows that work is under way, which first waits for something, until the function that it gives is called, at the latest when work
// around it ends. When ctx ends by a signal, it says how work that writes ends.
func (d *Display) Show(ctx context.Context, first string) (stop func()) {
	if d.options.Mode == Silent {
		return func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.depth++; d.depth > 1 {
		d.view = d.view.Wait(first, time.Now())
		return sync.OnceFunc(d.leave)
	}
	d.begin(first)
	over, done := make(chan struct{}), make(chan struct{})
	warned := make(chan struct{})
	unwarned := context.AfterFunc(ctx, func() {
		defer close(warned)
		d.stopping(context.Cause(ctx))
	})
	go d.run(over, done)
	return sync.OnceFunc(func() {
		if !unwarned() {
			<-warned // not after what the work ends with
		}
		close(over)
		<-done
		d.leave()
	})
}

func (d *Display) begin(first string) {
	now := time.Now()
	d.view = progress.View{Title: d.options.Title, Began: now, Timeout: d.options.Timeout}.Wait(first, now)
	d.spoken()
}

// leave ends one Show. The last one takes the tree away: the report comes in its place.
func (d *Display) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.depth--; d.depth == 0 {
		d.screen.clear()
	}
}

// run shows what there is to show, again and again.
func (d *Display) run(over <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case now := <-tick.C:
			d.tick(now)
		}
	}
}

func (d *Display) tick(now time.Time) {
	d.mu.Lock()
	view, quiet, long := d.view, d.quiet, d.silent(now)
	if d.options.Mode == Tree && now.Sub(view.Began) >= calm {
		d.screen.draw(view.Tree(now, d.options.Size(), d.options.Colours))
	}
	d.mu.Unlock()
	if !long {
		return
	}
	took := now.Sub(view.Began).Round(time.Second)
	if d.options.Mode == Records {
		d.log.Info("waiting", "seconds", took.Seconds(), "why", view.Waiting(now))
	} else {
		d.line(fmt.Sprintf("waiting %s: %s", took, view.Waiting(now)))
	}
	d.mu.Lock()
	d.quiet = quiet + 1
	d.mu.Unlock()
}

// silent says that nothing was shown for so long that a line is to say what is waited for. d.mu is held.
func (d *Display) silent(now time.Time) bool {
	all := silences()
	return d.options.Mode != Tree && now.Sub(d.spoke) >= all[min(d.quiet, len(all)-1)]
}

// line shows one line. An error of the writer is ignored: a terminal that is gone shows nothing. d.mu is not held, as the log writes to the display, too.
func (d *Display) line(text string) { _, _ = d.Write([]byte(report.Printable(text) + "\n")) }

// Report takes over what a report says. Of work that writes, the transitions are shown.
func (d *Display) Report(r report.Report) {
	for _, row := range d.take(r) {
		d.line(row.Line())
	}
}

// take takes over what a report says, and gives the transitions that are to be shown as lines.
func (d *Display) take(r report.Report) []progress.Row {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.depth == 0 {
		return nil
	}
	next, moved := d.view.Next(r, time.Now())
	if d.view = next; d.options.Mode != Lines || !d.options.Writes {
		return nil
	}
	return moved
}

// stopping says how work that writes ends after a signal.
func (d *Display) stopping(why error) {
	stopped, ok := by(why)
	d.mu.Lock()
	said, writes := d.ending, d.options.Writes
	d.ending = said || ok
	d.mu.Unlock()
	if !ok || said || !writes {
		return
	}
	text := "finishing what has begun"
	if stopped.keyboard() {
		text += "; press Ctrl-C again to stop now"
	}
	if d.options.Mode == Records {
		d.log.Info("stopping", "why", why.Error(), "how", text)
		return
	}
	d.line(text)
}
