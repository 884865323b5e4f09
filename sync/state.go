package sync

import (
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

// declarations are what is declared. The round that chooses a revision writes them.
type declarations struct {
	fleet     *fleet.Fleet // declared now: the one in force, or one that is being judged
	good      *fleet.Fleet // in force
	head      api.Commit   // the newest that was seen
	since     time.Time    // when good's commit was put in force in this term
	root      api.Commit   // good's, once a cluster was seen to carry it
	departed  []fleet.Cluster
	struckOff map[api.ClusterName]bool // of departed: in the record no more
	epoch     int                      // of the declared fleet: another one, another epoch
	answers   map[[2]api.Commit]error  // of this pass: whether the first may be applied after the second
	asking    sync.Mutex               // held while whether one commit follows another is asked
}

// clusterStates are clusters as they were read last. The reconcile of a cluster writes them.
type clusterStates struct {
	sides       shelf[api.ClusterName, state.Cluster]
	before      map[api.ClusterName][]object.Watch // what was looked at last in clusters that are to be read anew
	shown       shelf[api.ClusterName, shown]
	moves       int                               // of shown: how often one changed
	announced   map[api.ClusterName]announcements // beside shown
	specs       map[api.ClusterName]sum           // by which facts of sides were read
	looks       looks                             // of sides
	configs     linkerd.Configs                   // of sides, decoded
	confinement confinement                       // of accounts
}

// records are what the management cluster remembers. Amendments write them, and the round that reads the record anew.
type records struct {
	record    inventory.Record
	uids      map[api.ClusterName]string           // of record; nobody changes it
	debts     map[api.ClusterName][]inventory.Debt // of record; nobody changes it
	retiring  map[api.ClusterName]bool             // of record; nobody changes it
	decided   decided                              // by record and flags
	amends    []*amendment                         // of record, which wait to be written
	recording sync.Mutex                           // held while the record is written, or read to be taken over
}

// credentials are tokens on their way. The target's reconcile writes fresh, and the verifier proofs.
type credentials struct {
	fresh  shelf[api.Pair, linkerd.Credential] // issued, and not yet seen in place
	proofs shelf[api.Pair, state.Proof]        // of credentials that were tried
}

// corrections are what writes came to. The reconcile that wrote writes them.
type corrections struct {
	corrected map[api.ClusterName]map[object.Key]*correction
	failing   map[api.ClusterName]map[object.End]bool          // see fail
	fixed     map[api.ClusterName]map[object.Key]state.Refusal // fields that a server says cannot be changed
	followed  map[api.Pair]followed
}

// telling is what reports tell. The reconcile of a cluster writes its row, and the round what is told beside.
type telling struct {
	table     map[api.ClusterName]*report.Cluster
	elsewhere map[api.ClusterName]bool // of table: written by other processes; nobody changes it
	opened    report.Report            // what is told of the pass under way, beside its clusters
	version   int                      // of what is told: another one with each change of it
	told      int                      // the version that rows gave last
}
