package report

import (
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/plan"
)

// text tells problems first, then what is not Ready or was written for, and sums up. Where nothing
// changed it is one line.
func (d document) text() string {
	blocks := []string{d.problems(), d.links(), d.closed(), columns("", d.pending())}
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
		if l.Status != Ready || l.touched {
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
		return fmt.Sprintf("%s: %d to write, not by this process", c.Name, len(c.Planned))
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
		return "no cluster was read"
	}
	parts := []string{d.sumLinks(), d.sumWrites()}
	for _, s := range Statuses() {
		if n := d.Summary.Bases[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", count(n, "base"), s))
		}
	}
	for _, s := range []Status{Unknown, Denied} {
		if n := d.Summary.Clusters[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", count(n, "cluster"), s))
		}
	}
	if n := d.Summary.Cleanup; n > 0 {
		parts = append(parts, fmt.Sprintf("%s pending cleanup", count(n, "end")))
	}
	line := strings.Join(parts, "; ")
	return line + d.commits()
}

// sumLinks counts the links, and how many have each status.
func (d document) sumLinks() string {
	if len(d.Links) == 0 {
		return "no links"
	}
	var statuses []string
	for _, s := range Statuses() {
		if n := d.Summary.Links[s]; n > 0 {
			statuses = append(statuses, fmt.Sprintf("%d %s", n, s))
		}
	}
	return count(len(d.Links), "link") + ": " + strings.Join(statuses, ", ")
}

// commits names the applied revision, and the observed one if that is another.
func (d document) commits() string {
	switch {
	case d.Applied == "":
		return ""
	case d.Observed == "" || d.Observed == d.Applied:
		return " (revision " + api.Commit(d.Applied).Short() + ")"
	}
	return " (applied revision " + api.Commit(d.Applied).Short() + "; observed revision " + api.Commit(d.Observed).Short() + " is not applied)"
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
		return fmt.Sprintf("%d to write, not by this process", s.Planned)
	}
	for _, l := range d.Links {
		if stayed(l.phase) || l.phase == plan.Changing || l.phase == Unseen {
			return notNow
		}
	}
	for _, c := range d.Clusters {
		if c.Base != nil && (stayed(c.Base.phase) || c.Base.phase == plan.Changing) {
			return notNow
		}
	}
	if s.Clusters[Unknown]+s.Clusters[Denied]+s.Cleanup > 0 {
		return notNow
	}
	return "nothing to write"
}
