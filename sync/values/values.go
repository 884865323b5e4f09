// Package values decides which fields of Linkerd's values are set in a cluster, and to what.
//
// The values are a YAML document in the ConfigMap linkerd-config. Linkerd's proxy injector reads it for each new pod. A field that a ProxyConfig
// declares is held at its value. Once nothing declares it, the value from before is put back, unless others changed the field meanwhile.
package values

import (
	"slices"
	"strings"

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
	Unread *object.Reason
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

// unreadable decides on a document that cannot be read: declared fields are blocked, and others stay as they are.
func unreadable(in Input, err error) (d Decision) {
	d.Text = in.Config.Values
	if len(in.Declared) > 0 {
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
	declared, wanted := find(d.Declared, path, func(v fleet.Value) string { return v.Path })
	recorded, known := find(d.Recorded, path, func(v inventory.Value) string { return v.Path })
	live, _ := d.doc.Value(path)
	if !wanted {
		d.putBack(recorded, live)
		return
	}
	removedByHand := recorded.Before != "" && d.Config.EditedByHand()
	if live == "" && !removedByHand && !mayBeAbsent(path) {
		d.Blocked = append(d.Blocked, *object.Because(reason.ValueNotSupported, "key values of %s has no %s, so the injector of Linkerd %s does not know it: upgrade Linkerd, or remove the field from %s",
			d.Config.Key, path, d.Version, declared.From))
		return
	}
	if why := d.contradicted(declared); why != nil {
		d.Blocked = append(d.Blocked, *why)
		if known {
			d.Record = append(d.Record, recorded)
		}
		return
	}
	next := inventory.Value{Path: path, Set: declared.JSON, Before: live}
	why := reason.Declared
	if known {
		if next.Before, next.Former = recorded.Before, recorded.Former; !values.Equal(recorded.Set, declared.JSON) {
			next.Former = recorded.Set
		}
		if values.Equal(live, declared.JSON) { // the write was made
			next.Former = ""
		}
		if !isOurs(live, recorded) {
			why = reason.Drift
			if !d.Config.EditedByHand() {
				next.Before = live
			}
		}
	}
	d.set(Change{Path: path, Before: live, After: declared.JSON, Why: why, From: declared.From}, next)
}

// putBack decides on a field that is no longer declared.
func (d *decision) putBack(was inventory.Value, live string) {
	if !isOurs(live, was) || values.Equal(live, was.Before) {
		return // others changed it, or there is nothing to put back
	}
	if why := d.notInjectable(was.Path, was.Before); why != nil {
		d.Blocked, d.Record = append(d.Blocked, *why), append(d.Record, was)
		return
	}
	d.set(Change{Path: was.Path, Before: live, After: was.Before, Why: reason.Undeclared}, was)
}

// isOurs reports whether a live value is one that linkwright set.
func isOurs(live string, of inventory.Value) bool {
	return values.Equal(live, of.Set) || values.Equal(live, of.Former)
}

// set adds a change of the document, if it is one, and what is recorded of it.
func (d *decision) set(c Change, next inventory.Value) {
	if values.Equal(c.Before, c.After) {
		d.Record = append(d.Record, next)
		return
	}
	doc, err := d.doc.Remove(c.Path)
	if c.After != "" {
		doc, err = d.doc.Set(c.Path, c.After)
	}
	switch {
	case err == nil:
		d.doc, d.Changes, d.Record = doc, append(d.Changes, c), append(d.Record, next)
	case c.Why != reason.Undeclared:
		d.Blocked = append(d.Blocked, *object.Because(reason.LinkerdConfigInvalid, "linkwright cannot set %s in key values of %s: %v", c.Path, d.Config.Key, err))
	}
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

// notInjectable returns why a value must not be set: with it, Linkerd's injector would reject every pod (linkerd2 charts/partials/templates/_proxy.tpl).
// nil: it may be set.
func (d *decision) notInjectable(path, value string) *object.Reason {
	const native, wait = "proxy.nativeSidecar", "proxy.waitBeforeExitSeconds"
	waits := func(seconds string) bool { return seconds != "" && seconds != "0" && seconds != "null" }
	if path == native && value == "true" && waits(d.effective(wait)) || path == wait && waits(value) && d.effective(native) == "true" {
		return object.Because(reason.ValueContradicted,
			"Linkerd's injector accepts no waitBeforeExitSeconds with nativeSidecar: declare waitBeforeExitSeconds: 0, or nativeSidecar: false")
	}
	return nil
}

// effective returns the value that a field is to have: the declared one, or else the live one.
func (d *decision) effective(path string) string {
	if v, ok := find(d.Declared, path, func(v fleet.Value) string { return v.Path }); ok {
		return v.JSON
	}
	live, _ := d.doc.Value(path)
	return live
}

func find[V any](all []V, path string, of func(V) string) (found V, ok bool) {
	i := slices.IndexFunc(all, func(v V) bool { return of(v) == path })
	if i < 0 {
		return found, false
	}
	return all[i], true
}
