package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report/output"
)

// Formats of a check, as `linkerd check` has them.
const (
	Table Format = "table" // every check
	Short Format = "short" // those that did not succeed
)

// CheckFormats are those of Check, the first being the default.
func CheckFormats() []Format { return withPrograms(Table, Short) }

// checks are an answer of check.
type checks struct{ output.Check }

// category is the checks of one cluster or link.
type category = output.CheckCategory

// Results of a check.
const (
	success = "success"
	warning = "warning"
	failure = "error"
)

// hints is where a stage is explained.
const hints = reason.Root + "docs/explanation/health.md#"

// CheckAnswer is a check of every cluster and of every stage of every link, in the manner of `linkerd check`; false: a check is an error.
func (r Report) CheckAnswer() (Answer, bool) {
	c := r.checks()
	return c.answer(), c.Success
}

func (c checks) answer() Answer {
	return Answer{Document: c.Check, texts: map[Format]func() string{
		Table: func() string { return c.table(false) },
		Short: func() string { return c.table(true) },
	}}
}

// Unchecked is the answer of check where there is no report: why.
func Unchecked(why error) Answer {
	return checks{output.Check{TypeMeta: output.Of(output.KindCheck), Categories: []category{{CategoryName: "linkwright", Checks: []output.OneCheck{
		{Description: "the repository and the clusters can be read", Error: line(why.Error()), Result: failure, Hint: hints + "check"},
	}}}}}.answer()
}

func (r Report) checks() checks {
	d := r.document()
	c := checks{output.Check{TypeMeta: output.Of(output.KindCheck), Success: true, Categories: []category{
		{CategoryName: "linkwright", Checks: []output.OneCheck{r.newestApplied(r.notApplied(d.Error))}},
	}}}
	for _, cl := range d.clusters {
		c.Categories = append(c.Categories, cl.checks())
	}
	for _, l := range d.links {
		c.Categories = append(c.Categories, l.checks())
	}
	for _, each := range c.Categories {
		for _, one := range each.Checks {
			c.Success = c.Success && one.Result != failure
		}
	}
	return c
}

// newestApplied checks that the newest revision is applied; wrong: why it is not. Nobody knows that if no cluster was read.
func (r Report) newestApplied(wrong string) output.OneCheck {
	const newest = "the newest revision is applied"
	read := func(c Cluster) bool { return c.Status() != Unknown }
	switch u := r.Uninstall(); {
	case wrong != "":
		return of(newest, wrong, failure)
	case u.begun():
		return of(newest, strings.TrimSpace(u.Line()), failure)
	case r.NeverApplied:
		return of(newest, nothingApplied, failure)
	case len(r.Clusters) > 0 && !slices.ContainsFunc(r.Clusters, read):
		return of(newest, "unknown: no cluster was read", warning)
	}
	return of(newest, notAppliedIn(r.Clusters, r.Head), warning)
}

// notAppliedIn names the clusters that have another revision than the newest one or none, and those that were not read; empty: there are none. A cluster
// that leaves or is suspended keeps the revision that it has. One in which nothing is to be written has none.
func notAppliedIn(clusters []Cluster, newest api.Commit) string {
	other := map[api.Commit][]string{}
	var unread, parts []string
	for _, c := range clusters {
		switch {
		case c.keepsRevision():
		case c.Status() == Unknown:
			unread = append(unread, string(c.Name))
		case c.Applied == "" && !c.lacksBase():
		case c.Applied != newest:
			other[c.Applied] = append(other[c.Applied], string(c.Name))
		}
	}
	for _, commit := range slices.Sorted(maps.Keys(other)) {
		what := "no revision is applied"
		if commit != "" {
			what = fmt.Sprintf("revision %s is applied", commit.Short())
		}
		parts = append(parts, nameFirst(other[commit])+": "+what)
	}
	if len(unread) > 0 {
		parts = append(parts, "unknown in clusters that were not read: "+nameFirst(unread))
	}
	return strings.Join(parts, "; ")
}

// lacksBase reports whether the cluster's base is declared and not as declared.
func (c Cluster) lacksBase() bool {
	return slices.ContainsFunc(c.Step.Rows, func(row plan.Row) bool {
		return row.End.IsBase() && row.Phase != plan.Ready && row.Phase != plan.Removed
	})
}

// keepsRevision reports whether a cluster is not brought to another revision: it leaves, or is suspended.
func (c Cluster) keepsRevision() bool {
	return c.Paused || slices.ContainsFunc(c.Step.Rows, func(row plan.Row) bool {
		return row.End.IsBase() && (row.Leaving || row.Phase == plan.Suspended)
	})
}

