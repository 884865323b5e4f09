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

// standing tells of the ends that no change brings in place, and of those that leave.
func (c clusterDiffDoc) standing() [][]string {
	if c.Reason != nil {
		return nil // all are held, for that reason
	}
	var out [][]string
	for _, r := range c.Ends {
		if r.Leaving || slices.Contains([]plan.Standing{plan.Suspended, plan.Held, plan.Waiting, plan.Refused}, r.Standing) {
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
	return linkDoc{Standing: r.Standing, Leaving: r.Leaving}.words()
}

func (c clusterDiffDoc) head() string {
	if c.Reason != nil {
		return c.Name + ": refused: " + sentence(c.Reason)
	}
	return c.Name + ": " + c.changes()
}

// changes counts what is to be written.
func (c clusterDiffDoc) changes() string {
	if len(c.Objects) == 0 && slices.ContainsFunc(c.Ends, func(r rowDoc) bool { return stayed(r.Standing) }) {
		return notNow
	}
	return changes(c.Objects)
}

// stayed says that an end is not as declared, although nothing of it is written now.
func stayed(s plan.Standing) bool {
	return slices.Contains([]plan.Standing{plan.Held, plan.Waiting, plan.Refused}, s)
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
		return "  nothing that may be shown differs: only marks of ours, owners of fields, or hidden values\n"
	}
	return o.patch
}

func (d diffDoc) sum() string {
	var all []objectDiffDoc
	differ, refused := 0, 0
	for _, c := range d.Clusters {
		all = append(all, c.Objects...)
		if len(c.Objects) > 0 {
			differ++
		}
		if c.Reason != nil {
			refused++
		}
	}
	line, ends := "no difference", d.stopped()
	switch {
	case differ > 0:
		line = changes(all) + " in " + count(differ, "cluster")
	case refused+len(ends) > 0:
		line = "nothing would be written" // and nobody knows, or it is not so, that all is as declared
	}
	if refused > 0 {
		line += "; " + count(refused, "cluster") + " refused"
	}
	return strings.Join(append([]string{line}, ends...), "; ")
}

// stopped counts the ends that are refused, held, or being removed, beside those of clusters that are refused whole.
func (d diffDoc) stopped() (out []string) {
	n := map[plan.Standing]int{}
	for _, c := range d.Clusters {
		for _, r := range c.Ends {
			if c.Reason == nil && (stops(r.Standing, r.Reason) || r.Leaving && r.Standing == plan.Waiting) {
				n[r.Standing]++
			}
		}
	}
	for _, s := range []plan.Standing{plan.Held, plan.Refused} {
		if n[s] > 0 {
			out = append(out, count(n[s], "end")+" "+string(s))
		}
	}
	if n[plan.Waiting] > 0 {
		out = append(out, count(n[plan.Waiting], "end")+" still being removed")
	}
	return out
}
