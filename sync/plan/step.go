package plan

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/health"
)

// Step is what to do in one cluster now. Denied: linkwright may write nothing there.
type Step struct {
	Cluster api.ClusterName
	Commit  api.Commit
	Denied  *object.Reason
	Beside
	Ahead         []object.Change // before anything else, one after the other: linkwright's namespace, the base, inventories
	Changes       []object.Change // by phase, then key; what takes something away last
	After         []object.Change // inventories of ends that are through
	TokenRequests []TokenRequest  // tokens to ask the cluster for, once all of that is done
	Verifications []Verification  // credentials to try now: what comes of it is in the next snapshot
	Rows          []Row           // sorted by end
	Times
	// ReadFirst are clusters that must be read by requests before what ends with the code Unread wait for can be decided; sorted.
	ReadFirst []api.ClusterName
	Recorded
	Orphans
}

// retryInterval is after how long a step that waits for something without a watch is planned again.
const retryInterval = 300 * time.Millisecond

// Times is when a step may change although nothing was written.
type Times struct {
	PlanAgain time.Time // zero: never
	Retry     time.Time // when there may be credentials to try, or conditions to tell, for which nothing waits; zero: never
}

// Recorded is what the management cluster must record.
type Recorded struct {
	// Pending are ends in other clusters that nothing but the record will tell of once this step is done: to be written there
	// first. CleanedUp are those of this cluster that the record need not name any more. Both are sorted.
	Pending   []object.End
	CleanedUp []api.Pair
	// RemovalChanges is what is new about removals: to be written to the record before anything else.
	Judged RemovalChanges
}

// Orphans are objects with linkwright's label that are not provably linkwright's: the first by key, and how many more there are. linkwright only
// reports them.
type Orphans struct {
	Listed []Orphan
	More   int
}

// TokenRequest is a token to request from the cluster, for the source of a link.
type TokenRequest struct {
	Link    api.Pair
	Request object.TokenRequest
}

// Verification is a credential to verify from this process. Credentials with the same At use the same address.
type Verification struct {
	Again       bool // it is the same credential as last time: nothing waits for the result
	Link        api.Pair
	Fingerprint string // of state.Proof
	Address     string
	Request     object.Login
}

// Phase is the state of an end on its way to what is declared.
type Phase string

// Phases of an end.
//
//	Ready      it is as declared
//	Changing   writes are planned
//	Waiting    something must happen by itself first
//	Blocked    it is declared, and cannot be rendered or written until somebody acts
//	Denied     a guard or a policy says no
//	Suspended  it is left as it is, because that is declared or decided, or because it waits for such an end
//	Removed    its last write is planned, or nothing of it is left
//	Released   `linkwright release` gave it up, or plans its last write for that: its objects stay
const (
	Ready     Phase = "Ready"
	Changing  Phase = "Changing"
	Waiting   Phase = "Waiting"
	Blocked   Phase = "Blocked"
	Denied    Phase = "Denied"
	Suspended Phase = "Suspended"
	Removed   Phase = "Removed"
	Released  Phase = "Released"
)

// Row is the state of one end. Other is the cluster of the link's other end, empty for a base. Going lists the objects that are being removed, and
// Unready those of a written end that are not ready.
type Row struct {
	End      object.End
	Phase    Phase
	Why      *object.Reason
	Leaving  bool
	Failed   bool // a write of it failed, which Why says
	Other    api.ClusterName
	Deleting []object.Key
	Unready  []Unready
	Health   []health.Verdict // of a declared link, at its source: all stages in order
	Until    time.Time        // of a drain: what is left then is swept; zero: Why is waited for as long as it takes
	Held     int              // changes that wait, because the end is suspended or another process writes it
	// NotRendered is why a declared end that is not written anyway cannot be rendered; nil: it can.
	NotRendered *object.Reason
	Times       LinkTimes // of a declared link, at its source
}

// LinkTimes are times of a link.
type LinkTimes struct {
	// Ready is since when the condition Ready has its status and reason, as the inventory records it; zero: it records another status, or none.
	Ready time.Time
	// Credential is when the link's token was issued, and until when it is valid.
	Credential credential.Validity
}

// Equal reports whether all times are the same.
func (t LinkTimes) Equal(o LinkTimes) bool {
	return t.Ready.Equal(o.Ready) && t.Credential.Equal(o.Credential)
}

// suspended reports whether an end is suspended, or waits for a suspended one.
func (r Row) suspended() bool { return r.Why != nil && r.Why.Code == reason.Suspended }

