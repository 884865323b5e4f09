// Package state holds what is known of all clusters at one moment, and decides which cluster a name means.
package state

import (
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Snapshot is everything known at one moment. It is immutable: whoever learns more makes another snapshot. A cluster that was never read completely
// is not Known.
type Snapshot struct {
	object.Installation // its Namespace is that of the record in the management cluster, as commands need it; empty: the usual one
	Declarations
	Record
	Options
	Process
	Results
	Takeover
	Clusters      map[api.ClusterName]Cluster
	DuplicateUIDs map[string]bool // identities that several known sides show; nil: they are counted
	// Round numbers the reading of clusters, all at once and by requests: what cannot be taken back is not decided on a Side
	// of another one.
	Round int
	Now   time.Time
}

// Declarations are what Git declares.
type Declarations struct {
	Fleet    *fleet.Fleet
	Departed []fleet.Cluster // of the record, but no longer declared
	// DeniedAfter are the commits after which the fleet's must not be applied, as bases carry them, with the reason.
	DeniedAfter map[api.Commit]*object.Reason
}

// Record is what the management cluster remembers, and what people decided.
type Record struct {
	// UIDs are the identities by which clusters are remembered; Accepted are those that people confirmed.
	UIDs, Accepted map[api.ClusterName]string
	// Pending are what clusters still hold of removed links; Forget are clusters that people give up, once they are no longer declared.
	Pending   map[api.ClusterName][]inventory.Pending
	Abandoned map[api.ClusterName]bool
	// Guard limits what a revision may remove.
	Guard Guard
	// Suspended are people's decisions of the kind Suspend; what is over counts no more.
	Suspended []inventory.Decision
}

// Guard limits what a revision may remove: what the record says of removals, and the limits of the process.
type Guard struct {
	Limits    *inventory.Limits // nil: not known yet
	Approvals []inventory.Approval
	Denied    *inventory.Denial        // nil: nothing is
	Retiring  map[api.ClusterName]bool // clusters whose removal was let through
	Cap       *api.PruneLimits         // nil: only declarations limit
}

// Process says which clusters this process writes, and how it runs.
type Process struct {
	Leadership int64
	// WrittenElsewhere are clusters that other processes write: their terms are no fence to linkwright.
	WrittenElsewhere map[api.ClusterName]bool
	// Probe has credentials tried of clusters that are not written here, too.
	Probe bool
	// Once has no rate limit hold conditions back: a sync that runs once ends when it has persisted what it knows.
	Once bool
}

// Options are the settings of an installation.
type Options struct {
	// UnreachableSourceTimeout is for how long a source that gives no answer keeps its access to the target of a removed link; zero: not at all.
	UnreachableSourceTimeout time.Duration
	// RequireConfinement has nothing written to clusters whose admission policies do not confine linkwright's account.
	RequireConfinement bool
	// Uninstall says that all clusters leave because people uninstall linkwright, whatever is declared.
	Uninstall bool
}

// Results are the results of earlier steps of this process.
type Results struct {
	// IssuedCredentials are stand-ins, or credentials not yet seen in place.
	IssuedCredentials map[api.Pair]linkerd.Credential
	// Verifications are what trying credentials gave, by source and target; nil: nobody tries them here.
	Verifications map[api.ClusterName]map[api.ClusterName]Verification
	// Contested are objects that others changed again and again, as often as they were corrected; Immutable are those of
	// which the server refused the last write for good.
	Contested map[api.ClusterName]map[object.Key]Contest
	Immutable map[api.ClusterName]map[object.Key]Refusal
	// Failing are the ends of which a write failed when their cluster was last reconciled, each with the first that did: they change for as long as it
	// does. The reasons have nothing that a server said.
	Failing map[api.ClusterName]map[object.End]object.Reason
	// Followed is when a link was last changed for nothing but its target's facts, since the fleet's commit is applied.
	Followed map[api.Pair]time.Time
}

// Contest is an object that others change whenever linkwright corrects it. linkwright leaves it alone until Until; Times is how often it was
// corrected without success.
type Contest struct {
	Until time.Time
	Times int
}

// Refusal is why the server rejected one write. It is about the object as it was desired and as it was live then. An immutable field stays immutable
// whatever else of the object changes; a list item of others may disappear.
type Refusal struct {
	object.Rejection
	Digest uint64        // of the object that was wanted
	Was    object.Record // of the object that was live
}

// Takeover replaces ordinary steps, because people asked for it: linkwright adopts what others created for links, or releases its own objects.
type Takeover struct {
	Adopt   map[api.Pair]bool // links; nil: nothing is adopted
	Rules   AdoptRules
	Release *Releasing // nil: nothing is released
}

// AdoptRules allow to adopt more.
type AdoptRules struct {
	// From is another installation that is gone: what carries its mark may be adopted, too.
	From string
	// Managed lets that be adopted, too, which Argo CD or Flux say they keep.
	Managed bool
}

// Releasing names the links, declared or not, that linkwright releases without deleting anything, and with All also everything else in clusters.
type Releasing struct {
	Links map[api.Pair]bool
	All   bool
}

// Has reports whether a link is given up.
func (r *Releasing) Has(p api.Pair) bool { return r.All || r.Links[p] }

// Affects reports whether something may be given up in a cluster.
func (r *Releasing) Affects(s Snapshot, name api.ClusterName) bool {
	for link := range r.Links {
		if link.Source == name || s.TargetCluster(link) == name {
			return true
		}
	}
	return r.All
}
