package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/sync/report/output"
)

func (d document) markdown() string {
	rows, shown := [][]string{{"link", "status", "message"}}, shownOnce{}
	for _, l := range d.notable() {
		rows = append(rows, []string{l.pair(), l.words(), shown.message(l.Status, l.Reason)})
	}
	closed := [][]string{{"cluster", "status", "message"}}
	blocks := []string{"### linkwright: " + cell(d.sum()) + "\n", d.problemList(), markdownTable(rows)}
	for _, c := range d.clusters {
		closed = append(closed, c.notes(shown)...)
	}
	blocks = append(blocks, markdownTable(closed), d.pendingTable())
	for _, c := range d.clusters {
		blocks = append(blocks, c.markdown(d.ReadOnly))
	}
	return paragraphs(blocks...)
}

func (d document) problemList() string {
	var b strings.Builder
	if d.Error != "" {
		fmt.Fprintln(&b, "- error:", cell(d.Error))
	}
	return b.String() + listed(d.shownProblems())
}

func listed(problems []output.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintln(&b, "-", cell(problemLine(p)))
	}
	return b.String()
}

func (c clusterDoc) markdown(readOnly bool) string {
	if len(c.Written)+len(c.Planned) == 0 {
		return ""
	}
	rows := [][]string{{"action", "object", "why"}}
	for _, w := range slices.Concat(c.Written, c.Planned) {
		why := w.Reason.Message
		if w.Error != "" {
			why = "failed: " + w.Error
		}
		rows = append(rows, strings.Split(writeRow(w, why), "\t"))
	}
	return details(cell(c.head(readOnly)), markdownTable(rows))
}

// details is what is read only when it is opened. The summary is markup already.
func details(summary, body string) string {
	return "<details><summary>" + summary + "</summary>\n\n" + body + "\n</details>\n"
}

// markdownTable makes a table of cells, the first row being its head; without rows there is none.
func markdownTable(rows [][]string) string {
	if len(rows) < 2 {
		return ""
	}
	var b strings.Builder
	for i, r := range rows {
		for _, c := range r {
			b.WriteString("| " + cell(c) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(r)) + "|\n")
		}
	}
	return b.String()
}

// cell is a text inside Markdown: nothing in it is markup, mentions anybody, or ends a cell of a table.
func cell(s string) string {
	var b strings.Builder
	for _, r := range line(s) {
		switch {
		case r == '@':
			b.WriteString("&#64;\u200b") // a reference alone would still be read as a mention
		case strings.ContainsRune("&<>|`*_[]\\~#", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// fenced is a block of code that nothing inside it can end.
func fenced(language, code string) string {
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	return fence + language + "\n" + code + fence + "\n"
}
