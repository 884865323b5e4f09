package report

import (
	"strings"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

// suspensionEvents say since when people suspend links and clusters, or do not any more, as far as the record has it:
//
//	it is suspended             Suspended is True    since then, by whom, until when, why
//	somebody resumed it         Suspended is False   since then, by whom
//	the time of --until is over Suspended is False   since then
func (o Overview) suspensionEvents() []output.Event {
	out := make([]output.Event, 0, len(o.Suspensions))
	for _, d := range decisionsOf(o.Suspensions) {
		e := output.Event{
			TypeMeta: output.Of(output.KindEvent), Type: output.Normal, Reason: string(reason.Suspended), Object: suspendedRef(d.Object),
			Condition: object.Suspended, Status: object.True, Message: decider(d), LastTransition: d.At,
		}
		over := !d.Until.IsZero() && !d.Until.After(o.At) // and no process has removed it yet
		if over {
			e.LastTransition, e.Message = d.Until, decider(output.Decision{})
		}
		if over || d.Kind == resumeKind {
			e.Status, e.Reason = object.False, string(reason.Resumed)
		}
		out = append(out, e)
	}
	return out
}

// suspendedRef is kind/name of a cluster, or of a link as SOURCE/TARGET.
func suspendedRef(name string) string {
	if source, target, ok := strings.Cut(name, "/"); ok {
		return output.Link{Source: source, Target: target}.Ref()
	}
	return output.Cluster{Name: name}.Ref()
}

// decider is who decided, until when and why; what nobody decided ended by itself.
func decider(d output.Decision) string {
	if d.By == "" {
		return "its time is over"
	}
	text := "by " + d.By
	if !d.Until.IsZero() {
		text += " until " + d.Until.Format(time.RFC3339)
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}

// linkEvents are the last transitions of the conditions of links. Of a suspension that people decided the record says more than the condition. Once
// that ended, the condition may still be true, because a declaration suspends the link, too.
func (o Overview) linkEvents(links ...output.Link) (out []output.Event) {
	decided := map[string]bool{}
	for _, e := range o.suspensionEvents() {
		decided[e.Object] = decided[e.Object] || e.Status == object.True
	}
	for _, l := range links {
		known := decided[l.Ref()] || decided[suspendedRef(l.Source)] || decided[suspendedRef(l.Target)]
		for _, e := range conditionEvents(l) {
			if !known || e.Condition != object.Suspended {
				out = append(out, e)
			}
		}
	}
	return out
}

// eventsAbout are the last transitions of links, and of suspensions of these links and of clusters, newest last.
func (o Overview) eventsAbout(links []output.Link, clusters ...string) []output.Event {
	about := map[string]bool{}
	for _, l := range links {
		about[l.Ref()] = true
	}
	for _, name := range clusters {
		about[suspendedRef(name)] = true
	}
	out := o.linkEvents(links...)
	for _, e := range o.suspensionEvents() {
		if about[e.Object] {
			out = append(out, e)
		}
	}
	return sorted(out)
}
