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
)

// UnitKind is what a person declares, and a revision may take away.
type UnitKind string

// Kinds of units.
const (
	UnitCluster   UnitKind = "cluster"   // a cluster whose declaration is gone
	UnitLink      UnitKind = "link"      // a link that is declared no more, between clusters that stay
	UnitSelectors UnitKind = "selectors" // of a declared link, which choose fewer services than before
	UnitOverlay   UnitKind = "overlay"   // objects that only an overlay brought into a cluster
)

// UnitKinds are all, in the order in which they are told.
func UnitKinds() []UnitKind { return []UnitKind{UnitCluster, UnitLink, UnitSelectors, UnitOverlay} }

// Unit is one thing that a revision takes away, as people count it. To names the selectors, or the objects of an overlay,
// that are to be; it is empty for clusters and links.
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

// HashOf names units: the first 12 hex digits of SHA-256 over their lines in order. It is a persisted format, and the same for a
// preview without any cluster and for the daemon.
func HashOf(units []Unit) string {
	units = slices.SortedFunc(slices.Values(units), Unit.Compare)
	h := sha256.New()
	for _, u := range slices.Compact(units) {
		h.Write(fmt.Appendf(nil, "%s %s %s %s %s\n", u.Kind, u.Cluster, u.Source, u.Target, u.To))
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// Approval is what people let a revision remove although it is over a limit: these very units. It ends when all of them are being
// removed, or after a while.
type Approval struct {
	Hash  string    `json:"hash"`
	Units []Unit    `json:"units"` // sorted
	By    string    `json:"by,omitempty"`
	At    time.Time `json:"at"` // UTC, whole seconds
	// Asked says that a revision that was applied has asked for it: what is declared again since is let go no more.
	Asked bool `json:"asked,omitempty"`
}

// Same reports whether two are one approval, whatever was removed by it since.
func (a Approval) Same(b Approval) bool { return a.By == b.By && a.At.Equal(b.At) }

// Without is the approval less some units; false: none is left.
func (a Approval) Without(used []Unit) (Approval, bool) {
	a.Units = slices.DeleteFunc(slices.Clone(a.Units), func(u Unit) bool { return slices.Contains(used, u) })
	a.Hash = HashOf(a.Units)
	return a, len(a.Units) > 0
}

// Denial is what a revision was denied to remove: until it is restored or approved, however the counts change meanwhile. Without units
// nobody knows which: whatever is to go is denied.
type Denial struct {
	Hash  string   `json:"hash"`
	Units []Unit   `json:"units"` // sorted
	Over  []string `json:"over"`  // what is over a limit: one phrase for each
}

// Message returns what is denied and what people can do, in an installation.
func (d Denial) Message(in object.Installation) string {
	if len(d.Over) == 0 {
		return "the record of the management cluster no longer shows what was denied: linkwright removes nothing anywhere, and the next sync shows what you can approve"
	}
	const most = 3
	over := slices.Clone(d.Over)
	if len(over) > most {
		over = append(over[:most], fmt.Sprintf("%d more", len(over)-most))
	}
	return fmt.Sprintf("this revision would remove %s; linkwright removes nothing anywhere until you restore the declarations, "+
		"declare state: Leaving for a cluster that is to go, or run %s", joined(over), in.Command("approve "+d.Hash))
}

// joined is a list as people write it: a, b and c.
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

// Same reports whether two denials, or their absence, are of the same units. How much is over a limit may change with every mirrored Service.
func (d *Denial) Same(o *Denial) bool {
	if d == nil || o == nil {
		return d == o
	}
	return d.Hash == o.Hash && slices.Equal(d.Units, o.Units)
}

// Limits remember the limits of the applied revision and of the one before: a commit does not choose those by which it is judged.
type Limits struct {
	Commit   api.Commit      `json:"commit,omitempty"`
	Declared api.PruneLimits `json:"declared"`
	Former   api.PruneLimits `json:"former"` // of the revision before Commit
}

// Judging are the limits by which a revision that declares some is judged: the stricter of its own and of those before it. A
// missing memory says nothing.
func (l *Limits) Judging(commit api.Commit, declared api.PruneLimits) api.PruneLimits {
	switch {
	case l == nil:
		return declared
	case l.Commit == commit:
		return declared.Stricter(l.Former)
	}
	return declared.Stricter(l.Declared)
}

// Next is what to remember of a revision. It differs from before only if limits do, so that a commit that leaves them alone
// writes nothing.
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
