package report

import (
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report/output"
)

// newLinks are links of which nothing is in their source yet.
type newLinks []plan.NewLink

func (all newLinks) documents() []output.CreatedLink {
	out := make([]output.CreatedLink, len(all))
	for i, n := range all {
		source, target := string(n.Link.Source), string(n.Link.Target)
		out[i] = output.CreatedLink{Source: source, Target: target, Message: newLinks{n}.head(1) + choice(n, source, target)}
	}
	return out
}

// head says which links are new, and names at most so many of them.
func (all newLinks) head(most int) string {
	names := make([]string, min(len(all), most))
	for i := range names {
		names[i] = pair(string(all[i].Link.Source), string(all[i].Link.Target))
	}
	if len(all) == 1 {
		return "Link " + names[0] + " is new. "
	}
	more := ""
	if n := len(all) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return object.Count(len(all), "link") + " are new: " + strings.Join(names, ", ") + more + ". "
}

// choice says what Linkerd does with the services of the target.
func choice(n plan.NewLink, source, target string) string {
	which := "services of " + target
	var does []string
	for _, c := range []struct{ labels, does string }{
		{n.Mirrored, "mirrors %s with %s"}, {n.Discovered, "mirrors %s with %s by remote discovery"}, {n.Federated, "adds %s with %s to federated Services"},
	} {
		if c.labels != "" {
			does = append(does, fmt.Sprintf(c.does, which, c.labels))
			which = "those"
		}
	}
	switch last := len(does) - 1; last {
	case -1:
		return "Its selectors choose no service."
	case 0:
		return line(fmt.Sprintf("Linkerd's controller in %s %s.", source, does[0]))
	default:
		return line(fmt.Sprintf("Linkerd's controller in %s %s, and %s.", source, strings.Join(does[:last], ", "), does[last]))
	}
}

// groups are links that choose alike.
func (all newLinks) groups() (out []newLinks) {
	at := map[string]int{}
	for _, n := range all {
		same := choice(n, "each source", "its target")
		i, known := at[same]
		if !known {
			i = len(out)
			at[same], out = i, append(out, nil)
		}
		out[i] = append(out[i], n)
	}
	return out
}

// texts are the sentences of each group, of which at most so many links are named.
func (all newLinks) texts(most int) (out []string) {
	for _, g := range all.groups() {
		if len(g) == 1 {
			out = append(out, g.documents()[0].Message)
			continue
		}
		out = append(out, g.head(most)+choice(g[0], "each source", "its target"))
	}
	return out
}

// text is a line for each group.
func (all newLinks) text() string {
	return strings.Join(append(all.texts(len(all)), ""), "\n")
}

// markdown is a paragraph for each group. What has no room is left out: the table of clusters has all that is written.
func (all newLinks) markdown(limit int) string {
	return fit(limit, "More links are new: a comment has no room for them.\n", func(most int) string {
		var blocks []string
		for _, text := range all.texts(most) {
			blocks = append(blocks, paragraph(text))
		}
		return paragraphs(blocks...)
	}, len(all), mostRows, mostNames)
}
