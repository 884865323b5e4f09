package inventory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// UnitKind is a kind of declaration that a revision may remove.
type UnitKind string

// Kinds of units.
const (
	UnitCluster   UnitKind = "cluster"   // a cluster whose declaration is gone
	UnitLink      UnitKind = "link"      // a link that is declared no more, between clusters that stay
	UnitSelectors UnitKind = "selectors" // of a declared link, which choose fewer services than before
	UnitOverlay   UnitKind = "overlay"   // objects that only an overlay brought into a cluster
)

// UnitKinds are all kinds, in the order of messages.
func UnitKinds() []UnitKind { return []UnitKind{UnitCluster, UnitLink, UnitSelectors, UnitOverlay} }

// Unit is one thing that a revision removes, as people count it. To names the new selectors, or the new objects of an overlay;
// it is empty for clusters and links.
type Unit struct {
	Kind    UnitKind        `json:"kind"`
	Cluster api.ClusterName `json:"cluster,omitempty"` // of a cluster or an overlay
	Source  api.ClusterName `json:"source,omitempty"`  // of a link or its selectors
	Target  api.ClusterName `json:"target,omitempty"`
	To      string          `json:"to,omitempty"`
}

// LinkUnit is a removed link.
func LinkUnit(p api.Pair) Unit { return Unit{Kind: UnitLink, Source: p.Source, Target: p.Target} }

// Link is the pair of a link or of its selectors.
func (u Unit) Link() api.Pair { return api.Pair{Source: u.Source, Target: u.Target} }

func (u Unit) String() string {
	switch u.Kind {
	case UnitLink:
		return fmt.Sprintf("link %s/%s", u.Source, u.Target)
	case UnitSelectors:
		return fmt.Sprintf("selectors of link %s/%s", u.Source, u.Target)
	case UnitOverlay:
		return fmt.Sprintf("overlay objects in %s", u.Cluster)
	}
	return fmt.Sprintf("%s %s", u.Kind, u.Cluster)
}

// Compare orders units by kind, then by name.
func (u Unit) Compare(o Unit) int {
	order := UnitKinds()
	return cmp.Or(cmp.Compare(slices.Index(order, u.Kind), slices.Index(order, o.Kind)), cmp.Compare(u.Kind, o.Kind),
		cmp.Compare(u.Cluster, o.Cluster), u.Link().Compare(o.Link()), cmp.Compare(u.To, o.To))
}

// HashOf is the hash of units: the first 12 hex digits of SHA-256 over their lines in order. It is a persisted format, and the same
// in a preview without clusters and in the daemon.
func HashOf(units []Unit) string {
	units = slices.SortedFunc(slices.Values(units), Unit.Compare)
	h := sha256.New()
	for _, u := range slices.Compact(units) {
		h.Write(fmt.Appendf(nil, "%s %s %s %s %s\n", u.Kind, u.Cluster, u.Source, u.Target, u.To))
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// Approval permits a revision to remove these units although it exceeds a limit. It ends when all of them are being
// removed, or after a while.
type Approval struct {
	Hash  string    `json:"hash"`
	Units []Unit    `json:"units"` // sorted
	By    string    `json:"by,omitempty"`
	At    time.Time `json:"at"` // UTC, whole seconds
	// Needed: an applied revision needed it. A unit that is declared again later loses the approval.
	Needed bool `json:"asked,omitempty"`
}

// ApprovalLife is how long an unused approval is valid.
const ApprovalLife = 30 * 24 * time.Hour

// Expired reports whether an approval is too old to count.
func (a Approval) Expired(now time.Time) bool { return now.Sub(a.At) >= ApprovalLife }

// Given is who approved it, and when.
func (a Approval) Given() string {
	return fmt.Sprintf("by %s at %s", cmp.Or(a.By, "somebody"), a.At.UTC().Format(time.RFC3339))
}

// Approved is the approval of a hash in the record that counts; false: there is none.
func (r Record) Approved(hash string, now time.Time) (Approval, bool) {
	for _, a := range r.Approvals {
		if a.Hash == hash && !a.Expired(now) {
			return a, true
		}
	}
	return Approval{}, false
}

// Covering are the approvals in effect that together allow all that is denied, in the order in which they were given: one alone, if its hash is that of
// the denial. Nil: something is not approved.
func (r Record) Covering(d Denial, now time.Time) (out []Approval) {
	if one, ok := r.Approved(d.Hash, now); ok {
		return []Approval{one}
	}
	left := slices.Clone(d.Units)
	for _, a := range r.Approvals {
		before := len(left)
		if !a.Expired(now) {
			left = slices.DeleteFunc(left, func(u Unit) bool { return slices.Contains(a.Units, u) })
		}
		if len(left) < before {
			out = append(out, a)
		}
	}
	if len(left) > 0 {
		return nil
	}
	return out
}

// Removes names what an approval allows to remove, for people: the first units, and how many more there are.
func (a Approval) Removes() string {
	const most = 5
	var names []string
	for i, u := range a.Units {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(a.Units)-most))
			break
		}
		names = append(names, u.String())
	}
	return joined(names)
}

