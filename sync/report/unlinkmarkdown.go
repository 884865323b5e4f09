package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/linkwright/linkwright/object"
)

// mostRows is how many links one table of a comment has.
const mostRows = 100

// markdown says what is removed. If that is too long for a comment, it names fewer mirrors, then none, and at last fewer links.
func (all unlinkDocs) markdown(limit int) string {
	return fit(limit, "More links are removed: a comment has no room for them.\n", func(most int) string {
		var blocks []string
		for _, g := range all.groups() {
			blocks = append(blocks, g.markdown(most))
		}
		return paragraphs(blocks...)
	}, mostNames, 3, 0)
}

// fit is the first of some texts, each with fewer names than the one before, that has at most limit characters. If none has, it is the lines of the
// last that fit, and what says that there is more.
func fit(limit int, more string, text func(most int) string, most ...int) string {
	last := ""
	for _, n := range most {
		if last = text(n); utf8.RuneCountInString(last) <= limit {
			return last
		}
	}
	cut := string([]rune(last)[:limit])
	return cut[:strings.LastIndex(cut, "\n")+1] + "\n" + more
}

func (g unlinkGroup) markdown(most int) string {
	blocks := []string{"**" + cell(g.head()) + "**\n", paragraph(sentence(g.unlinkDocs[0].Stopped)), paragraph(g.pairs())}
	rows := [][]string{{"link", "mirror Services now"}}
	for i, r := range g.mirrors(most) {
		if i == mostRows {
			rows = append(rows, []string{object.Count(len(g.unlinkDocs)-i, "more link"), ""})
			break
		}
		rows = append(rows, r)
	}
	blocks = append(blocks, markdownTable(rows), paragraph(g.lead()))
	var steps strings.Builder
	for i, s := range g.steps(most) {
		fmt.Fprintf(&steps, "%d. %s\n", i+1, cell(s))
	}
	return paragraphs(append(blocks, steps.String(), paragraph(g.unlinkDocs[0].closing()))...)
}

// paragraph is a text as a paragraph of Markdown; empty for no text.
func paragraph(text string) string {
	if text == "" {
		return ""
	}
	return cell(text) + "\n"
}
