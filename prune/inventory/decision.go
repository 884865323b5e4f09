package inventory

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
)

// DecisionKind is a kind of decision.
type DecisionKind string

// Kinds of decisions, with what each names beside its kind:
//
//	AcceptCluster        Cluster, UID         that name means the cluster with this kube-system uid
//	AllowNonFastForward  Revision             it, and what descends from it, may be applied although history went back
//	AbandonCluster       Cluster              what it holds stays there; it counts once it is declared no more and cannot be read
//	Reconcile            Cluster              it is read and reconciled now
//	Suspend              Cluster, or a link   it is left as it is, until Until if that is given
//	Resume               Cluster, or a link   nothing: it shows for a week that a suspension ended; without By, its time was over
//	Approve              Hash                 nothing: it shows for a week who approved a removal. Record.Approvals has what is approved
//	WithdrawApproval     Hash                 nothing: it shows for a week who took an approval back
const (
	AcceptCluster       DecisionKind = "AcceptCluster"
	AllowNonFastForward DecisionKind = "AllowNonFastForward"
	AbandonCluster      DecisionKind = "AbandonCluster"
	Reconcile           DecisionKind = "Reconcile"
	Suspend             DecisionKind = "Suspend"
	Resume              DecisionKind = "Resume"
	Approve             DecisionKind = "Approve"
	WithdrawApproval    DecisionKind = "WithdrawApproval"
)

// Decision is a person's decision in the record. The reconciler applies it, and removes it when it is complete.
type Decision struct {
	Kind     DecisionKind    `json:"kind"`
	Cluster  api.ClusterName `json:"cluster,omitempty"`
	Source   api.ClusterName `json:"source,omitempty"` // of a link
	Target   api.ClusterName `json:"target,omitempty"`
	UID      string          `json:"uid,omitempty"`
	Revision api.Commit      `json:"revision,omitempty"` // 40 digits
	Hash     string          `json:"hash,omitempty"`     // of an approval
	Removes  string          `json:"removes,omitempty"`  // what that approval allows to remove, for people
	By       string          `json:"by"`
	At       time.Time       `json:"at,omitzero"` // UTC, whole seconds, as is Until
	Reason   string          `json:"reason,omitempty"`
	Until    time.Time       `json:"until,omitzero"` // zero: until it is used up or taken back

	// Unread is the text of a decision that this release cannot read: it is kept, and has no effect.
	Unread string `json:"-"`
}

// decisionFields are those of a Decision, without its methods.
type decisionFields Decision

// UnmarshalJSON keeps the text of what it cannot read: an edit by hand or a later release must not make the record or the decision
// invalid.
func (d *Decision) UnmarshalJSON(raw []byte) error {
	var f decisionFields
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if strict.Decode(&f) == nil {
		*d = Decision(f)
		d.At, d.Until = wholeSecond(d.At), wholeSecond(d.Until)
		return nil
	}
	text, err := json.Marshal(json.RawMessage(raw)) // as it is written again
	*d = Decision{Unread: string(text)}
	return err
}

// MarshalJSON implements json.Marshaler.
func (d Decision) MarshalJSON() ([]byte, error) {
	if d.Unread != "" {
		return []byte(d.Unread), nil
	}
	return json.Marshal(decisionFields(d))
}

// wholeSecond is a time in UTC and whole seconds; zero: the format cannot represent it.
func wholeSecond(at time.Time) time.Time {
	at = at.UTC().Truncate(time.Second)
	if at.Year() < 1 || at.Year() > 9999 {
		return time.Time{}
	}
	return at
}

// Link is the link that a decision names; zero: it names none.
func (d Decision) Link() api.Pair { return api.Pair{Source: d.Source, Target: d.Target} }

// Object is the object of a decision, for messages.
func (d Decision) Object() string {
	switch {
	case d.Source != "" || d.Target != "":
		return d.Link().Name()
	case d.Kind == AllowNonFastForward:
		return string(d.Revision)
	case d.Kind == Approve || d.Kind == WithdrawApproval:
		return d.Hash
	}
	return string(d.Cluster)
}

// Past reports whether a decision only shows for a week what happened: nothing follows from it.
func (d Decision) Past() bool {
	return d.Kind == Resume || d.Kind == Approve || d.Kind == WithdrawApproval
}

var (
	revisions = regexp.MustCompile(`^[0-9a-f]{40}$`)
	hashes    = regexp.MustCompile(`^[0-9a-f]{12}$`)
)

// Check returns why a decision has no effect; nil: it is valid.
func (d Decision) Check() error {
	if d.Unread != "" {
		return errors.New("this version of linkwright cannot read it")
	}
	if !d.Until.IsZero() && d.Kind != Suspend {
		return errors.New("only a suspension may have an end")
	}
	switch {
	case d.Kind == AllowNonFastForward && !revisions.MatchString(string(d.Revision)):
		return fmt.Errorf("revision %q: want all 40 hexadecimal digits, in lower case", d.Revision)
	case (d.Kind == Approve || d.Kind == WithdrawApproval) && !hashes.MatchString(d.Hash):
		return fmt.Errorf("hash %q: want 12 hexadecimal digits, in lower case", d.Hash)
	case d.Kind == AllowNonFastForward, d.Kind == Approve, d.Kind == WithdrawApproval:
		return nil
	}
	if (d.Kind == Suspend || d.Kind == Resume) && d.Link() != (api.Pair{}) {
		if d.Cluster != "" {
			return errors.New("it names a link and a cluster: name only one of them")
		}
		return errors.Join(api.CheckClusterName(d.Source), api.CheckClusterName(d.Target))
	}
	switch d.Kind {
	case AcceptCluster, AbandonCluster, Reconcile, Suspend, Resume:
	default:
		return fmt.Errorf("this version of linkwright does not know the decision %q", d.Kind)
	}
	if d.Kind == AcceptCluster && d.UID == "" {
		return errors.New("it names no uid")
	}
	return api.CheckClusterName(d.Cluster)
}

