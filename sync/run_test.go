package sync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/report"
)

// script is a repository of which a test says what its head is; a poll takes a while.
type script struct {
	mu    sync.Mutex
	head  api.Commit
	err   error
	polls int
	takes time.Duration
}

func (s *script) set(head api.Commit, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head, s.err = head, err
}

func (s *script) polled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.polls
}

func (s *script) Next(ctx context.Context) (Declaration, error) {
	s.mu.Lock()
	s.polls++
	head, err := s.head, s.err
	s.mu.Unlock()
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return Declaration{}, ctx.Err()
	}
	if err != nil {
		return Declaration{}, err
	}
	return s.At(ctx, head)
}

func (s *script) At(_ context.Context, commit api.Commit) (Declaration, error) {
	text := fmt.Sprintf("apiVersion: %[1]s\nkind: Cluster\nmetadata: {name: west}\nspec: {access: {kubeconfigSecret: {name: west}}}\n"+
		"---\napiVersion: %[1]s\nkind: SyncPolicy\nmetadata: {name: p}\nspec: {interval: 1h}\n", api.GroupVersion)
	f, problems := fleet.Load(commit, fstest.MapFS{"fleet.yaml": {Data: []byte(text)}})
	return Declaration{Commit: commit, Fleet: f, Problems: problems}, nil
}

func (s *script) Follows(context.Context, api.Commit, api.Commit, []api.Commit) error { return nil }

// empty is a cluster that holds nothing, and takes every write.
type empty struct{}

func (empty) Observe(context.Context, []object.Watch) (object.Observation, error) {
	return object.Observation{}, nil
}

func (empty) Live(context.Context, []object.Watch) (object.Observation, error) {
	return object.Observation{}, nil
}

func (empty) Write(context.Context, object.Change) (object.Record, error) {
	return object.Record{}, nil
}

// far is clusters that answer after a while, and nothing.
type far struct{ takes time.Duration }

func (far) Follow(context.Context, []fleet.Cluster) map[api.ClusterName]error { return nil }

func (f far) WithCluster(_ context.Context, _ api.ClusterName, do func(object.Cluster) error) error {
	time.Sleep(f.takes)
	return do(empty{})
}

func (far) Token(context.Context, api.ClusterName, object.TokenRequest) (object.Secret, error) {
	return object.Secret{}, errors.New("no")
}

// daemon runs a loop over a script inside a bubble; begun tells which commits passes were about, and when they ended.
func daemon(t *testing.T, s *script, c Clusters, f func(poke chan struct{}, begun func() []string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &Loop{
			Options: Options{Owner: "linkwright", Patience: time.Minute}, Declared: s, Clusters: c, Management: record.ManagementCluster{Cluster: empty{}, Namespace: "linkwright"},
			Renderer: render.Renderer{Owner: "linkwright"}, Log: slog.New(slog.DiscardHandler),
		}
		ctx, stop := context.WithCancel(t.Context())
		start, poke, ended := time.Now(), make(chan struct{}, 1), make(chan error)
		var mu sync.Mutex
		var log []string
		go func() {
			ended <- l.Run(ctx, 1, poke, func(r report.Report) {
				mu.Lock()
				defer mu.Unlock()
				if r.When == report.Syncing {
					return
				}
				log = append(log, fmt.Sprintf("%s %s", r.Head, time.Since(start).Round(time.Millisecond)))
			})
		}()
		f(poke, func() []string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(log)
		})
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func tell(poke chan struct{}) {
	select {
	case poke <- struct{}{}:
	default:
	}
}

func passes(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: passes: got %q, want %q", what, got, want)
	}
}

