package report

import (
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report/output"
)

// text has problems first, then what is not Ready or was written for, and a summary. If nothing changed it is one line.
func (d document) text() string {
	shown := shownOnce{}
	links := d.linksText(shown)
	blocks := []string{d.problems(), links, d.closed(shown), columns("", d.pending())}
	for _, c := range d.clusters {
		blocks = append(blocks, c.writesText(d.ReadOnly))
	}
	return paragraphs(append(blocks, d.sum()+"\n")...)
}

func (d document) problems() string {
	var b strings.Builder
	if d.Error != "" {
		fmt.Fprintln(&b, "error:", d.Error)
	}
	for _, p := range d.shownProblems() {
		fmt.Fprintln(&b, problemLine(p))
	}
	return b.String()
}

// shownProblems are those that a text shows: of a sync all.
func (d document) shownProblems() []output.Problem {
	if d.ReadOnly {
		return beside(d.Problems)
	}
	return d.Problems
}

// notable are the links worth a line.
func (d document) notable() []linkDoc {
	var out []linkDoc
	for _, l := range d.links {
		if l.Status != string(Ready) || l.touched {
			out = append(out, l)
		}
	}
	return out
}

func (d document) linksText(shown shownOnce) string {
	var rows []string
	for _, l := range d.notable() {
		rows = append(rows, l.pair()+"\t"+l.words()+"\t"+shown.message(l.Status, l.Reason))
	}
	return columns("", rows)
}

// closed are the clusters that could not be read, or may not be written, and bases that have anything to say.
func (d document) closed(shown shownOnce) string {
	var rows []string
	for _, c := range d.clusters {
		for _, note := range c.notes(shown) {
			rows = append(rows, strings.Join(note, "\t"))
		}
	}
	return columns("", rows)
}

func (c clusterDoc) writesText(readOnly bool) string {
	if len(c.Written)+len(c.Planned) == 0 {
		return ""
	}
	var done, failed []string
	for _, w := range c.Written {
		if w.Error != "" {
			failed = append(failed, "failed: "+writeRow(w, w.Error))
		} else {
			done = append(done, writeRow(w, w.Reason.Message))
		}
	}
	for _, w := range c.Planned {
		done = append(done, writeRow(w, w.Reason.Message))
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

func writeRow(w output.Write, why string) string {
	if w.Times > 1 {
		why += fmt.Sprintf(" (%d times)", w.Times)
	}
	return verb(w.Action) + "\t" + w.Object.String() + "\t" + why
}

// sum is the last line: links, writes, bases, clusters, commit.
func (d document) sum() string {
	if d.Error != "" && d.unread == len(d.clusters) {
		return "no cluster was read"
	}
	parts := []string{d.sumLinks(), d.sumWrites()}
	for _, s := range Statuses() {
		if n := d.Summary.Bases[string(s)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", object.Count(n, "base"), s))
		}
	}
	for _, s := range []Status{Unknown, Denied} {
		if n := d.Summary.Clusters[string(s)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", object.Count(n, "cluster"), s))
		}
	}
	if n := d.Summary.PendingCleanup; n > 0 {
		parts = append(parts, fmt.Sprintf("%s pending cleanup", object.Count(n, "end")))
	}
	line := strings.Join(parts, "; ")
	return line + d.commits()
}

// sumLinks counts the links, and how many have each status.
func (d document) sumLinks() string {
	switch {
	case len(d.links) == 0 && d.Error != "" && d.unread > 0:
		return "no links in the clusters that were read"
	case len(d.links) == 0:
		return "no links"
	}
	var statuses []string
	for _, s := range Statuses() {
		if n := d.Summary.Links[string(s)]; n > 0 {
			statuses = append(statuses, fmt.Sprintf("%d %s", n, s))
		}
	}
	return object.Count(len(d.links), "link") + ": " + strings.Join(statuses, ", ")
}

// commits names the applied revision, and the observed one if that is another.
func (d document) commits() string {
	switch {
	case d.AppliedRevision == "":
		return ""
	case d.ObservedRevision == "" || d.ObservedRevision == d.AppliedRevision:
		return " (revision " + api.Commit(d.AppliedRevision).Short() + ")"
	}
	return " (applied revision " + api.Commit(d.AppliedRevision).Short() + "; observed revision " + api.Commit(d.ObservedRevision).Short() + " is not applied)"
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
	for _, l := range d.links {
		if stayed(l.phase) || l.phase == plan.Changing || l.phase == Unseen {
			return notNow
		}
	}
	for _, c := range d.clusters {
		if c.Base != nil && (stayed(c.phase) || c.phase == plan.Changing) {
			return notNow
		}
	}
	if s.Clusters[string(Unknown)]+s.Clusters[string(Denied)]+s.PendingCleanup > 0 {
		return notNow
	}
	return "nothing to write"
}
