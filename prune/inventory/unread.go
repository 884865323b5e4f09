package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/linkwright/linkwright/api"
)

// readApprovals reads what the record has of approvals, one by one: an edit by hand, or a later release, must cost neither the record nor
// the others. Those that nothing can follow from are given as they stand.
func readApprovals(raw json.RawMessage) (good []Approval, unread []string) {
	var all []json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &all) != nil {
		all = []json.RawMessage{raw}
	}
	for _, one := range all {
		var a Approval
		strict := json.NewDecoder(bytes.NewReader(one))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&a); err == nil && a.Check() == nil {
			a.At = wholeSecond(a.At)
			good = append(good, a)
			continue
		}
		text, err := json.Marshal(one) // as it is written again
		if err != nil {
			text = one
		}
		unread = append(unread, string(text))
	}
	return good, unread
}

// writeApprovals gives both back as they are written; nil: there are none.
func writeApprovals(good []Approval, unread []string) (json.RawMessage, error) {
	all := make([]any, 0, len(good)+len(unread))
	for _, a := range good {
		all = append(all, a)
	}
	for _, text := range unread {
		all = append(all, json.RawMessage(text))
	}
	if len(all) == 0 {
		return nil, nil
	}
	return json.Marshal(all)
}

// Check returns why nothing can follow from an approval; nil: something can.
func (a Approval) Check() error {
	if wholeSecond(a.At).IsZero() {
		return errors.New("it has no time")
	}
	if len(a.Units) == 0 || a.Hash != HashOf(a.Units) {
		return fmt.Errorf("hash %q does not match its units", a.Hash)
	}
	for _, u := range a.Units {
		if err := u.check(); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error unless a unit is of a known kind, and names what such a one is about.
func (u Unit) check() error {
	switch u.Kind {
	case UnitCluster, UnitOverlay:
		return api.CheckClusterName(u.Cluster)
	case UnitLink, UnitSelectors:
		return errors.Join(api.CheckClusterName(u.Source), api.CheckClusterName(u.Target))
	}
	return fmt.Errorf("this version of linkwright does not know the unit %q", u.Kind)
}

// limitField is a part of the record that keeps a revision from taking something away. One that cannot be read costs nothing else of the record.
type limitField[T any] struct {
	value *T
	raw   string // as it stood there; empty: it was read
}

// UnmarshalJSON never fails.
func (b *limitField[T]) UnmarshalJSON(raw []byte) error {
	var is *T
	if err := json.Unmarshal(raw, &is); err != nil {
		b.value, b.raw = nil, string(raw)
		return nil //nolint:nilerr // the text is kept, and told
	}
	b.value, b.raw = is, ""
	return nil
}

// MarshalJSON writes what was read.
func (b limitField[T]) MarshalJSON() ([]byte, error) { return json.Marshal(b.value) }

// IsZero reports whether there is none.
func (b limitField[T]) IsZero() bool { return b.value == nil }

// setLimits takes limits and denial over. A bound that was lost must not let more go: where one of them cannot be read, the revision may take
// nothing away that nobody approves, and what was denied is anything.
func (r *Record) setLimits(limits limitField[Limits], denied limitField[Denial]) {
	r.Limits, r.Denied = limits.value, denied.value
	for name, text := range map[string]string{"denied": denied.raw, "limits": limits.raw} {
		if text != "" {
			r.Misread = append(r.Misread, name+": "+text)
		}
	}
	if len(r.Misread) == 0 {
		return
	}
	slices.Sort(r.Misread)
	r.Limits = &Limits{}
	if r.Denied == nil {
		r.Denied = &Denial{}
	}
}