// Active reports whether a decision is in effect at a time.
func (d Decision) Active(now time.Time) bool {
	return d.Check() == nil && !d.Expired(now)
}

// maxAllowedAge is how long a non-fast-forward commit stays allowed while a cluster of the record does not have it: a cluster that is
// unreachable must not extend the permission for ever. It is also how long the record shows what is past.
const maxAllowedAge = 7 * 24 * time.Hour

// Expired reports whether a decision has expired.
func (d Decision) Expired(now time.Time) bool {
	if (d.Kind == AllowNonFastForward || d.Past()) && !d.At.IsZero() && !now.Before(d.At.Add(maxAllowedAge)) {
		return true
	}
	return !d.Until.IsZero() && !now.Before(d.Until)
}

// String is a decision in one line: what, until when, by whom, when and why.
func (d Decision) String() string {
	if d.Unread != "" {
		return "not understood: " + d.Unread
	}
	said := string(d.Kind) + " " + d.Object()
	if d.UID != "" {
		said += "=" + d.UID
	}
	if !d.Until.IsZero() {
		said += " until " + d.Until.Format(time.RFC3339)
	}
	if d.By != "" || d.Kind != Resume {
		said += ", by " + d.By
	}
	if !d.At.IsZero() {
		said += " at " + d.At.Format(time.RFC3339)
	}
	if d.Reason != "" {
		said += ": " + d.Reason
	}
	return said
}

// replaces reports whether a decision replaces an earlier one: it is about the same, and a suspension by the same person.
func (d Decision) replaces(o Decision) bool {
	return d.Unread == "" && o.Unread == "" && d.Kind == o.Kind && d.Object() == o.Object() && (d.Kind != Suspend || d.By == o.By)
}

func (d Decision) compare(o Decision) int {
	return cmp.Or(
		cmp.Compare(d.Kind, o.Kind), cmp.Compare(d.Object(), o.Object()), strings.Compare(d.By, o.By), d.At.Compare(o.At),
		cmp.Compare(d.Cluster, o.Cluster), d.Link().Compare(o.Link()), strings.Compare(d.UID, o.UID), cmp.Compare(d.Revision, o.Revision),
		strings.Compare(d.Reason, o.Reason), d.Until.Compare(o.Until), strings.Compare(d.Hash, o.Hash), strings.Compare(d.Removes, o.Removes), strings.Compare(d.Unread, o.Unread),
	)
}

// Decide adds decisions to the record, and returns those that they replace. What is suspended again is no longer shown as resumed, and of an
// approval only the last is shown: that it was given, or taken back.
func (r *Record) Decide(more ...Decision) (replaced []Decision) {
	for _, d := range more {
		d.At, d.Until = wholeSecond(d.At), wholeSecond(d.Until)
		if former, ok := map[DecisionKind]DecisionKind{Suspend: Resume, Approve: WithdrawApproval, WithdrawApproval: Approve}[d.Kind]; ok {
			r.RemoveDecisions(func(o Decision) bool { return o.Kind == former && o.Object() == d.Object() })
		}
		same := func(o Decision) bool { return d.replaces(o) }
		for _, o := range r.Decisions {
			if same(o) {
				replaced = append(replaced, o)
			}
		}
		r.Decisions = append(slices.DeleteFunc(slices.Clone(r.Decisions), same), d)
	}
	r.Decisions = inOrder(r.Decisions)
	return replaced
}

// RemoveDecisions removes decisions from the record, and returns them.
func (r *Record) RemoveDecisions(which func(Decision) bool) (gone []Decision) {
	var kept []Decision
	for _, d := range r.Decisions {
		if which(d) {
			gone = append(gone, d)
		} else {
			kept = append(kept, d)
		}
	}
	r.Decisions = kept
	return gone
}

// Resumed records that suspensions ended that are not in the record any more: by a person, or empty because their time was over. What another
// decision still suspends did not end.
func (r *Record) Resumed(gone []Decision, by string, now time.Time) {
	for _, d := range gone {
		suspended := func(o Decision) bool { return o.Kind == Suspend && o.Object() == d.Object() }
		if d.Kind != Suspend || d.Unread != "" || slices.ContainsFunc(r.Decisions, suspended) {
			continue
		}
		at := now
		if by == "" {
			at = d.Until
		}
		r.Decide(Decision{Kind: Resume, Cluster: d.Cluster, Source: d.Source, Target: d.Target, By: by, At: at})
	}
}

// inOrder sorts decisions, each once; nil: there are none.
func inOrder(all []Decision) []Decision {
	if len(all) == 0 {
		return nil
	}
	all = slices.Clone(all)
	slices.SortFunc(all, Decision.compare)
	return slices.Compact(all)
}
