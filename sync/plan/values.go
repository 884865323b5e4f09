package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/values"
)

// valueWatches returns the watch of the Deployment whose flags must agree with values that are declared for a cluster.
func valueWatches(c fleet.Cluster) []object.Watch {
	if !values.Flagged(c.Values) {
		return nil
	}
	k := linkerd.Destination(c.Spec.Linkerd)
	return []object.Watch{{Group: k.Group, Version: "v1", Kind: k.Kind, Namespace: k.Namespace, Names: []string{k.Name}, Depth: object.Whole, Health: true}}
}

// proxyConfig holds the declared values of Linkerd's installation.
type proxyConfig struct{ *cluster }

// add adds the write of the values, and returns what the base must record before. next is what it must record anyway; nil: it records that already.
func (p proxyConfig) add(s Step, next *inventory.Inventory) (Step, *inventory.Inventory) {
	old, _ := p.inventoryOf(p.base())
	declared := p.declaredValues()
	key := linkerd.ConfigKey(p.Spec(p.name).Linkerd)
	owned := p.current.Live.Record(key).Sets(linkerd.ValuesKey) // a write was cut short
	if len(declared)+len(old.Values) == 0 && !owned || slices.Contains([]Phase{Blocked, Denied, Suspended}, s.row(p.base()).Phase) {
		return s, next
	}
	if why := p.unread(key); why != nil {
		return p.report(s, Blocked, why), next
	}
	config := linkerd.ConfigOf(p.Spec(p.name).Linkerd, p.current.Live)
	owned = owned && !p.isFinal(config)
	d := p.decide(config, declared, old.Values)
	if len(d.Changes) > 0 || owned {
		write := p.write(config, d)
		phase, why, again := p.admit(config, write)
		s.within(again)
		if why != nil {
			return p.report(s, phase, why), next
		}
		s.Changes = append(s.Changes, write)
		s = p.report(s, Changing, nil)
	}
	if len(d.Blocked) > 0 {
		s = p.report(s, Blocked, summary(d.Blocked))
	}
	return s, withValues(next, old, d.Record)
}

// declaredValues returns what is declared of the cluster, unless it leaves.
func (p proxyConfig) declaredValues() []fleet.Value {
	if p.isLeaving() {
		return nil
	}
	c, _, _ := p.Declared(p.name)
	return c.Values
}

func (p proxyConfig) isDeclared() bool {
	c, _, _ := p.Declared(p.name)
	return c != nil
}

// unread returns why an object is unknown; nil: it is known.
func (p proxyConfig) unread(k object.Key) *object.Reason {
	if why := p.current.Live.Hides(k); why != nil {
		return why
	}
	if !p.current.Covers(k) {
		return object.Because(reason.Unknown, "linkwright has not read %s yet", k)
	}
	return nil
}

// decide decides on all fields. If there is no configuration, nothing can be set, and nothing is recorded.
func (p proxyConfig) decide(config linkerd.Config, declared []fleet.Value, recorded []inventory.Value) (d values.Decision) {
	if config.Record.IsZero() {
		if len(declared) > 0 {
			d.Blocked = []object.Reason{*object.Because(reason.LinkerdNotInstalled, "%s does not exist: install Linkerd, or declare spec.linkerd.namespace", config.Key)}
		}
		return d
	}
	if p.isFinal(config) {
		return d
	}
	destination := linkerd.Destination(p.Spec(p.name).Linkerd)
	body, _ := p.current.Live.Body(destination)
	return values.Decide(values.Input{
		Declared: declared, Recorded: recorded, Config: config, Version: p.current.Facts.Version, Unread: p.unread(destination), Leaving: p.isLeaving(),
		Flag: func(name string) (string, bool) { return linkerd.Flag(body, name) },
	})
}

func (p proxyConfig) isLeaving() bool { return p.Leaves(p.name) || !p.isDeclared() }

// isFinal reports whether the values stay as they are: the cluster leaves, and nobody can change its ConfigMap.
func (p proxyConfig) isFinal(config linkerd.Config) bool { return config.Immutable && p.isLeaving() }