// Between passes a poke polls, and begins one only if something is new; else the schedule stays as it was.
func TestPokePolls(t *testing.T) {
	s := &script{head: "a", takes: 20 * time.Millisecond}
	daemon(t, s, far{}, func(poke chan struct{}, begun func() []string) {
		time.Sleep(10 * time.Minute)
		passes(t, "at first", begun(), "a 20ms")
		tell(poke)
		time.Sleep(time.Minute)
		passes(t, "nothing new", begun(), "a 20ms")
		s.set("b", nil)
		tell(poke)
		time.Sleep(time.Second)
		passes(t, "a commit", begun(), "a 20ms", "b 11m0.02s")
		if n := s.polled(); n != 3 {
			t.Errorf("%d polls, want one at first, and one for each poke", n)
		}
		s.set("", errors.New("no route"))
		tell(poke)
		time.Sleep(time.Second)
		tell(poke)
		time.Sleep(time.Second)
		passes(t, "an outage, told twice", begun(), "a 20ms", "b 11m0.02s", "b 11m1.02s")
		s.set("b", nil)
		tell(poke)
		time.Sleep(time.Second)
		passes(t, "it is over", begun(), "a 20ms", "b 11m0.02s", "b 11m1.02s", "b 11m3.02s")
		time.Sleep(53 * time.Minute)
		if n := len(begun()); n != 4 {
			t.Errorf("%d passes before the interval is over", n)
		}
		time.Sleep(7 * time.Minute)
		if n := len(begun()); n != 5 {
			t.Errorf("%d passes once it is", n)
		}
	})
}

// pausing is an error that says when the next try is, as package source's does, wrapped or not.
type pausing struct{ until time.Time }

func (p *pausing) Error() string    { return "no route" + p.Fleeting() }
func (p *pausing) Fleeting() string { return "; again at " + p.until.Format(time.TimeOnly) }

// A poll in vain that tells another time is nothing new; another cause is.
func TestPokeInAnOutage(t *testing.T) {
	s := &script{err: errors.New("read the repository: no route"), takes: time.Second}
	daemon(t, s, far{}, func(poke chan struct{}, begun func() []string) {
		for range 3 {
			time.Sleep(10 * time.Second)
			s.set("", fmt.Errorf("read the repository: %w", &pausing{time.Now()}))
			tell(poke)
		}
		time.Sleep(5 * time.Second)
		passes(t, "an outage", begun(), " 1s")
		s.set("", errors.New("read the repository: 401"))
		tell(poke)
		time.Sleep(5 * time.Second)
		passes(t, "another cause", begun(), " 1s", " 36s")
	})
}

// Many pokes are one, and one that comes while another is answered is answered, too.
func TestPokesAreNotLost(t *testing.T) {
	s := &script{head: "a", takes: time.Second}
	daemon(t, s, far{}, func(poke chan struct{}, begun func() []string) {
		time.Sleep(time.Minute)
		tell(poke)
		time.Sleep(100 * time.Millisecond) // the poll saw the old head
		s.set("b", nil)
		for range 100 {
			tell(poke)
		}
		time.Sleep(2 * time.Second)
		passes(t, "a push in mid-poll", begun(), "a 1s", "b 1m2s")
		time.Sleep(time.Minute)
		if n := s.polled(); n != 3 {
			t.Errorf("%d polls for a hundred pokes", n)
		}
	})
}

// What is new while a sync runs ends it once its turns under way have ended.
func TestPokeDuringASync(t *testing.T) {
	s := &script{head: "a"}
	daemon(t, s, far{10 * time.Second}, func(poke chan struct{}, begun func() []string) {
		time.Sleep(5 * time.Second) // its clusters are being read
		s.set("b", nil)
		tell(poke)
		time.Sleep(time.Minute)
		passes(t, "a push in mid-pass", begun(), "a 10s", "b 20s")
	})
}

// News end what a sync waits for at once, though there would be patience.
func TestNewRevisionEndsWaiting(t *testing.T) {
	for name, tt := range map[string]struct {
		news bool
		want time.Duration
	}{"news": {true, 3 * time.Second}, "none": {false, 40 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			e, news, start := atRest("west"), make(chan struct{}), time.Now()
			defer e.queue.ShutDown()
			e.round = newRound(1, time.Minute)
			w := e.workers["west"]
			w.alarm, w.pending = start.Add(40*time.Second), true
			time.AfterFunc(40*time.Second, func() { // as a reconcile then would
				e.mu.Lock()
				w.pending = false
				e.mu.Unlock()
				e.progress.notify()
			})
			if tt.news {
				time.AfterFunc(3*time.Second, func() { close(news) })
			}
			e.waitForRound(t.Context(), news)
			if got := time.Since(start); got != tt.want {
				t.Errorf("%s: the pass took %v, want %v", name, got, tt.want)
			}
		})
	}
}
