package object

// Depth is how much of a live object is kept.
type Depth uint8

// Depths.
const (
	Reduced  Depth = iota // a Record
	Metadata              // and its metadata as a body
	Whole                 // and all of it as a body
)

// Watch is one thing to read or watch: a kind in a namespace (empty: all, or cluster-scoped), narrowed by
// a label selector, or single objects by Names, each of which is read and watched alone. An absent namespace or name is no error.
// Without a Version any served version of the kind is read.
type Watch struct {
	Group, Version, Kind string
	Namespace, Selector  string
	Names                []string
	Depth                Depth
	// Versions: every change of an object is reported, also one of its resourceVersion alone. It is for callers that keep
	// resourceVersions elsewhere.
	Versions bool
	// Health: the objects are read whole, and only Record.Health is kept of that.
	Health bool
	// Spec: Record.Digest is the digest of the object's spec. It is for kinds that linkwright never writes.
	Spec bool
	// MayBeForbidden: if the account may not read it, Observation.Hidden has it. Without MayBeForbidden the whole read fails.
	MayBeForbidden bool
}

// KindName is the watched kind as in Observation.Unserved: Kind.version.group, without a version Kind.group.
func (w Watch) KindName() string {
	if w.Version == "" {
		return w.Kind + "." + w.Group
	}
	return w.Kind + "." + w.Version + "." + w.Group
}

// Action is what a change does.
type Action uint8

// Actions.
const (
	None    Action = iota
	Create         // server-side apply of what does not exist
	Update         // server-side apply of what does
	Adopt          // a merge patch of linkwright's marks onto an object of others; it takes over their managed fields
	Patch          // a server-side apply of fields of an object of others, which linkwright does not own afterwards
	Replace        // delete and create; only where that is harmless
	Drain          // an update with the effect of a delete; guards treat it as one
	Release        // a merge patch that gives up an object, or linkwright's part of another, without deleting it
	Delete
)

// String is the word used in reports.
func (a Action) String() string {
	return [...]string{"none", "create", "update", "adopt", "patch", "replace", "drain", "release", "delete"}[a]
}

// Removes reports whether the action removes something: guards treat such actions as deletes.
func (a Action) Removes() bool { return a >= Replace && a != None }

// Removes is Action.Takes, except for the release of an object of linkwright, which stays as it is. Such a release
// is a write nevertheless, which only an adoption undoes.
func (c Change) Removes() bool { return c.Action.Removes() && !c.Releases() }

// Releases reports whether the change releases an object of linkwright.
func (c Change) Releases() bool { return c.Action == Release && c.Was.Mark == Ours }

// Change is one write. Was has the preconditions of Adopt, Replace, Release and Delete, and of every
// Conditional write: it fails unless the object is exactly the one that was read (absent, if Was is zero).
type Change struct {
	End         End
	Action      Action
	Key         Key
	Object      Object // zero for Delete; for Adopt and Release its Body is the merge patch
	Was         Record
	Conditional bool
	Why         Reason
}

// Outcome is the result of a change.
type Outcome struct {
	Change Change
	Now    Record
	Err    error
}
