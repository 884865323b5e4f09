package store

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
)

// Declared is what Git declares. The round that chooses a revision writes it.
type Declared struct {
	mu        *sync.Mutex
	fleet     *fleet.Fleet // declared now: the applied one, or one that is being judged
	applied   *fleet.Fleet // of the applied revision; nil: none is yet
	since     time.Time    // when applied's commit was applied first during this leadership
	confirmed api.Commit   // applied's, once a cluster was seen to carry it
	observed  api.Commit   // the observed revision: the newest that was seen
	departed  []fleet.Cluster
	removed   map[api.ClusterName]bool // of departed: in the record no more
	epoch     int                      // of fleet: another one, another epoch
	answers   answers
	version   int // of fleet and answers
}

// enter has a fleet declared. d.mu is held.
func (d *Declared) enter(f *fleet.Fleet, departed []fleet.Cluster) {
	if d.fleet != f {
		d.epoch++
	}
	d.fleet, d.departed, d.removed = f, departed, map[api.ClusterName]bool{}
	d.version++
}

// Commit returns that of the declared fleet.
func (d *Declared) Commit() api.Commit {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fleet.Commit
}

// Epoch numbers what is declared.
func (d *Declared) Epoch() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.epoch
}

// Observe notes which commit is the newest, and gives it: the last one, if none could be read.
func (d *Declared) Observe(head api.Commit) api.Commit {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.observed = cmp.Or(head, d.observed)
	return d.observed
}

// All returns the declared clusters, and those of the record that are no longer declared.
func (d *Declared) All() []fleet.Cluster {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all()
}

// all is All; d.mu is held, as in what follows with a small letter.
func (d *Declared) all() []fleet.Cluster { return slices.Concat(d.fleet.Clusters, d.departed) }

// CountEnds counts the declared ends of a cluster, with its base.
func (d *Declared) CountEnds(name api.ClusterName) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.fleet.Out(name)) + len(d.fleet.In(name)) + 1
}

// Policy returns the declared one; without a declaration, the default.
func (d *Declared) Policy() api.SyncPolicy {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fleet == nil {
		return api.SyncPolicy{}.WithDefaults()
	}
	return d.fleet.Policy
}

// Declares reports whether a cluster is declared now.
func (d *Declared) Declares(name api.ClusterName) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.fleet.Cluster(name)
	return ok
}

// Names returns the second names of a cluster.
func (d *Declared) Names(name api.ClusterName) []api.ClusterName {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fleet == nil {
		return nil
	}
	return d.fleet.Names(name)
}

// HasLeft reports whether a cluster of the record is no longer declared.
func (d *Declared) HasLeft(name api.ClusterName) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hasLeft(name)
}

func (d *Declared) hasLeft(name api.ClusterName) bool {
	return slices.ContainsFunc(d.departed, func(c fleet.Cluster) bool { return c.Name == name })
}

// MarkRemoved notes that a cluster is in the record no more. It is read no more, if nobody declares it.
func (d *Declared) MarkRemoved(name api.ClusterName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hasLeft(name) {
		d.removed[name] = true
	}
}

// IsRemoved reports whether a cluster is read no more.
func (d *Declared) IsRemoved(name api.ClusterName) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.removed[name]
}

// apply makes a fleet the applied one, and says whether its commit is another one. d.mu is held.
func (d *Declared) apply(f *fleet.Fleet) (another bool) {
	if another = d.applied == nil || d.applied.Commit != f.Commit; another {
		d.since, d.confirmed = time.Now(), ""
	}
	d.applied = f
	return another
}

// Withdraw takes a commit that may not be applied back. No cluster was seen to carry it, so nothing is lost with it.
func (d *Declared) Withdraw(commit api.Commit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.applied != nil && d.applied.Commit == commit {
		d.applied, d.confirmed, d.since = nil, "", time.Time{}
	}
}

// Applied returns the fleet of the applied revision, and since when it is in this leadership; nil: none is yet.
func (d *Declared) Applied() (*fleet.Fleet, time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.applied, d.since
}

// IfApplied returns the declared fleet, if it is the applied one; nil: it is being judged.
func (d *Declared) IfApplied() *fleet.Fleet {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ifApplied()
}

func (d *Declared) ifApplied() *fleet.Fleet {
	if d.fleet != d.applied {
		return nil
	}
	return d.applied
}

// Confirm notes that clusters were seen to carry the applied commit.
func (d *Declared) Confirm(commit api.Commit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.confirmed = commit
}

// Confirmed returns the applied commit, once a cluster was seen to carry it; empty: none was. carried are the commits that clusters carry now.
func (d *Declared) Confirmed(carried map[api.Commit][]api.ClusterName) api.Commit {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.applied == nil {
		return ""
	}
	if carried[d.applied.Commit] != nil {
		d.confirmed = d.applied.Commit
	}
	return d.confirmed
}

// Answer says whether a commit may be applied after another, if that was asked in this round.
func (d *Declared) Answer(commit, last api.Commit) (err error, known bool) { //nolint:revive // the error is the value
	d.mu.Lock()
	defer d.mu.Unlock()
	err, known = d.answers.after[[2]api.Commit{commit, last}]
	return err, known
}

// SetAnswer notes it.
func (d *Declared) SetAnswer(commit, last api.Commit, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answers.set(commit, last, err)
	d.version++
}

// ResetAnswers lets what was not known be asked again. Who answers remembers what was.
func (d *Declared) ResetAnswers() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.resetAnswers()
}

func (d *Declared) resetAnswers() {
	if d.answers.reset() {
		d.version++
	}
}
