// Package sync decides when a cluster is reconciled. It keeps a queue of clusters, and reads, plans and writes each cluster that is due. It does not
// decide what to do in a cluster: package plan does.
package sync

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/confine"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
	"github.com/linkwright/linkwright/sync/store"
	"github.com/linkwright/linkwright/sync/verify"
)

// Declaration is everything that one commit declares, with warnings. Without a fleet it has the problems that prevent one. A plain directory has no
// commit.
type Declaration struct {
	Commit   api.Commit
	Fleet    *fleet.Fleet
	Problems []api.Problem
}

// Declared reads the history of declarations. An error comes with the commit alone, if that much is known.
type Declared interface {
	// Next gives what the head declares now.
	Next(ctx context.Context) (Declaration, error)
	// At gives what an older commit declared.
	At(ctx context.Context, commit api.Commit) (Declaration, error)
	// Follows says why commit may not be applied where last was applied: it does not descend from it, or that is not
	// known; nil: it may. A definite answer is remembered. An empty last is a commit that nobody knows: only people can
	// allow what is to be applied after that. allowed are commits that they do allow; the first digits are enough.
	Follows(ctx context.Context, commit, last api.Commit, allowed []api.Commit) error
}

// Clusters are the open connections. WithCluster and Token run beside Follow, because drift is repaired while the next sync begins.
type Clusters interface {
	// Follow opens what is new or changed, closes what is not named any more, and says per cluster
	// what prevents it. A cluster that cannot be opened has no connection. A change that takes long goes on until ctx ends,
	// with the former connection in use, and is a move once it is done.
	Follow(ctx context.Context, clusters []fleet.Cluster) map[api.ClusterName]error
	// WithCluster calls f with a connection that is f's until it returns.
	WithCluster(ctx context.Context, name api.ClusterName, f func(object.Cluster) error) error
	// Token asks a cluster for a token. It is the only thing that is made and not an object.
	Token(ctx context.Context, name api.ClusterName, r object.TokenRequest) (object.Secret, error)
}

// Changes reports what changed in clusters that are watched.
type Changes interface {
	// Moved receives whenever there is something to take; many times are one.
	Moved() <-chan struct{}
	// Take gives what moved since it was last asked.
	Take() map[api.ClusterName]object.ChangedKeys
}

// Meter measures reconciles. Its methods return at once.
type Meter interface {
	// Reconciled gets how long a reconcile of a cluster took, its writes included.
	Reconciled(cluster api.ClusterName, took time.Duration)
	// Measure gets, for one period of leadership, a function that returns how many clusters are due and wait. It may be called at any time, until
	// the returned function is called.
	Measure(queued func() int) (stop func())
}

// ErrInvalid means that the declarations have errors; the report's problems say which.
var ErrInvalid = errors.New("the declarations are invalid")

// ErrInterrupted means that a sync was asked to stop before its end.
var ErrInterrupted = errors.New("interrupted before the end")

// Loop runs syncs over a fleet. Its fields are set once.
type Loop struct {
	Options
	Declared   Declared
	Clusters   Clusters
	Management record.ManagementCluster
	Renderer   plan.Renderer
	Policies   []plan.Policy
	Log        *slog.Logger
	// Changes reports what moves in clusters that are watched; nil: every read asks them.
	Changes Changes
	// Meter measures the reconciles of Run; nil: nobody does.
	Meter Meter
	// Recorded receives whenever the record may hold new decisions; nil: they are found with the next sync.
	Recorded <-chan struct{}
	// Verifier verifies credentials before they are handed to Linkerd; nil: none is verified.
	Verifier verify.Client
	// Progress gets how all stands while Once or Snapshot is under way, again and again, one report at a time, and the report of Once at its
	// end; nil: nobody wants to know.
	Progress func(report.Report)
	Errors

	maxRendered int // ends at once; zero: defaultMaxRendered
}

// Errors reads errors of Clusters.
type Errors struct {
	// Explain says what one means; nil: what it says.
	Explain func(error) object.Reason
	// Rejection says why one of a write says that the object is never changed like that; false: it says something else.
	Rejection func(error) (object.Rejection, bool)
}

// Options are the settings that people choose.
type Options struct {
	Owner string
	// Holder names this process where the management cluster remembers revisions; empty: it does not apply any.
	Holder string
	// Only names the clusters to write; empty: all. All are read.
	Only []api.ClusterName
	// ReadOnly plans and reports, and writes nothing anywhere.
	ReadOnly bool
	// Probe, with ReadOnly, verifies credentials all the same, of all clusters: to be reported, and not before they are written.
	Probe bool
	// Overrides are for one sync: what people decide while a daemon runs is in the record.
	store.Overrides
	// Takeover has syncs adopt what others made for links, or release what linkwright made, and do nothing else; empty: ordinary syncs.
	state.Takeover
	// UnreachableSourceTimeout is for how long a source that gives no answer keeps its access to the target of a removed link; zero: not at all.
	UnreachableSourceTimeout time.Duration
	// Uninstall says that people uninstall linkwright: Declared then declares that every cluster leaves.
	Uninstall bool
	// Patience is how long a sync waits for what must happen by itself: tokens, pods, mirrors.
	Patience time.Duration
	Confinement
}

// Confinement is how admission policies confine linkwright in clusters.
type Confinement struct {
	// Confined is the account that they must confine, but for its name in each cluster and the namespace of links there.
	Confined confine.Account
	// RequireConfinement has nothing written to clusters in which they do not.
	RequireConfinement bool
}

// writes reports whether this process writes a cluster.
func (l *Loop) writes(name api.ClusterName) bool {
	return !l.ReadOnly && (len(l.Only) == 0 || slices.Contains(l.Only, name))
}

// verifies reports whether credentials are verified.
func (l *Loop) verifies() bool { return l.Verifier != nil && (l.Probe || !l.ReadOnly) }

// guards reports whether this process guards a cluster's history. Other processes guard the clusters that they write.
func (l *Loop) guards(name api.ClusterName) bool {
	return len(l.Only) == 0 || slices.Contains(l.Only, name)
}
