package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// DescribeLink shows all that a report has about a link: its status with what to do, both ends, its stages, and what is written or would
// be; false: the report has no such link.
func (r Report) DescribeLink(w io.Writer, p api.Pair) (bool, error) {
	d := r.document()
	for _, l := range d.Links {
		if l.Source == string(p.Source) && l.Target == string(p.Target) {
			_, err := io.WriteString(w, paragraphs(d.problems(), l.heading(d), l.ends(), l.stages(), d.writesOf(l)))
			return true, err
		}
	}
	return false, nil
}

// DescribeCluster shows all that a report has about a cluster: its status with what to do, its base, its links, and what is written or
// would be; false: the report has no such cluster.
func (r Report) DescribeCluster(w io.Writer, name api.ClusterName) (bool, error) {
	d := r.document()
	for _, c := range d.Clusters {
		if c.Name == string(name) {
			_, err := io.WriteString(w, paragraphs(d.problems(), c.heading(d), c.about(), d.linksOf(c.Name), c.told(d.ReadOnly)))
			return true, err
		}
	}
	return false, nil
}

func (l linkDoc) heading(d document) string {
	return fields("Link", l.Source+"/"+l.Target, "Status", l.words(), "Revision", d.Applied) + remedies(l.Reason)
}

func (c clusterDoc) heading(d document) string {
	return fields("Cluster", c.Name, "Status", string(c.Status), "Revision", d.Applied) + remedies(c.Reason)
}

// fields are lines of a name and a value each; those without a value are left out.
func fields(pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(&b, "%-12s%s\n", pairs[i]+":", pairs[i+1])
		}
	}
	return b.String()
}

// remedies are a reason, with what its table says about it.
func remedies(why *object.Reason) string {
	if why == nil {
		return ""
	}
	e, _ := reason.Find(why.Code)
	return fields("Reason", string(why.Code), "Message", why.Message, "Meaning", e.Plain(e.Meaning), "What to do", e.Plain(e.Remedy))
}

func (l linkDoc) ends() string {
	return table([][]string{
		{"end", "cluster", "status", "message"},
		{"source", l.Source, string(l.SourceEnd.Status), sentence(l.SourceEnd.Reason)},
		{"target", l.Target, string(l.TargetEnd.Status), sentence(l.TargetEnd.Reason)},
	})
}

func (l linkDoc) stages() string {
	rows := [][]string{{"stage", "state", "message"}}
	for _, s := range l.Health {
		rows = append(rows, []string{s.Stage, s.State, sentence(s.Reason)})
	}
	return table(rows)
}

// writesOf are the writes of a link, cluster by cluster, that were done, or would be.
func (d document) writesOf(l linkDoc) string {
	var blocks []string
	for _, c := range d.Clusters {
		c.Writes, c.Planned = c.of(l, c.Writes), c.of(l, c.Planned)
		blocks = append(blocks, c.told(d.ReadOnly))
	}
	return paragraphs(blocks...)
}

func (c clusterDoc) of(l linkDoc, all []writeDoc) (out []writeDoc) {
	for _, w := range all {
		if w.Source == l.Source && w.Target == l.Target {
			out = append(out, w)
		}
	}
	return out
}

// about is what a cluster has beside its links.
func (c clusterDoc) about() string {
	base, unconfined, orphans := "", "", ""
	if c.Base != nil {
		base = strings.TrimSuffix(words(c.Base.Status, c.Base.Leaving)+": "+sentence(c.Base.Reason), ": ")
	}
	if c.missesPolicies() {
		unconfined = sentence(c.Unconfined)
	}
	if len(c.Strays) > 0 {
		orphans = c.strays()
	}
	return fields("Base", base, "Unconfined", unconfined, "Orphans", orphans)
}

func (d document) linksOf(cluster string) string {
	others := func(l linkDoc) bool { return l.Source != cluster && l.Target != cluster }
	if text := table(linkRows(slices.DeleteFunc(slices.Clone(d.Links), others))); text != "" {
		return text
	}
	return "It has no links.\n"
}
