package object

import (
	"cmp"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/object/reason"
)

// Hidden is a part of a cluster that the account may not read: one object, or without a name all of a kind, in a namespace or
// everywhere, or those that a label selector selects. Its content is unknown, and not absent.
type Hidden struct {
	Key
	Selector string
	By       Installation // that may not read it
}

// Compare orders by key, then selector.
func (h Hidden) Compare(o Hidden) int {
	return cmp.Or(h.Key.Compare(o.Key), strings.Compare(h.Selector, o.Selector))
}

// Hides reports whether an object may be part of it. An object that is only hidden by a selector is read by another watch.
func (h Hidden) Hides(k Key) bool {
	return h.Selector == "" && h.Group == k.Group && h.Kind == k.Kind &&
		(h.Namespace == "" || h.Namespace == k.Namespace) && (h.Name == "" || h.Name == k.Name)
}

// Of reports whether it is the result of a watch, or one of its names.
func (h Hidden) Of(w Watch) bool {
	return h.Group == w.Group && h.Kind == w.Kind && h.Namespace == w.Namespace &&
		(len(w.Names) == 0 && h.Name == "" && h.Selector == w.Selector || slices.Contains(w.Names, h.Name))
}

// String names it for messages.
func (h Hidden) String() string {
	if h.Name != "" {
		return h.Key.String()
	}
	out := h.Kind
	if h.Group != "" {
		out += "." + h.Group
	}
	switch {
	case h.Namespace != "":
		out += " in namespace " + h.Namespace
	case h.Selector != "":
		out += " in all namespaces"
	}
	return out
}

// Why is the reason, with the command that grants the permission.
func (h Hidden) Why() *Reason {
	return Because(reason.Forbidden, "linkwright may not read %s: run %s", h, h.By.Grant())
}

// Hides returns why an object cannot be read, or nil. Only then does an object that was not read not exist.
func (o Observation) Hides(k Key) *Reason {
	if len(o.Hidden) == 0 || !o.Record(k).IsZero() {
		return nil
	}
	for _, h := range o.Hidden {
		if h.Hides(k) {
			return h.Why()
		}
	}
	return nil
}

// HidesAny returns why one of some watches cannot be read, the first by key, or nil.
func (o Observation) HidesAny(watches ...Watch) *Reason {
	for _, h := range o.Hidden {
		if slices.ContainsFunc(watches, h.Of) {
			return h.Why()
		}
	}
	return nil
}
