// Package store keeps what a leader has learned from Git, the management cluster and the clusters, and returns snapshots of it. The leader can read
// all of it again.
package store

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

// Store is what is known during a period of leadership. One lock guards all of it. Each part has one writer, which its type names, and
// its methods lock. A method of the store concerns several parts.
type Store struct {
	Declared    Declared
	Clusters    Clusters
	Record      Record
	Credentials Credentials
	Corrections Corrections
	Results     Results

	settings Settings
	mu       sync.Mutex
	round    int
	rules    cached[sum]                            // which commits are barred, and which clusters are known as whom
	carried  cached[map[api.ClusterName]api.Commit] // see Carried
}

// Settings are what a process was started with. Nobody changes them.
type Settings struct {
	Installation object.Installation
	Options      state.Options
	Process      state.Process // without Elsewhere, which follows from Writes
	Takeover     state.Takeover
	Overrides    Overrides
	// Verifies has credentials verified before they are handed over.
	Verifies bool
	// Writes says that a cluster is this process's to write; nil: none is.
	Writes func(api.ClusterName) bool
	// Rejected says why an error of a write says that the object is never changed like that; false: it says something else; nil: no error does.
	Rejected func(error) (object.Rejection, bool)
}

// Overrides are decisions that one sync is started with. They count before those of the record.
type Overrides struct {
	// Accepted confirms identities: name → uid of namespace kube-system.
	Accepted map[api.ClusterName]string
	// Abandoned gives clusters up that are no longer declared and cannot be read: nobody looks for what they hold any more.
	Abandoned map[api.ClusterName]bool
	// Allowed are commits that may be applied although they do not follow what was applied; the first digits are enough.
	Allowed []api.Commit
	// Cap limits what a revision may remove, whatever is declared; nil: nothing does.
	Cap *api.PruneLimits
}

// New returns an empty store.
func New(settings Settings) *Store {
	s := &Store{settings: settings}
	s.Declared = Declared{mu: &s.mu, removed: map[api.ClusterName]bool{}, answers: answers{after: map[[2]api.Commit]error{}}}
	s.Clusters = Clusters{mu: &s.mu, decoded: map[api.ClusterName]decoded{}, specs: map[api.ClusterName]sum{}}
	s.Record = Record{mu: &s.mu, overrides: settings.Overrides, decided: decide(settings.Overrides, nil)}
	s.Record.remembers = remembered(inventory.Record{}, s.Record.decided, settings.Overrides.Cap)
	s.Credentials = Credentials{mu: &s.mu}
	s.Corrections = Corrections{
		mu: &s.mu, refused: settings.Rejected,
		corrected: map[api.ClusterName]map[object.Key]*correction{},
		immutable: map[api.ClusterName]map[object.Key]state.Refusal{},
		followed:  map[api.Pair]time.Time{},
	}
	s.Results = Results{mu: &s.mu, rows: map[api.ClusterName]*report.Cluster{}, waiting: map[api.ClusterName][]api.ClusterName{}}
	return s
}

// cached is a value made of what has versions.
type cached[T any] struct {
	value T
	of    [3]int // the versions that it was made of
	made  bool
}

// at returns the value for those versions.
func (c *cached[T]) at(of [3]int, value func() T) T {
	if !c.made || c.of != of {
		c.value, c.of, c.made = value(), of, true
	}
	return c.value
}

// NextRound numbers a round: clusters that were read by requests in an earlier one are to be read again before anything is deleted.
func (s *Store) NextRound() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Corrections.expire(time.Now())
	s.round++
	return s.round
}

// Enter takes over what is declared, and the record that was read for it, and gives the clusters that there are now: those declared, and
// those of the record that nobody declares any more. What is known of others is forgotten, as is how the last round left the clusters. What
// was done and is not reported yet is kept.
func (s *Store) Enter(f *fleet.Fleet, record inventory.Record) []fleet.Cluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Declared.fleet == nil || s.Declared.fleet.Commit != f.Commit {
		clear(s.Corrections.followed)
	}
	s.Declared.enter(f, departed(f, record))
	s.setRecord(record)
	clusters, names := s.Declared.all(), map[api.ClusterName]bool{}
	for _, c := range clusters {
		names[c.Name] = true
	}
	s.Results.enter(clusters, s.settings.Writes)
	s.Corrections.keep(names)
	s.Clusters.keep(names)
	s.Credentials.keep(f)
	return clusters
}

// departed returns the clusters that were written to and that nobody declares any more.
func departed(f *fleet.Fleet, r inventory.Record) []fleet.Cluster {
	var out []fleet.Cluster
	for _, name := range slices.Sorted(maps.Keys(r.Clusters)) {
		if _, ok := f.Cluster(name); ok {
			continue
		}
		spec := api.Cluster{Access: r.Clusters[name].Access, Linkerd: r.Clusters[name].Linkerd}
		out = append(out, fleet.Cluster{Name: name, Spec: spec.WithDefaults()})
	}
	return out
}

// SetRecord takes over what the management cluster remembers. Commits that people newly allow are judged again.
func (s *Store) SetRecord(r inventory.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setRecord(r)
}

// setRecord is SetRecord; s.mu is held.
func (s *Store) setRecord(r inventory.Record) {
	allowed := s.Record.decided.allowed
	if s.Record.set(r); !slices.Equal(allowed, s.Record.decided.allowed) {
		s.Declared.resetAnswers()
	}
}

// Apply makes a fleet the applied one.
func (s *Store) Apply(f *fleet.Fleet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Declared.apply(f) {
		s.Results.version++
	}
}

// PutCluster takes over how a cluster was read; ok: it was read for this epoch. moved says that other clusters' steps may now differ.
func (s *Store) PutCluster(name api.ClusterName, c state.Cluster, epoch int) (moved, ok bool) {
	s.mu.Lock()
	last, f := s.Clusters.decoded[name], s.Declared.fleet
	s.mu.Unlock()
	now, next := digestOf(s.settings.Installation.Owner, c, byNames(f, name, c), last)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Declared.epoch != epoch {
		return false, false
	}
	denied, was := s.Declared.answers.denies(s.Declared.fleet), s.Clusters.digests.at[name]
	moved = was.sum != now.sum || because(denied, was.commit) != because(denied, now.commit)
	s.Clusters.put(name, c, now, moved)
	s.Clusters.decoded[name] = next
	s.forgetIssued(name)
	return moved, true
}

// forgetIssued forgets tokens that a source has in place, or has no link of mode Bound for any more. s.mu is held.
func (s *Store) forgetIssued(source api.ClusterName) {
	read := s.Clusters.at.at[source]
	s.Credentials.forget(func(p api.Pair, token object.Secret) bool {
		l, declared := s.Declared.fleet.Link(p)
		return !declared || l.Spec.Credentials.Mode != api.Bound || p.Source == source && credential.Pair{View: state.View{Link: l, Source: read}}.SecretsHold(token)
	})
}

// Correct counts what a reconcile wrote. failed are the ends of which a write failed, and which (see state.Results).
func (s *Store) Correct(name api.ClusterName, outcomes []object.Outcome, failed map[object.End]object.Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Corrections.correct(name, outcomes, failed, time.Now())
}
