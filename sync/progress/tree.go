package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/linkwright/linkwright/sync/report"
)

// Size is how much room a terminal has, in characters.
type Size struct{ Width, Height int }

// span is a piece of a line, in the colour of a status; empty: in none.
type span struct {
	text   string
	status report.Status
}

// line is one line of a tree.
type line []span

// Tree is the view as lines for a terminal: clusters, and below each the links from it that are not done. Clusters of which all is done come
// last, in a line each. What has no room is counted.
func (v View) Tree(now time.Time, room Size, colours bool) []string {
	lines := append([]line{v.head(now)}, v.body(now)...)
	if height := max(room.Height-1, 2); len(lines) > height {
		more := len(lines) - height + 1
		lines = append(lines[:height-1], line{{text: fmt.Sprintf("… and %d more", more)}})
	}
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, l.render(room.Width, colours))
	}
	return out
}

// head is the first line: what is done, and for how long.
func (v View) head(now time.Time) line {
	text := v.Title + "  " + seconds(now.Sub(v.Began))
	if v.Until.After(now) {
		text += "  waits at most " + seconds(v.Until.Sub(now)) + " more"
	}
	return line{{text: text}}
}

func (v View) body(now time.Time) (lines []line) {
	if v.Awaited != "" {
		return []line{{{"► ", report.Progressing}, {text: v.Awaited + "  " + v.took(Row{Since: v.Since}, now)}}}
	}
	var done []line
	for _, g := range v.groups() {
		if g.done() {
			done = append(done, g.head(v, now))
			continue
		}
		lines = append(lines, g.head(v, now))
		lines = append(lines, g.below(v, now)...)
	}
	return append(lines, done...)
}

// group is a cluster with the links from it.
type group struct {
	cluster Row
	links   []Row
}

func (v View) groups() (out []group) {
	for _, row := range v.Rows {
		if n := len(out); row.IsLink() && n > 0 && out[n-1].cluster.Cluster == row.Cluster {
			out[n-1].links = append(out[n-1].links, row)
		} else if row.IsLink() {
			out = append(out, group{Row{Standing: report.Standing{Cluster: row.Cluster}}, []Row{row}}) // of a cluster that is no longer known
		} else {
			out = append(out, group{cluster: row})
		}
	}
	return out
}

func (g group) done() bool {
	return g.cluster.done() && !slices.ContainsFunc(g.links, func(r Row) bool { return !r.done() })
}

// status is that of the cluster, or of its links if it has nothing to say itself.
func (g group) status() report.Status {
	is, open := g.cluster.Status, g.open()
	switch {
	case is != "" && is != report.Ready:
		return is
	case !g.cluster.Asked.IsZero():
		return report.Progressing
	case len(open) > 0:
		return open[0].Status
	}
	return is
}

// open are the links that are not done, the worst first.
func (g group) open() []Row {
	open := slices.DeleteFunc(slices.Clone(g.links), Row.done)
	slices.SortStableFunc(open, worst)
	return open
}

// head is the line of the cluster.
func (g group) head(v View, now time.Time) line {
	c, is := g.cluster, g.status()
	l := line{{is.Symbol() + " ", is}, {text: string(c.Cluster)}}
	switch {
	case v.silent(c, now):
		l = append(l, span{text: "  does not answer, " + v.took(c, now)})
	case c.Status == "" && !c.Asked.IsZero() && c.Read:
		l = append(l, span{text: "  is being reconciled"})
	case c.Status == "" && !c.Asked.IsZero():
		l = append(l, span{text: "  is being read"})
	case c.Status == "" && c.Read:
		l = append(l, span{text: "  waits for the other clusters"})
	}
	if n := len(g.links); n > 0 {
		l = append(l, span{text: "  " + counted(g.links)})
	}
	if c.Written+c.Failed > 0 {
		l = append(l, span{text: fmt.Sprintf("  %d written", c.Written)})
	}
	if c.Failed > 0 {
		l = append(l, span{fmt.Sprintf(", %d failed", c.Failed), report.Denied})
	}
	if c.Status != "" && c.Status != report.Ready {
		l = append(l, span{text: "  "}, span{string(c.Status), c.Status}, span{text: "  " + sentence(c)})
	}
	return l
}

// counted is how many of the links are done.
func counted(links []Row) string {
	done := 0
	for _, r := range links {
		if r.done() {
			done++
		}
	}
	if done == len(links) && done == 1 {
		return "1 link"
	} else if done == len(links) {
		return fmt.Sprintf("%d links", done)
	}
	return fmt.Sprintf("%d/%d links", done, len(links))
}

// below are the lines of the links that are not done.
func (g group) below(v View, now time.Time) (out []line) {
	open := g.open()
	for i, r := range open {
		branch := "├ "
		if i == len(open)-1 {
			branch = "└ "
		}
		l := line{{text: branch}, {r.Status.Symbol() + " ", r.Status}, {text: r.Link.String() + "  "}, {string(r.Status), r.Status}}
		if v.waits(r) {
			l = append(l, span{text: "  " + v.took(r, now)})
		}
		out = append(out, append(l, span{text: "  " + sentence(r)}))
	}
	return out
}

// render cuts a line to a width, and paints it.
func (l line) render(width int, colours bool) string {
	var b strings.Builder
	left := max(width, 1)
	total := 0
	for _, s := range l {
		total += utf8.RuneCountInString(s.text)
	}
	if total > left {
		left-- // for the ellipsis
	}
	for _, s := range l {
		text := []rune(s.text)
		text = text[:min(len(text), left)]
		if left -= len(text); colours {
			b.WriteString(s.status.Painted(string(text)))
		} else {
			b.WriteString(string(text))
		}
	}
	if total > width {
		b.WriteString("…")
	}
	return strings.TrimRight(b.String(), " ")
}
