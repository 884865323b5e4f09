// Package values decides which fields of Linkerd's values are set in a cluster, and to what.
//
// The values are a YAML document in the ConfigMap linkerd-config. Linkerd's proxy injector reads it for each new pod. A field that a ProxyConfig
// declares is held at its value. Once nothing declares it, the value from before is put back, unless others changed the field meanwhile.
package values

import (
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/render/values"
)

// Input is what the decision depends on.
type Input struct {
	Declared []fleet.Value     // by path; none in a cluster that leaves
	Recorded []inventory.Value // by path
	Config   linkerd.Config
	Version  string // of Linkerd
	// Flag returns the value of a flag of the control plane that must agree with a field; false: no such flag is set.
	Flag func(name string) (string, bool)
	// Unread is why the flags are unknown; nil: they are known.
	Unread  *object.Reason
	Leaving bool // the cluster leaves: nothing waits for a value that cannot be put back
}

// Decision is what the document must become.
type Decision struct {
	Text    string            // of the document; as it is if Changes is empty
	Changes []Change          // by path
	Record  []inventory.Value // what the inventory must list before the document is written, by path
	Blocked []object.Reason   // fields that are not set, and why, by path
}

// Change is one field that is set, or removed if After is empty. Before and After are JSON.
type Change struct {
	Path, Before, After string
	Why                 reason.Code // Declared, Drift or Undeclared
	From                string      // what declares it
}

// flags are the flags of the control plane that must agree with a field (linkerd2 charts/linkerd-control-plane/templates/destination.yaml).
func flags() map[string]string {
	return map[string]string{"proxy.opaquePorts": "default-opaque-ports", "proxy.defaultInboundPolicy": "default-policy"}
}

// Flagged reports whether a declared field must agree with a flag of the control plane.
func Flagged(declared []fleet.Value) bool {
	return slices.ContainsFunc(declared, func(v fleet.Value) bool { return flags()[v.Path] != "" })
}

// mayBeAbsent reports whether a release that knows a field may have no default of it. Every other field that is absent is unknown to the release,
// because linkerd-config has the defaults of all fields (linkerd2 charts/linkerd-control-plane/values.yaml).
func mayBeAbsent(path string) bool {
	return slices.Contains([]string{"proxy.accessLog", "proxy.cores", "proxy.additionalEnv", "proxy.experimentalEnv"}, path) || strings.HasPrefix(path, "proxy.resources.")
}

// decision is a decision in the making.
type decision struct {
	Input
	Decision
	doc values.Document
}

// Decide compares what is declared and recorded with the document.
func Decide(in Input) Decision {
	doc, err := values.Parse(in.Config.Values)
	if err != nil {
		return unreadable(in, err)
	}
	d := &decision{Input: in, doc: doc}
	for _, path := range d.paths() {
		d.field(path)
	}
	d.Text = d.doc.String()
	return d.Decision
}

// unreadable decides on a document that cannot be read: it stays as it is. In a cluster that leaves nothing is waited for.
func unreadable(in Input, err error) (d Decision) {
	d.Text = in.Config.Values
	if !in.Leaving {
		d.Record = in.Recorded
		d.Blocked = []object.Reason{*object.Because(reason.LinkerdConfigInvalid, "linkwright cannot read key values of %s: %v; nothing of it is set", in.Config.Key, err)}
	}
	return d
}

