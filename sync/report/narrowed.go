package report

import (
	"fmt"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report/output"
)

// narrowedOf: reasons are redacted.
func narrowedOf(m mask, all []plan.Narrowing) []output.Narrowed {
	out := make([]output.Narrowed, len(all))
	for i, n := range all {
		n.Unread = m.reason(n.Unread)
		out[i] = output.Narrowed{
			Source: string(n.Link.Source), Target: string(n.Link.Target), Mirrors: mirrorsDocument(n.Mirrors), Lost: n.Lost,
			Message: narrowing(n),
		}
	}
	return out
}

// narrowing says which mirrors go.
func narrowing(n plan.Narrowing) string {
	head := fmt.Sprintf("The new selectors of link %s no longer choose some services: ", pair(string(n.Link.Source), string(n.Link.Target)))
	mirrors := object.Count(len(n.Services)+len(n.Federated), "mirror Service")
	switch {
	case n.Known && len(n.Lost) == 0:
		return head + fmt.Sprintf("none of the %s in %s goes.", mirrors, n.Link.Source)
	case n.Known:
		return head + fmt.Sprintf("Linkerd's controller deletes up to %d of the %s in %s%s.", len(n.Lost), mirrors, n.Link.Source, list(n.Lost, mostNames))
	case n.Unread != nil:
		return head + "the number of mirror Services that go is not known: " + sentence(n.Unread)
	}
	return head + fmt.Sprintf("Linkerd's controller deletes their mirror Services in %s. No cluster was read, so the number of these is not known.", n.Link.Source)
}

// narrowedText is a line for each link.
func (d diffDoc) narrowedText() (lines string) {
	for _, n := range d.Narrowed {
		lines += n.Message + "\n"
	}
	return lines
}

// narrowedMarkdown is a list of the links.
func (d diffDoc) narrowedMarkdown() (lines string) {
	for i, n := range d.Narrowed {
		if i == mostNames {
			return lines + "- " + object.Count(len(d.Narrowed)-i, "more link") + " like these\n"
		}
		lines += "- " + cell(n.Message) + "\n"
	}
	return lines
}
