package object

import (
	"cmp"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/object/reason"
)

// Hidden is a part of a cluster that the account may not read: one object, or without a name all of a kind, in a namespace or
// everywhere, or those that a label selector chooses. Whatever is there is unknown, and not absent.
type Hidden struct {
	Key
	Selector string
	By       Installation // that may not read it
}

// Compare orders by key, then selector.
func (h Hidden) Compare(o Hidden) int {
	return cmp.Or(h.Key.Compare(o.Key), strings.Compare(h.Selector, o.Selector))
}

// Hides reports whether an object may be part of it. What a selector chooses is never needed for itself: another look shows it.
func (h Hidden) Hides(k Key) bool {
	return h.Selector == "" && h.Group == k.Group && h.Kind == k.Kind &&
		(h.Namespace == "" || h.Namespace == k.Namespace) && (h.Name == "" || h.Name == k.Name)
}

// Of reports whether it is what a watch would show, or one of its names.
func (h Hidden) Of(w Watch) bool {
	return h.Group == w.Group && h.Kind == w.Kind && h.Namespace == w.Namespace &&
		(len(w.Names) == 0 && h.Name == "" && h.Selector == w.Selector || slices.Contains(w.Names, h.Name))
}

// String is how reasons call it.
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

// Why returns what is missing, and the command that grants it.
func (h Hidden) Why() *Reason {
	return Because(reason.Forbidden, "linkwright may not read %s: run %s", h, h.By.Grant())
}

// Hides returns what hides an object, or nil: one that was not seen is not there only then.
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

// HidesAny returns what is hidden of some watches, the first by key, or nil.
func (o Observation) HidesAny(watches ...Watch) *Reason {
	for _, h := range o.Hidden {
		if slices.ContainsFunc(watches, h.Of) {
			return h.Why()
		}
	}
	return nil
}
