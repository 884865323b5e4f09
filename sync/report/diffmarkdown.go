package report

import (
	"strings"
	"unicode/utf8"

	"github.com/linkwright/linkwright/object"
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
	head := paragraphs("### linkwright: "+cell(d.sum())+"\n", listed(beside(d.Problems)), d.created.markdown(room/8), d.unlinks.markdown(room/2), d.narrowedMarkdown(),
		markdownTable(rows), markdownTable(ends), d.followingMarkdown())
	return paragraphs(head, d.blocks(room-utf8.RuneCountInString(head)))
}

// blocks gives a block for each object that is written, and one for objects that are deleted together, as many as there is room for: a comment
// that is too long is refused whole.
func (d diffDoc) blocks(left int) string {
	var blocks []string
	omitted := 0
	for _, c := range d.clusters {
		for _, all := range alike(c.objects) {
			b := all.block(c.Name)
			if left -= utf8.RuneCountInString(b) + 1; left < 0 || omitted > 0 {
				omitted += len(all)
				continue
			}
			blocks = append(blocks, b)
		}
	}
	if omitted > 0 {
		blocks = append(blocks, object.Count(omitted, "more object")+" not shown: a comment has no room for them.\n")
	}
	return paragraphs(blocks...)
}

// block is what is read of objects once it is opened.
func (all alikeObjects) block(cluster string) string {
	o := all[0]
	what, body := o.verb()+" "+o.Object.String(), ""
	switch {
	case o.named():
		what, body = o.verb()+" "+object.Count(len(all), "object"), all.names(cell)
	case o.patch != "":
		body = fenced("diff", o.seen())
	case o.seen() != "":
		body = cell(o.seen()) + "\n"
	}
	why := cell(sentence(o.Reason))
	if why != "" {
		why += "\n"
	}
	return details("<b>"+cell(cluster)+"</b>: "+cell(what), paragraphs(why, body))
}
