package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
)

func (d diffDoc) text() string {
	var problems strings.Builder
	for _, p := range beside(d.Problems) {
		fmt.Fprintln(&problems, problemLine(p))
	}
	blocks := append([]string{problems.String(), d.created.text()}, d.unlinks.text()...)
	blocks = append(blocks, d.narrowedText())
	for _, c := range d.clusters {
		blocks = append(blocks, c.text()...)
	}
	return paragraphs(append(blocks, d.followingText(), d.sum()+"\n")...)
}

func (c clusterDiffDoc) text() []string {
	if !c.notable() {
		return nil
	}
	var rows []string
	for _, r := range c.notReady() {
		rows = append(rows, strings.Join(r, "\t"))
	}
	blocks := []string{c.head() + "\n" + columns("  ", rows)}
	for _, o := range alike(c.objects) {
		blocks = append(blocks, o.text())
	}
	return blocks
}

// alikeObjects are one object that is written, or objects that are deleted one after the other for the same reason.
type alikeObjects []objectDiffDoc

// alike puts objects together of which only the names are shown.
func alike(objects []objectDiffDoc) (out []alikeObjects) {
	for _, o := range objects {
		last := len(out) - 1
		if last >= 0 && o.named() && o.sameAs(out[last][0]) {
			out[last] = append(out[last], o)
			continue
		}
		out = append(out, alikeObjects{o})
	}
	return out
}

// named says that only the name of an object is shown: it is deleted.
func (o objectDiffDoc) named() bool { return o.Action == object.Delete.String() }

func (o objectDiffDoc) sameAs(p objectDiffDoc) bool {
	return o.verb() == p.verb() && sentence(o.Reason) == sentence(p.Reason)
}

// text is the patch of an object, or a line for each that is deleted.
func (all alikeObjects) text() string {
	o := all[0]
	if !o.named() {
		return o.head() + "\n" + o.seen()
	}
	return o.what(o.verb()) + ":\n" + all.names(func(name string) string { return name })
}

// names is a line for each object.
func (all alikeObjects) names(shown func(string) string) string {
	var b strings.Builder
	for _, o := range all {
		fmt.Fprintln(&b, "-", shown(o.Object.String()))
	}
	return b.String()
}

// notable clusters are those with something to show.
func (c clusterDiffDoc) notable() bool {
	return c.Reason != nil || len(c.objects)+len(c.notReady()) > 0
}

// notReady are the ends that are not as declared after the changes, and of those that leave.
func (c clusterDiffDoc) notReady() [][]string {
	if c.Reason != nil {
		return nil // all have that reason
	}
	var out [][]string
	for _, r := range c.ends {
		if c.unlinks.hides(r.EndDiff) {
			continue
		}
		if r.Leaving || slices.Contains([]plan.Phase{plan.Suspended, plan.Blocked, plan.Waiting, plan.Denied}, r.phase) {
			out = append(out, []string{r.name(), r.words(), message(r.Status, r.Reason)})
		}
	}
	return out
}

func (r rowDoc) name() string {
	if r.Source == "" {
		return "base"
	}
	return r.Source + "→" + r.Target
}

func (r rowDoc) words() string {
	return words(r.Status, r.Leaving)
}

func (c clusterDiffDoc) head() string {
	if c.Reason != nil {
		return c.Name + ": " + strings.ToLower(c.Status) + ": " + sentence(c.Reason)
	}
	return c.Name + ": " + c.changes()
}

// changes counts what is to be written.
func (c clusterDiffDoc) changes() string {
	if len(c.objects) == 0 && slices.ContainsFunc(c.ends, func(r rowDoc) bool { return stayed(r.phase) }) {
		return notNow
	}
	return changes(c.objects)
}

// stayed says that an end is not as declared, although nothing of it is written now.
func stayed(s plan.Phase) bool {
	return slices.Contains([]plan.Phase{plan.Blocked, plan.Waiting, plan.Denied}, s)
}

// changes counts by action, in the order in which actions are listed in package object.
func changes(objects []objectDiffDoc) string {
	n := map[string]int{}
	for _, o := range objects {
		n[o.verb()]++
	}
	var parts []string
	for _, verb := range []string{"create", "update", "patch", "replace", "release", "delete", later} {
		if n[verb] > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", n[verb], verb))
		}
	}
	if len(parts) == 0 {
		return "nothing to write"
	}
	return strings.Join(parts, ", ")
}

const later = "delete later"

func (o objectDiffDoc) verb() string {
	if o.Later {
		return later
	}
	return verb(o.Action)
}

// verb is an action in the words of texts. A drain is an update: its reason says which mirrors go.
func verb(action string) string {
	if action == object.Drain.String() {
		return object.Update.String()
	}
	return action
}

func (o objectDiffDoc) head() string { return o.what(o.verb() + " " + o.Object.String()) }

// what adds the reason of a change.
func (o objectDiffDoc) what(changes string) string {
	if why := sentence(o.Reason); why != "" {
		return changes + " (" + why + ")"
	}
	return changes
}

// seen is the patch, or why there is none.
func (o objectDiffDoc) seen() string {
	if o.patch == "" && o.Before != nil && !o.named() {
		return "  no visible difference: only linkwright's labels and annotations, owners of fields, or hidden values\n"
	}
	return o.patch
}

func (d diffDoc) sum() string {
	var all []objectDiffDoc
	differ, open, closed := 0, 0, map[string]int{} // by status
	for _, c := range d.clusters {
		all = append(all, c.objects...)
		if len(c.objects) > 0 {
			differ++
		}
		if c.Reason != nil {
			closed[c.Status]++
		} else {
			open++
		}
	}
	line, ends := "no difference", d.stopped()
	held := d.held()
	switch {
	case differ > 0:
		line = changes(all) + " in " + object.Count(differ, "cluster")
	case len(closed) > 0 && len(ends) == 0 && held == "" && open > 0:
		line = "nothing to write in " + object.Count(open, "cluster")
	case len(closed)+len(ends) > 0:
		line = "nothing can be written" // and something may not be as declared
	case held != "":
		line = "nothing is written now"
	}
	if held != "" {
		ends = append(ends, held+" until what is suspended is resumed")
	}
	for _, s := range []Status{Unknown, Denied} {
		if n := closed[string(s)]; n > 0 {
			line += "; " + object.Count(n, "cluster") + " " + strings.ToLower(string(s))
			if s == Unknown && differ == 0 {
				line += ", so it is not known what is to be written there"
			}
		}
	}
	return strings.Join(append([]string{line}, ends...), "; ")
}

// held says how many changes wait because something is suspended; empty: none do.
func (d diffDoc) held() string {
	n := 0
	for _, c := range d.clusters {
		for _, e := range c.ends {
			n += e.held
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "1 change waits"
	}
	return fmt.Sprintf("%d changes wait", n)
}

// stopped counts the ends that are blocked, denied, or being removed, beside those of clusters that have a reason as a whole.
func (d diffDoc) stopped() (out []string) {
	n := map[plan.Phase]int{}
	for _, c := range d.clusters {
		for _, r := range c.ends {
			if c.Reason == nil && (stops(r.phase, r.Reason) || r.Leaving && r.phase == plan.Waiting) {
				n[r.phase]++
			}
		}
	}
	for _, s := range []plan.Phase{plan.Blocked, plan.Denied} {
		if n[s] > 0 {
			out = append(out, object.Count(n[s], "end")+" "+strings.ToLower(string(s)))
		}
	}
	if n[plan.Waiting] > 0 {
		out = append(out, object.Count(n[plan.Waiting], "end")+" still being removed")
	}
	return out
}
