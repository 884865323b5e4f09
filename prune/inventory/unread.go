package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/linkwright/linkwright/api"
)

// readApprovals reads the approvals of the record one by one: an edit by hand or a later release must not make the record or other
// approvals invalid. It returns the text of invalid ones.
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

// writeApprovals encodes both for the record; nil: there are none.
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

// Check returns why an approval has no effect; nil: it is valid.
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

// check returns an error unless a unit has a known kind and valid names.
func (u Unit) check() error {
	switch u.Kind {
	case UnitCluster, UnitOverlay:
		return api.CheckClusterName(u.Cluster)
	case UnitLink, UnitSelectors:
		return errors.Join(api.CheckClusterName(u.Source), api.CheckClusterName(u.Target))
	}
	return fmt.Errorf("this version of linkwright does not know the unit %q", u.Kind)
}

// limitField is a part of the record that limits removals. One that cannot be read does not make the rest of the record invalid.
type limitField[T any] struct {
	value *T
	raw   string // its text if it could not be read; else empty
}

// UnmarshalJSON never fails.
func (b *limitField[T]) UnmarshalJSON(raw []byte) error {
	var is *T
	if err := json.Unmarshal(raw, &is); err != nil {
		b.value, b.raw = nil, string(raw)
		return nil //nolint:nilerr // the text is kept, and reported
	}
	b.value, b.raw = is, ""
	return nil
}

// MarshalJSON implements json.Marshaler.
func (b limitField[T]) MarshalJSON() ([]byte, error) { return json.Marshal(b.value) }

// IsZero reports whether there is none.
func (b limitField[T]) IsZero() bool { return b.value == nil }

// setLimits sets limits and denial. If one of them cannot be read, a revision may remove nothing without an
// approval, because the lost limit may have been the stricter one.
func (r *Record) setLimits(limits limitField[Limits], denied limitField[Denial]) {
	r.Limits, r.Denied = limits.value, denied.value
	for name, text := range map[string]string{"denied": denied.raw, "limits": limits.raw} {
		if text != "" {
			r.Unreadable = append(r.Unreadable, name+": "+text)
		}
	}
	if len(r.Unreadable) == 0 {
		return
	}
	slices.Sort(r.Unreadable)
	r.Limits = &Limits{}
	if r.Denied == nil {
		r.Denied = &Denial{}
	}
}
