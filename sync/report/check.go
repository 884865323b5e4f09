package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
)

// Formats of a check, as `linkerd check` has them.
const (
	Table Format = "table" // every check
	Short Format = "short" // those that did not succeed
)

// CheckFormats are those of Check, the first being the default.
func CheckFormats() []Format { return []Format{Table, Short, JSON} }

// checks is what `linkerd check` reads of an extension (linkerd2 pkg/healthcheck/healthcheck_output.go).
type checks struct {
	Success    bool       `json:"success"` // no check is an error
	Categories []category `json:"categories"`
}

type category struct {
	Name   string  `json:"categoryName"`
	Checks []check `json:"checks"`
}

type check struct {
	Description string `json:"description"`
	Hint        string `json:"hint,omitempty"`
	Error       string `json:"error,omitempty"` // of a warning, too
	Result      result `json:"result"`
}

type result string

const (
	success result = "success"
	warning result = "warning"
	failure result = "error"
)

// hints is where a stage is explained.
const hints = "https://github.com/linkwright/linkwright/blob/main/docs/explanation/health.md#"

// Check tells of every cluster and of every stage of every link, in the manner of `linkerd check`; false: a check is an error.
func (r Report) Check(w io.Writer, f Format) (bool, error) {
	c := r.checks()
	out, err := "", error(nil)
	if f == JSON {
		out, err = encoded(c)
	} else {
		out = painted(w, c.table(f == Short))
	}
	if err == nil {
		_, err = io.WriteString(w, out)
	}
	return c.Success, err
}

// Unchecked is what Check tells where there is no report: why.
func Unchecked(w io.Writer, f Format, why error) error {
	c := checks{Categories: []category{{Name: "linkwright", Checks: []check{
		{Description: "the repository and the clusters can be read", Error: line(why.Error()), Result: failure, Hint: hints + "check"},
	}}}}
	out := c.table(f == Short)
	if f == JSON {
		var err error
		if out, err = encoded(c); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, out)
	return err
}

func (r Report) checks() checks {
	d := r.document()
	c := checks{Success: true, Categories: []category{{Name: "linkwright", Checks: []check{of("the newest revision is applied", d.Error, failure)}}}}
	for _, cl := range d.Clusters {
		c.Categories = append(c.Categories, cl.checks())
	}
	for _, l := range d.Links {
		c.Categories = append(c.Categories, l.checks())
	}
	for _, each := range c.Categories {
		for _, one := range each.Checks {
			c.Success = c.Success && one.Result != failure
		}
	}
	return c
}

// of is a check that succeeded where there is nothing wrong.
func of(description, wrong string, otherwise result) check {
	if wrong == "" {
		return check{Description: description, Result: success}
	}
	return check{Description: description, Error: wrong, Result: otherwise, Hint: hints + anchor(description)}
}

// anchor is that of a heading of the page.
func anchor(heading string) string {
	return strings.ReplaceAll(strings.ToLower(heading), " ", "-")
}

func (c clusterDoc) checks() category {
	out := category{Name: "linkwright: " + c.Name}
	reached, allowed := "", ""
	switch c.Status {
	case Unknown:
		reached = sentence(c.Reason)
	case Denied:
		allowed = sentence(c.Reason)
	}
	out.Checks = append(out.Checks, of("cluster is read", reached, failure), of("cluster may be written", allowed, failure))
	out.Checks = append(out.Checks, of("linkwright is confined", sentence(c.Unconfined), warning))
	if c.Base != nil {
		out.Checks = append(out.Checks, of("base is as declared", c.Base.words()+": "+sentence(c.Base.Reason), severityOf(c.Base.phase)))
	}
	if len(c.Strays) > 0 {
		out.Checks = append(out.Checks, of("there are no orphans", c.strays(), warning))
	}
	return out
}

func (l linkDoc) checks() category {
	out := category{Name: "linkwright: " + l.pair()}
	wrong := ""
	if l.phase != plan.Ready {
		wrong = strings.TrimSuffix(l.words()+": "+sentence(l.Reason), ": ")
	}
	out.Checks = append(out.Checks, of("both ends are as declared", wrong, severityOf(l.phase)))
	for _, s := range l.Health {
		switch s.State {
		case "passed":
			out.Checks = append(out.Checks, of(s.Stage, sentence(s.Reason), warning))
		case "failed":
			out.Checks = append(out.Checks, of(s.Stage, sentence(s.Reason), failure))
		case "unknown":
			out.Checks = append(out.Checks, of(s.Stage, orUnknown(sentence(s.Reason)), warning))
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
func severityOf(p plan.Phase) result {
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
				lines = append(lines, one.text())
			}
		}
		if len(lines) > 0 {
			fmt.Fprintf(&b, "%s\n%s\n%s\n", each.Name, strings.Repeat("-", len([]rune(each.Name))), strings.Join(lines, ""))
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

func (c check) text() string {
	sign := map[result]string{success: "√", warning: "‼", failure: "×"}[c.Result]
	if c.Result == success {
		return sign + " " + c.Description + "\n"
	}
	return fmt.Sprintf("%s %s\n    %s\n    see %s for hints\n", sign, c.Description, c.Error, c.Hint)
}

// stageDoc is how a stage of a link stands.
type stageDoc struct {
	Stage  string         `json:"stage"`
	State  string         `json:"state"` // passed, failed, unknown or not asked
	Reason *object.Reason `json:"reason,omitempty"`
}

func stageDocs(m mask, row plan.Row) []stageDoc {
	out := make([]stageDoc, 0, len(row.Health))
	for _, v := range row.Health {
		out = append(out, stageDoc{v.Stage.String(), v.Passing.String(), m.reason(v.Why)})
	}
	return out
}
