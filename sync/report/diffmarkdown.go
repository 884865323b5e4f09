package report

import (
	"strings"
	"unicode/utf8"
)

// room is how long a comment may get; GitHub takes 65,536 characters, GitLab more.
const room = 60_000

func (d diffDoc) markdown() string {
	rows := [][]string{{"cluster", "changes"}}
	ends := [][]string{{"cluster", "link", "status", "reason"}}
	for _, c := range d.clusters {
		if !c.notable() {
			continue
		}
		_, said, _ := strings.Cut(c.head(), ": ")
		rows = append(rows, []string{c.Name, said})
		for _, r := range c.notReady() {
			ends = append(ends, append([]string{c.Name}, r...))
		}
	}
	head := paragraphs("### linkwright: "+cell(d.sum())+"\n", listed(beside(d.Problems)), markdownTable(rows), markdownTable(ends))
	return paragraphs(head, d.blocks(room-utf8.RuneCountInString(head)))
}

// blocks gives one block an object, as many as there is room for: a comment that is too long is refused whole.
func (d diffDoc) blocks(left int) string {
	var blocks []string
	omitted := 0
	for _, c := range d.clusters {
		for _, o := range c.objects {
			b := o.block(c.Name)
			if left -= utf8.RuneCountInString(b) + 1; left < 0 || omitted > 0 {
				omitted++
				continue
			}
			blocks = append(blocks, b)
		}
	}
	if omitted > 0 {
		blocks = append(blocks, count(omitted, "more object")+" not shown: a comment has no room for them.\n")
	}
	return paragraphs(blocks...)
}

func (o objectDiffDoc) block(cluster string) string {
	seen := o.seen()
	switch {
	case o.patch != "":
		seen = fenced("diff", seen)
	case seen != "":
		seen = cell(seen) + "\n"
	}
	why := cell(sentence(o.Reason))
	if why != "" {
		why += "\n"
	}
	return details("<b>"+cell(cluster)+"</b>: "+cell(o.verb()+" "+o.Object.String()), paragraphs(why, seen))
}
