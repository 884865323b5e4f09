package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unique"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Level is how important an Event is, as log/slog counts it.
type Level int

// Levels.
const (
	Debug Level = -4
	Info  Level = 0
	Warn  Level = 4
	Error Level = 8
)

// Event is one line of the log: a constant message, and what it is about. It holds no secret.
type Event struct {
	Level   Level
	Message string
	Attrs   []Attr // in the order in which they are shown
}

// Attr is one thing that is known of an event: a string or a number.
type Attr struct {
	Key   string
	Value any
}

// Messages of events.
const (
	ObjectWritten      = "object written"
	ObjectNotWritten   = "object not written"
	LinkChanged        = "link changed"
	ClusterChanged     = "cluster changed"
	BaseChanged        = "base changed"
	CleanupChanged     = "cleanup changed"
	OrphansChanged     = "orphans changed"
	ConfinementChanged = "confinement changed"
	HasProblem         = "declarations have a problem"
	RevisionApplied    = "revision applied"
	RevisionNotApplied = "revision not applied"
	SyncFailed         = "sync failed"
	SyncRecovered      = "sync recovered"
	SyncDone           = "sync done"
)

// Reported says that a message repeats what the report of a sync says at its end.
func Reported(message string) bool {
	return slices.Contains([]string{
		ObjectWritten, ObjectNotWritten, LinkChanged, ClusterChanged, BaseChanged, CleanupChanged, OrphansChanged, ConfinementChanged, HasProblem, RevisionNotApplied,
		SyncFailed, SyncDone,
	}, message)
}

// Written are the events of writes to a cluster, one for each.
func Written(cluster api.ClusterName, commit api.Commit, outcomes []object.Outcome) []Event {
	if len(outcomes) == 0 {
		return nil
	}
	m, out := redacting(bodiesOf(Report{Clusters: []Cluster{{Outcomes: outcomes}}})), make([]Event, 0, len(outcomes))
	for _, o := range outcomes {
		out = append(out, written(m, cluster, commit, o))
	}
	return out
}

func written(m mask, cluster api.ClusterName, commit api.Commit, o object.Outcome) Event {
	c := o.Change
	e := Event{Level: Info, Message: ObjectWritten}
	e.add("cluster", string(cluster))
	if !c.End.IsBase() {
		e.add("link", c.End.Link.String())
	}
	e.add("object", c.Key.String())
	e.add("verb", c.Action.String())
	e.add("reason", string(c.Why.Code))
	e.add("why", m.line(c.Why.Message))
	e.add("commit", string(commit))
	if c.Why.Code == reason.Drift && c.Was.ForeignManagers != (unique.Handle[string]{}) {
		e.add("manager", c.Was.ForeignManagers.Value())
	}
	if o.Err != nil {
		e.Level, e.Message = Warn, ObjectNotWritten
		said := strings.TrimPrefix(o.Err.Error(), fmt.Sprintf("%s %s: ", c.Action, c.Key))
		e.add("error", cmp.Or(m.line(said), "failed"))
	}
	return e
}

// add adds what is known; an empty string is not.
func (e *Event) add(key string, value any) {
	if value != "" {
		e.Attrs = append(e.Attrs, Attr{key, value})
	}
}