// paths returns all fields that are declared or recorded.
func (d *decision) paths() (out []string) {
	for _, v := range d.Declared {
		out = append(out, v.Path)
	}
	for _, v := range d.Recorded {
		out = append(out, v.Path)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// field decides on one field.
func (d *decision) field(path string) {
	declared, isDeclared := find(d.Declared, path, func(v fleet.Value) string { return v.Path })
	recorded, known := find(d.Recorded, path, func(v inventory.Value) string { return v.Path })
	live, _ := d.doc.Value(path)
	if !isDeclared {
		d.putBack(recorded, live)
		return
	}
	why := d.contradicted(declared)
	if removedByHand := recorded.Before != "" && d.Config.EditedByHand(); live == "" && !removedByHand && !mayBeAbsent(path) {
		why = object.Because(reason.ValueNotSupported, "key values of %s has no %s, so the injector of Linkerd %s does not know it: upgrade Linkerd, or remove the field from %s",
			d.Config.Key, path, d.Version, declared.From)
	}
	if why != nil {
		d.block(why, recorded, known)
		return
	}
	next, code := inventory.Value{Path: path, Set: declared.JSON, Before: live, Former: live}, reason.Declared
	if known {
		next, code = d.again(declared, recorded, live)
	}
	if values.Equal(live, declared.JSON) { // nothing is left to write
		next.Former = ""
	}
	if err := d.set(Change{Path: path, Before: live, After: declared.JSON, Why: code, From: declared.From}, next); err != nil {
		d.block(object.Because(reason.LinkerdConfigInvalid, "linkwright cannot set %s in key values of %s: %v", path, d.Config.Key, err), recorded, known)
	}
}

// again returns what is recorded of a declared field that was set before, and why it is set.
//
//	the live value               Before          why
//	is one that linkwright set   as recorded     declared
//	is another, edited by hand   as recorded     drift
//	is another                   the live value  drift
func (d *decision) again(declared fleet.Value, recorded inventory.Value, live string) (inventory.Value, reason.Code) {
	next := inventory.Value{Path: declared.Path, Set: declared.JSON, Before: recorded.Before, Former: recorded.Former}
	pending := recorded.Former != "" && values.Equal(live, recorded.Former) // a write was recorded, and not made
	if !pending && !values.Equal(recorded.Set, declared.JSON) {
		next.Former = recorded.Set
	}
	if isOurs(live, recorded) {
		return next, reason.Declared
	}
	if !d.Config.EditedByHand() {
		next.Before = live
	}
	return next, reason.Drift
}

// block adds why a field is not set. What is recorded of it stays.
func (d *decision) block(why *object.Reason, recorded inventory.Value, known bool) {
	d.Blocked = append(d.Blocked, *why)
	if known {
		d.Record = append(d.Record, recorded)
	}
}

// putBack decides on a field that is no longer declared. If it cannot be put back yet, it stays recorded; in a cluster that leaves, it stays as it is.
func (d *decision) putBack(was inventory.Value, live string) {
	if !isOurs(live, was) || values.Equal(live, was.Before) {
		return // others changed it, or there is nothing to put back
	}
	if d.notInjectable(was.Path, was.Before) != nil {
		if !d.Leaving { // nothing is wrong with what is declared: it is put back once the other field of the pair allows it
			d.Record = append(d.Record, was)
		}
		return
	}
	err := d.set(Change{Path: was.Path, Before: live, After: was.Before, Why: reason.Undeclared}, was)
	if err != nil && !d.Leaving {
		d.block(object.Because(reason.LinkerdConfigInvalid, "linkwright cannot put %s back in key values of %s: %v", was.Path, d.Config.Key, err), was, true)
	}
}

// Kept returns the recorded fields that have linkwright's value, and not the one from before. If the document cannot be read, it returns all.
func Kept(recorded []inventory.Value, document string) (paths []string) {
	doc, err := values.Parse(document)
	for _, v := range recorded {
		live, _ := doc.Value(v.Path)
		if err != nil || isOurs(live, v) && !values.Equal(live, v.Before) {
			paths = append(paths, v.Path)
		}
	}
	return paths
}

// isOurs reports whether a live value is one that linkwright set, or found before a write that it has not made yet.
func isOurs(live string, of inventory.Value) bool {
	return values.Equal(live, of.Set) || values.Equal(live, of.Former)
}

// set adds a change of the document, if it is one, and what is recorded of it.
func (d *decision) set(c Change, next inventory.Value) (err error) {
	doc := d.doc
	switch {
	case values.Equal(c.Before, c.After):
		d.Record = append(d.Record, next)
		return nil
	case c.After == "":
		doc, err = doc.Remove(c.Path)
	default:
		doc, err = doc.Set(c.Path, c.After)
	}
	if err == nil {
		d.doc, d.Changes, d.Record = doc, append(d.Changes, c), append(d.Record, next)
	}
	return err
}

// contradicted returns why a declared field cannot be set: the control plane runs with a flag that says otherwise, or that is unknown. nil: it can.
func (d *decision) contradicted(v fleet.Value) *object.Reason {
	flag, flagged := flags()[v.Path]
	switch {
	case !flagged:
		return d.notInjectable(v.Path, v.JSON)
	case d.Unread != nil:
		return d.Unread
	}
	if set, ok := d.Flag(flag); ok && !values.Equal(v.JSON, values.JSON(set)) {
		return object.Because(reason.ValueContradicted, "%s declares %s of %s, but the control plane runs with %s=%s: declare that, or change Linkerd's installation",
			v.From, v.JSON, v.Path, flag, set)
	}
	return nil
}

// notInjectable returns why a value must not be set: with it, Linkerd's injector would reject every pod. nil: it may be set.
func (d *decision) notInjectable(path, value string) *object.Reason {
	for _, e := range api.Exclusions() {
		other := e.Other(path)
		if other == "" {
			continue
		}
		next, otherwise := d.effective(other)
		if e.Rejects(path, value, next) && e.Rejects(path, value, otherwise) {
			return object.Because(reason.ValueContradicted, "Linkerd's injector would reject every pod: %s", e.Remedy)
		}
	}
	return nil
}

// effective returns the value that a field is to have, and the one that it has if that is refused because of the other field of its pair.
//
//	the field        next                otherwise
//	is declared      the declared value  the same: what is declared is never given up for a value that is put back
//	is put back      the value before    the live value
//	is none of ours  the live value      the same
func (d *decision) effective(path string) (next, otherwise string) {
	if v, ok := find(d.Declared, path, func(v fleet.Value) string { return v.Path }); ok {
		return v.JSON, v.JSON
	}
	live, _ := d.doc.Value(path)
	if v, ok := find(d.Recorded, path, func(v inventory.Value) string { return v.Path }); ok && isOurs(live, v) {
		return v.Before, live
	}
	return live, live
}

func find[V any](all []V, path string, of func(V) string) (found V, ok bool) {
	i := slices.IndexFunc(all, func(v V) bool { return of(v) == path })
	if i < 0 {
		return found, false
	}
	return all[i], true
}
