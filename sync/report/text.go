package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/plan"
)

// text tells problems first, then what is not in place or was written for, and sums up. Where nothing
// changed it is one line.
func (d document) text() string {
	blocks := []string{d.problems(), d.links(), d.closed(), columns("", d.owed())}
	for _, c := range d.Clusters {
		blocks = append(blocks, c.told(d.ReadOnly))
	}
	return paragraphs(append(blocks, d.sum()+"\n")...)
}

func (d document) problems() string {
	var b strings.Builder
	if d.Error != "" {
		fmt.Fprintln(&b, "error:", d.Error)
	}
	for _, p := range d.Problems {
		fmt.Fprintln(&b, p)
	}
	return b.String()
}

// notable are the links worth a line.
func (d document) notable() []linkDoc {
	var out []linkDoc
	for _, l := range d.Links {
		if l.State != plan.InPlace || l.touched {
			out = append(out, l)
		}
	}
	return out
}

func (d document) links() string {
	var rows []string
	for _, l := range d.notable() {
		rows = append(rows, l.pair()+"\t"+l.words()+"\t"+sentence(l.Reason))
	}
	return columns("", rows)
}

// closed are the clusters that could not be read, or may not be written, and bases that have anything to tell.
func (d document) closed() string {
	var rows []string
	for _, c := range d.Clusters {
		for _, note := range c.notes() {
			rows = append(rows, strings.Join(note, "\t"))
		}
	}
	return columns("", rows)
}

func (c clusterDoc) told(readOnly bool) string {
	if len(c.Writes)+len(c.Planned) == 0 {
		return ""
	}
	var done, failed []string
	for _, w := range c.Writes {
		if w.Error != "" {
			failed = append(failed, "failed: "+w.row(w.Error))
		} else {
			done = append(done, w.row(w.Reason.Message))
		}
	}
	for _, w := range c.Planned {
		done = append(done, w.row(w.Reason.Message))
	}
	return c.head(readOnly) + "\n" + columns("  ", done) + columns("  ", failed)
}

func (c clusterDoc) head(readOnly bool) string {
	written, failed := c.writes()
	switch {
	case len(c.Planned) > 0 && readOnly:
		return fmt.Sprintf("%s: %d to write", c.Name, len(c.Planned))
	case len(c.Planned) > 0:
		return fmt.Sprintf("%s: %d to write, not by us", c.Name, len(c.Planned))
	}
	return fmt.Sprintf("%s: %d written, %d failed", c.Name, written, failed)
}

func (w writeDoc) row(why string) string {
	if w.Times > 1 {
		why += fmt.Sprintf(" (%d times)", w.Times)
	}
	return w.Action + "\t" + w.Key.String() + "\t" + why
}

// sum is the last line: links, writes, bases, clusters, commit.
func (d document) sum() string {
	if d.Error != "" && len(d.Clusters) == 0 {
		return "no cluster was looked at"
	}
	var links []string
	noun := " links"
	for _, s := range States() {
		n := d.Summary.Links[s]
		if n == 0 {
			continue
		}
		if n == 1 && len(links) == 0 {
			noun = " link"
		}
		links = append(links, fmt.Sprintf("%d%s %s", n, noun, s))
		noun = ""
	}
	if len(links) == 0 {
		links = []string{"no links"}
	}
	parts := []string{strings.Join(links, ", "), d.sumWrites()}
	for _, s := range States() {
		if n := d.Summary.Bases[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", count(n, "base"), s))
		}
	}
	for _, s := range []State{Unread, Refused} {
		if n := d.Summary.Clusters[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", count(n, "cluster"), s))
		}
	}
	if n := d.Summary.Debts; n > 0 {
		parts = append(parts, fmt.Sprintf("%s owed", count(n, "end")))
	}
	line := strings.Join(parts, "; ")
	return line + d.commits()
}

// commits names the commit in force, and the head where that is another one.
func (d document) commits() string {
	switch {
	case d.Commit == "":
		return ""
	case d.Head == "" || d.Head == d.Commit:
		return " (commit " + api.Commit(d.Commit).Short() + ")"
	}
	return " (commit " + api.Commit(d.Commit).Short() + "; head " + api.Commit(d.Head).Short() + " is not in force)"
}

// notNow says that nothing is written although not all is as declared.
const notNow = "nothing can be written now"

func (d document) sumWrites() string {
	s := d.Summary
	switch {
	case s.Written+s.Failed > 0:
		return fmt.Sprintf("%d written, %d failed", s.Written, s.Failed)
	case s.Planned > 0 && d.ReadOnly:
		return fmt.Sprintf("%d to write, nothing was written", s.Planned)
	case s.Planned > 0:
		return fmt.Sprintf("%d to write, not by us", s.Planned)
	}
	for _, at := range States() {
		if n := s.Links[at] + s.Bases[at]; n > 0 && !slices.Contains([]plan.Standing{plan.InPlace, plan.Suspended, plan.Removed}, at) {
			return notNow
		}
	}
	if s.Clusters[Unread]+s.Clusters[Refused]+s.Debts > 0 {
		return notNow
	}
	return "nothing to write"
}