// kept says which values stay in an abandoned cluster as linkwright set them; empty: none, or that is not known.
func (p proxyConfig) kept() string {
	base, _ := inventory.ReadBase(p.Owner, p.current.Live)
	config := linkerd.ConfigOf(p.Spec(p.name).Linkerd, p.current.Live)
	if gone := config.Record.IsZero() && p.unread(config.Key) == nil; gone {
		return ""
	}
	paths := values.Kept(base.Values, config.Values)
	if len(paths) == 0 {
		return ""
	}
	return fmt.Sprintf("%s keeps values that linkwright set: %s", config.Key, object.FirstNames(paths, len(paths)))
}

// write returns the write of the values. It happens only on the very ConfigMap that was read.
func (p proxyConfig) write(config linkerd.Config, d values.Decision) object.Change {
	paths, from := map[reason.Code][]string{}, ""
	for _, c := range d.Changes {
		paths[c.Why] = append(paths[c.Why], c.Path)
		from = cmp.Or(from, c.From)
	}
	code, message := reason.Declared, "linkwright stops owning key values"
	switch {
	case len(paths[reason.Drift]) > 0:
		code, message = reason.Drift, fmt.Sprintf("%s changed what is set back: %s", writers(config), object.FirstNames(paths[reason.Drift], 3))
	case len(paths[reason.Declared]) > 0:
		message = fmt.Sprintf("%s sets %s", from, object.FirstNames(paths[reason.Declared], 3))
	case len(paths[reason.Undeclared]) > 0:
		code, message = reason.Undeclared, "the values from before are put back: "+object.FirstNames(paths[reason.Undeclared], 3)
	}
	return change(p.base(), object.Patch, config.Part(d.Text), config.Record, code, message)
}

// admit returns why the write is not made now, with the phase of the base, and when to plan it again; nil: it is made.
func (p proxyConfig) admit(config linkerd.Config, write object.Change) (Phase, *object.Reason, time.Time) {
	if config.Immutable {
		return Blocked, object.Because(reason.ImmutableField, "%s is immutable: create it again without immutable: true", config.Key), time.Time{}
	}
	if contest := p.Contested[p.name][config.Key]; p.Now.Before(contest.Until) {
		why := object.Because(reason.Contested, "%s changes %s as often as linkwright corrects it: declare the values there, or remove them here; linkwright tries again at %s",
			writers(config), config.Key, contest.Until.UTC().Format(time.RFC3339))
		return Waiting, why, contest.Until
	}
	for _, policy := range p.policies {
		if why := policy(p.Snapshot, p.base(), []object.Change{write}); why != nil {
			return Denied, why, time.Time{}
		}
	}
	return Changing, nil, time.Time{}
}

// writers names who wrote the values last, for a message.
func writers(c linkerd.Config) string {
	if all := c.Writers(); len(all) > 0 {
		return strings.Join(all, ", ")
	}
	return "somebody"
}

// report sets the phase of the base. What else it says of a base that is not Ready stays, unless this one is worse.
func (p proxyConfig) report(s Step, phase Phase, why *object.Reason) Step {
	for i, row := range s.Rows {
		putsBack := row.Leaving && row.Phase == Waiting && phase == Changing // so it reports how the write ends
		if row.End == p.base() && (row.Phase == Ready || putsBack || why != nil) {
			s.Rows[i].Phase, s.Rows[i].Why = phase, why
		}
	}
	return s
}

// summary returns the first of some reasons, and how many more there are.
func summary(all []object.Reason) *object.Reason {
	if more := len(all) - 1; more > 0 {
		return all[0].With("linkwright does not set %s either", object.Count(more, "other value"))
	}
	return &all[0]
}

// withValues returns what the base must record, with values; nil: it records that already.
func withValues(next *inventory.Inventory, old inventory.Inventory, recorded []inventory.Value) *inventory.Inventory {
	if slices.Equal(recorded, old.Values) {
		return next
	}
	if next == nil {
		next = &old
	}
	with := *next
	with.Values = recorded
	return &with
}
