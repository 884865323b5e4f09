package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/sync/plan"
)

func (d diffDoc) text() string {
	var problems strings.Builder
	for _, p := range d.Problems {
		fmt.Fprintln(&problems, p)
	}
	blocks := []string{problems.String()}
	for _, c := range d.Clusters {
		blocks = append(blocks, c.text()...)
	}
	return paragraphs(append(blocks, d.sum()+"\n")...)
}

func (c clusterDiffDoc) text() []string {
	if !c.notable() {
		return nil
	}
	var rows []string
	for _, r := range c.standing() {
		rows = append(rows, strings.Join(r, "\t"))
	}
	blocks := []string{c.head() + "\n" + columns("  ", rows)}
	for _, o := range c.Objects {
		blocks = append(blocks, o.head()+"\n"+o.seen())
	}
	return blocks
}

// notable clusters are those with something to tell.
func (c clusterDiffDoc) notable() bool {
	return c.Reason != nil || len(c.Objects)+len(c.standing()) > 0
}

// standing tells of the ends that are not as declared after the changes, and of those that leave.
func (c clusterDiffDoc) standing() [][]string {
	if c.Reason != nil {
		return nil // all are denied, for that reason
	}
	var out [][]string
	for _, r := range c.Ends {
		if r.Leaving || slices.Contains([]plan.Phase{plan.Suspended, plan.Blocked, plan.Waiting, plan.Denied}, r.phase) {
			out = append(out, []string{r.name(), r.words(), sentence(r.Reason)})
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
		return c.Name + ": denied: " + sentence(c.Reason)
	}
	return c.Name + ": " + c.changes()
}

// changes counts what is to be written.
func (c clusterDiffDoc) changes() string {
	if len(c.Objects) == 0 && slices.ContainsFunc(c.Ends, func(r rowDoc) bool { return stayed(r.phase) }) {
		return notNow
	}
	return changes(c.Objects)
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
	for _, verb := range []string{"create", "update", "replace", "drain", "release", "delete", later} {
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
	return o.Action
}

func (o objectDiffDoc) head() string {
	head := o.verb() + " " + o.Key.String()
	if why := sentence(o.Reason); why != "" {
		head += " (" + why + ")"
	}
	return head
}

// seen is the patch, or why there is none.
func (o objectDiffDoc) seen() string {
	if o.patch == "" && o.Before != nil {
		return "  no visible difference: only linkwright's labels and annotations, owners of fields, or hidden values\n"
	}
	return o.patch
}

func (d diffDoc) sum() string {
	var all []objectDiffDoc
	differ, denied := 0, 0
	for _, c := range d.Clusters {
		all = append(all, c.Objects...)
		if len(c.Objects) > 0 {
			differ++
		}
		if c.Reason != nil {
			denied++
		}
	}
	line, ends := "no difference", d.stopped()
	switch {
	case differ > 0:
		line = changes(all) + " in " + count(differ, "cluster")
	case denied+len(ends) > 0:
		line = "nothing can be written" // and nobody knows, or it is not so, that all is as declared
	}
	if denied > 0 {
		line += "; " + count(denied, "cluster") + " denied"
	}
	return strings.Join(append([]string{line}, ends...), "; ")
}

// stopped counts the ends that are blocked, denied, or being removed, beside those of clusters that are denied as a whole.
func (d diffDoc) stopped() (out []string) {
	n := map[plan.Phase]int{}
	for _, c := range d.Clusters {
		for _, r := range c.Ends {
			if c.Reason == nil && (stops(r.phase, r.Reason) || r.Leaving && r.phase == plan.Waiting) {
				n[r.phase]++
			}
		}
	}
	for _, s := range []plan.Phase{plan.Blocked, plan.Denied} {
		if n[s] > 0 {
			out = append(out, count(n[s], "end")+" "+strings.ToLower(string(s)))
		}
	}
	if n[plan.Waiting] > 0 {
		out = append(out, count(n[plan.Waiting], "end")+" still being removed")
	}
	return out
}