// nameFirst names the first clusters, and says how many more there are.
func nameFirst(names []string) string { return object.FirstNames(names, 3) }

// notApplied says why the newest revision is not applied, with the first error of its declarations.
func (r Report) notApplied(why string) string {
	first := First(r.Problems)
	if why == "" || first == "" {
		return why
	}
	invalid, rest, _ := strings.Cut(why, "; ") // why the applied revision cannot be read
	return strings.TrimSuffix(invalid+": "+redacting(bodiesOf(r)).line(first)+"; "+rest, "; ")
}

// of is a check that succeeded where there is nothing wrong.
func of(description, wrong, otherwise string) output.OneCheck {
	if wrong == "" {
		return output.OneCheck{Description: description, Result: success}
	}
	return output.OneCheck{Description: description, Error: wrong, Result: otherwise, Hint: hints + anchor(description)}
}

// anchor is that of a heading of the page.
func anchor(heading string) string {
	return strings.ReplaceAll(strings.ToLower(heading), " ", "-")
}

// checks of a cluster that was not read end there: nothing else of it is known.
func (c clusterDoc) checks() category {
	out := category{CategoryName: "linkwright: " + c.Name}
	if c.Status == string(Unknown) {
		out.Checks = append(out.Checks, of("cluster is read", sentence(c.Reason), failure))
		return out
	}
	allowed := ""
	if c.Status == string(Denied) {
		allowed = sentence(c.Reason)
	}
	out.Checks = append(out.Checks, of("cluster is read", "", failure), of("cluster may be written", allowed, failure))
	out.Checks = append(out.Checks, of("linkwright is confined", sentence(c.Unconfined), warning))
	if c.Base != nil {
		out.Checks = append(out.Checks, of("base is as declared", baseWords(c.Base)+": "+message(c.Base.Status, c.Base.Reason), severityOf(c.phase)))
	}
	if c.Rollout != nil {
		wrong := ""
		if !c.Rollout.Complete() {
			wrong = rolloutLine(*c.Rollout)
		}
		out.Checks = append(out.Checks, of("workloads run the current proxy", wrong, warning))
	}
	if len(c.Orphans) > 0 {
		out.Checks = append(out.Checks, of("there are no orphans", orphans(c.Cluster), warning))
	}
	return out
}

func (l linkDoc) checks() category {
	out := category{CategoryName: "linkwright: " + l.pair()}
	wrong := ""
	if l.phase != plan.Ready {
		wrong = strings.TrimSuffix(l.words()+": "+message(l.Status, l.Reason), ": ")
	}
	severity := severityOf(l.phase)
	if l.Leaving && l.Status == string(Stalled) {
		severity = failure
	}
	out.Checks = append(out.Checks, of("both ends are as declared", wrong, severity))
	for _, s := range l.Stages {
		switch s.State {
		case "passed":
			out.Checks = append(out.Checks, of(s.Name, sentence(s.Reason), warning))
		case "failed":
			out.Checks = append(out.Checks, of(s.Name, sentence(s.Reason), failure))
		case "unknown":
			out.Checks = append(out.Checks, of(s.Name, orUnknown(sentence(s.Reason)), warning))
		}
	}
	return out
}

func orUnknown(why string) string {
	if why == "" {
		return "unknown"
	}
	return why
}

// severityOf says how bad it is that something is not as declared.
func severityOf(p plan.Phase) string {
	switch p {
	case plan.Blocked, plan.Denied, Unseen:
		return failure
	}
	return warning
}

func (c checks) table(short bool) string {
	var b strings.Builder
	for _, each := range c.Categories {
		var lines []string
		for _, one := range each.Checks {
			if one.Result != success || !short {
				lines = append(lines, checkText(one))
			}
		}
		if len(lines) > 0 {
			fmt.Fprintf(&b, "%s\n%s\n%s\n", each.CategoryName, strings.Repeat("-", len([]rune(each.CategoryName))), strings.Join(lines, ""))
		}
	}
	b.WriteString("Status check results are " + mark(c.Success) + "\n")
	return b.String()
}

func mark(ok bool) string {
	if ok {
		return "√"
	}
	return "×"
}

func checkText(c output.OneCheck) string {
	sign := map[string]string{success: "√", warning: "‼", failure: "×"}[c.Result]
	if c.Result == success {
		return sign + " " + c.Description + "\n"
	}
	return fmt.Sprintf("%s %s\n    %s\n    see %s for hints\n", sign, c.Description, c.Error, c.Hint)
}
