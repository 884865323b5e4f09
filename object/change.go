package object

// Depth says how much of a live object is kept.
type Depth uint8

// Depths.
const (
	Reduced  Depth = iota // a Record
	Metadata              // and its metadata as a body
	Whole                 // and all of it as a body
)

// Watch is one thing to look at: a kind in a namespace (empty: all, or cluster-scoped), narrowed by
// a label selector, or single objects by Names, each of which is read and watched alone. A namespace or name that is absent is simply not seen.
// Without a Version the kind is looked for in whichever the server serves.
type Watch struct {
	Group, Version, Kind string
	Namespace, Selector  string
	Names                []string
	Depth                Depth
	// Versions: live, every change of an object moves it, also one of its resourceVersion alone. It is for who keeps what
	// was read of it elsewhere.
	Versions bool
	// Health has the objects judged as they come in: they are read whole, and of that only Record.Health is kept.
	Health bool
	// Spec has Record.Digest be that of each object's spec, whoever wrote it: for kinds that linkwright never writes.
	Spec bool
	// MayHide: where the account may not read it, Observation.Hidden says so. Without it nothing of the cluster is given then.
	MayHide bool
}

// Called is the watched kind as Observation.Unserved names it: Kind.version.group, without a version Kind.group.
func (w Watch) Called() string {
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
	Adopt          // a merge patch of our marks alone, onto what others made; it takes over what they know of its fields
	Replace        // delete and create; only where recognised as harmless
	Drain          // an update that acts like a delete: judged as one everywhere
	Release        // a merge patch that gives something up without deleting it: an object of ours, or our part of another
	Delete
)

// String is the word used in reports.
func (a Action) String() string {
	return [...]string{"none", "create", "update", "adopt", "replace", "drain", "release", "delete"}[a]
}

// Takes reports whether the action takes something away: such are guarded and filtered as deletes.
func (a Action) Takes() bool { return a >= Replace && a != None }

// Takes is the action's, but for the release of an object of ours: that stays as it is, and nobody loses anything. It
// is a write nevertheless, and one that only an adoption takes back.
func (c Change) Takes() bool { return c.Action.Takes() && !c.Frees() }

// Frees reports whether the change gives an object of ours up without deleting it.
func (c Change) Frees() bool { return c.Action == Release && c.Was.Mark == Ours }

// Change is one write. Was holds the preconditions of Adopt, Replace, Release and Delete, and of every
// Fenced write: that happens only on exactly what was seen (nothing, where Was is zero).
type Change struct {
	End    End
	Action Action
	Key    Key
	Object Object // zero for Delete; for Adopt and Release its Body is the merge patch
	Was    Record
	Fenced bool
	Why    Reason
}

// Outcome is what became of a change.
type Outcome struct {
	Change Change
	Now    Record
	Err    error
}