// past is the decision that shows for a week what became of an approval.
func (a Approval) past(kind DecisionKind, by string, at time.Time) Decision {
	return Decision{Kind: kind, Hash: a.Hash, Removes: a.Removes(), By: by, At: at}
}

// Approve adds an approval to the record, in place of an earlier one of the same hash, and shows for a week who gave it.
func (r *Record) Approve(a Approval) {
	r.removeApproval(a.Hash)
	r.Approvals = append(r.Approvals, a)
	r.Decide(a.past(Approve, a.By, a.At))
}

// WithdrawApproval takes an approval out of the record, and shows for a week who did that; false: the record has none of that hash.
func (r *Record) WithdrawApproval(hash, by string, now time.Time) (Approval, bool) {
	at := slices.IndexFunc(r.Approvals, func(a Approval) bool { return a.Hash == hash })
	if at < 0 {
		return Approval{}, false
	}
	gone := r.Approvals[at]
	r.removeApproval(hash)
	r.Decide(gone.past(WithdrawApproval, by, now))
	return gone, true
}

func (r *Record) removeApproval(hash string) {
	r.Approvals = slices.DeleteFunc(slices.Clone(r.Approvals), func(a Approval) bool { return a.Hash == hash })
}

// Same reports whether two are the same approval, whichever units are left.
func (a Approval) Same(b Approval) bool { return a.By == b.By && a.At.Equal(b.At) }

// Without is the approval without some units; false: none is left.
func (a Approval) Without(used []Unit) (Approval, bool) {
	a.Units = slices.DeleteFunc(slices.Clone(a.Units), func(u Unit) bool { return slices.Contains(used, u) })
	a.Hash = HashOf(a.Units)
	return a, len(a.Units) > 0
}

// Denial is what a revision may not remove until it is declared again or approved, even if the counts change meanwhile. A denial
// without units, which could not be read, denies every removal.
type Denial struct {
	Hash     string   `json:"hash"`
	Units    []Unit   `json:"units"` // sorted
	Exceeded []string `json:"over"`  // what is over a limit: one phrase for each
}

// Why is the reason of a denial, with the command that approves it. One of which the record lost the units cannot be approved.
func (d Denial) Why(in object.Installation) *object.Reason {
	why := object.Because(reason.PruneLimitExceeded, "%s", d.message(in))
	if len(d.Exceeded) == 0 {
		return why
	}
	return why.Running(d.approve(in))
}

// approve is the command that approves it.
func (d Denial) approve(in object.Installation) string { return in.Command("approve " + d.Hash) }

// message is what is denied, and what people can do about it.
func (d Denial) message(in object.Installation) string {
	if len(d.Exceeded) == 0 {
		return "the record of the management cluster no longer has what was denied: linkwright removes nothing, and the next sync shows what you can approve"
	}
	const most = 3
	over := slices.Clone(d.Exceeded)
	if len(over) > most {
		over = append(over[:most], fmt.Sprintf("%d more", len(over)-most))
	}
	return fmt.Sprintf("this revision exceeds prune limits, so linkwright removes nothing: restore the declarations, declare state: Leaving, or run %s; it would remove %s",
		d.approve(in), joined(over))
}

// joined joins a list for a message: a, b and c.
func joined(list []string) string {
	if last := len(list) - 1; last > 0 {
		return strings.Join(list[:last], ", ") + " and " + list[last]
	}
	return strings.Join(list, "")
}

// Has reports whether one of some units was denied.
func (d Denial) Has(units map[Unit]bool) bool {
	return len(d.Units) == 0 && len(units) > 0 || slices.ContainsFunc(d.Units, func(u Unit) bool { return units[u] })
}

// Same reports whether two denials, or their absence, are of the same units. The counts may change with every mirrored Service.
func (d *Denial) Same(o *Denial) bool {
	if d == nil || o == nil {
		return d == o
	}
	return d.Hash == o.Hash && slices.Equal(d.Units, o.Units)
}

// Limits are the limits of the applied revision and of the one before: a commit cannot loosen the limits that apply to itself.
type Limits struct {
	Commit   api.Commit      `json:"commit,omitempty"`
	Declared api.PruneLimits `json:"declared"`
	Former   api.PruneLimits `json:"former"` // of the revision before Commit
}

// Applicable are the limits that apply to a revision: the stricter of its own and of those before it. If none are recorded, its own
// apply.
func (l *Limits) Applicable(commit api.Commit, declared api.PruneLimits) api.PruneLimits {
	switch {
	case l == nil:
		return declared
	case l.Commit == commit:
		return declared.Stricter(l.Former)
	}
	return declared.Stricter(l.Declared)
}

// Next are the limits to record for a revision. They change only if its limits differ, so that other commits write
// nothing.
func (l *Limits) Next(commit api.Commit, declared api.PruneLimits) *Limits {
	switch {
	case l == nil:
		return &Limits{Commit: commit, Declared: declared, Former: declared}
	case l.Declared == declared && (l.Commit == commit || l.Former == declared):
		return l
	case l.Commit == commit: // the same revision, declared otherwise: a plain directory
		return &Limits{Commit: commit, Declared: declared, Former: declared.Stricter(l.Former)}
	}
	return &Limits{Commit: commit, Declared: declared, Former: l.Declared}
}