// HasNothingToReport reports whether a row has nothing to report: a base without a remark, or a base that is removed after the links.
func (r Row) HasNothingToReport() bool {
	if !r.End.IsBase() {
		return false
	}
	switch r.Phase {
	case Ready, Removed, Released:
		return r.Why == nil
	case Waiting:
		return r.Why != nil && r.Why.Code == reason.WaitingForLinks
	}
	return false
}

// Left reports whether the cluster has nothing of linkwright any more, so that it can leave the record.
func (s Step) Left() bool {
	if s.Denied != nil || s.Writes()+len(s.ReadFirst) > 0 {
		return false
	}
	for _, r := range s.Rows {
		if r.Phase != Removed && r.Phase != Released {
			return false
		}
	}
	return true
}

// Moments returns when the clock may change the step: Again and Retry, and the deadlines of drains.
func (s Step) Moments() []time.Time {
	out := []time.Time{s.PlanAgain}
	if !s.Retry.IsZero() {
		out = append(out, s.Retry)
	}
	for _, r := range s.Rows {
		if !r.Until.IsZero() {
			out = append(out, r.Until)
		}
	}
	return out
}

// row returns the row of an end; zero: there is none.
func (s Step) row(end object.End) Row {
	at, ok := slices.BinarySearchFunc(s.Rows, end, func(r Row, e object.End) int { return r.End.Compare(e) })
	if !ok {
		return Row{}
	}
	return s.Rows[at]
}

// Writes returns how many writes the step plans.
func (s Step) Writes() int { return len(s.Ahead) + len(s.Changes) + len(s.After) }

// within plans the step again at a time, if not earlier; zero: not for this.
func (t *Times) within(at time.Time) { t.PlanAgain = earliest(t.PlanAgain, at) }

// retry plans the step again at a time, if not earlier, and lets nothing wait for that; zero: not for this.
func (t *Times) retry(at time.Time) { t.Retry = earliest(t.Retry, at) }

// earliest returns the first time that is not zero; zero if all are.
func earliest(all ...time.Time) (first time.Time) {
	for _, at := range all {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// RemovalChanges is what a step found out about removals, to be written to the record. Without Changed the record has it already.
type RemovalChanges struct {
	Changed     bool
	Denied, Was *inventory.Denial // to be written, and what it takes the place of
	Used        []Used            // what ends of approvals, or begins
	Retire      []api.ClusterName // clusters whose removal begins with this step; sorted
	Stay        []api.ClusterName // clusters that are declared again, and are to be judged once they are removed; sorted
}

// Used is the change to an approval: units that it no longer allows, and whether a revision asks for it.
type Used struct {
	Hash  string
	Units []inventory.Unit
	Asked bool
}

// Left returns the approvals without what is used.
func (j RemovalChanges) Left(all []inventory.Approval) (out []inventory.Approval) {
	for _, a := range all {
		left := true
		if i := slices.IndexFunc(j.Used, func(u Used) bool { return u.Hash == a.Hash }); i >= 0 {
			a.Needed = a.Needed || j.Used[i].Asked
			a, left = a.Without(j.Used[i].Units)
		}
		if left {
			out = append(out, a)
		}
	}
	return out
}

// Orphan is an object that carries linkwright's label and is not provably ours, or that a controller of Linkerd's left for a link of which nothing
// else is there: nobody but people takes it away.
type Orphan struct {
	Key    object.Key `json:"key"`
	Why    string     `json:"why"` // it proves nothing
	Remedy string     `json:"do"`  // about it
}

// Unready is an object that is as declared and not ready, and why. Failed: nobody tries to make it ready any more.
type Unready struct {
	Key    object.Key
	Why    string
	Failed bool
}

// Repairs reports whether a step only corrects what others changed or deleted in ends that were as declared.
func (s Step) Repairs() bool {
	if s.Denied != nil || len(s.Changes) == 0 || len(s.Ahead)+len(s.After)+len(s.TokenRequests)+len(s.ReadFirst) > 0 {
		return false
	}
	repairs := func(c object.Change) bool {
		return (c.Action == object.Update || c.Action == object.Create || c.Action == object.Patch) && (c.Why.Code == reason.Drift || c.Why.Code == reason.Missing)
	}
	blocked := func(r Row) bool { return r.Phase == Changing && r.Why != nil }
	return !slices.ContainsFunc(s.Changes, func(c object.Change) bool { return !repairs(c) }) && !slices.ContainsFunc(s.Rows, blocked)
}

// Repaired returns a step that only repairs as if it was done: its ends are Ready.
func (s Step) Repaired() Step {
	s.Changes, s.Rows = nil, slices.Clone(s.Rows)
	for i := range s.Rows {
		if s.Rows[i].Phase == Changing {
			s.Rows[i].Phase = Ready
		}
	}
	return s
}
