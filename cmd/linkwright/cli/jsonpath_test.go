package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/report/output"
)

func TestTemplates(t *testing.T) {
	links := output.List[output.Link]{TypeMeta: output.Of(output.KindLinkList), Items: []output.Link{
		{Source: "west", Target: "east", Ready: "True", Conditions: nil}, {Source: "a", Target: "b\x1b[31m", Ready: "False"},
	}}
	list := report.Plain(links, "")
	for format, want := range map[report.Format]string{
		`jsonpath={.kind}`: "LinkList",
		`jsonpath={range .items[*]}{.source}{"\t"}{.target}{"\n"}{end}`: "west\teast\na\tb[31m\n",
		`jsonpath={.items[?(@.ready=="False")].source}`:                 "a",
		`jsonpath={.nothing}`: "",
		`jsonpath={.items[0].source}{"\n::error::x\n"}{"##["}`:  "west\n: :error::x\n# #[",
		`custom-columns=FROM:.source,TO:{.target},C:conditions`: "FROM  TO     C\nwest  east   <none>\na     b[31m  <none>\n",
	} {
		var out strings.Builder
		if err := Write(&out, format, list); err != nil || out.String() != want {
			t.Errorf("%s: %v, %q, want %q", format, err, out.String(), want)
		}
	}
}

// The error of a report that the log has is not written again. What the log does not have is.
func TestLogged(t *testing.T) {
	failed, with := errors.New("read repository: no route"), report.Report{Err: "read repository: no route"}
	interrupted := fmt.Errorf("%w: signal", sync.ErrInterrupted)
	for name, tt := range map[string]struct {
		report report.Report
		err    error
		want   bool
	}{
		"the report's own": {with, failed, true},
		"another":          {report.Report{}, failed, false},
		"after a signal":   {report.Report{Err: interrupted.Error()}, interrupted, false},
		"none":             {with, nil, false},
	} {
		verdict := Verdict(tt.report, logged(tt.report, tt.err))
		if _, is := errors.AsType[Logged](verdict); is != tt.want || tt.err != nil && !errors.Is(verdict, tt.err) {
			t.Errorf("%s: %v, logged %t", name, verdict, is)
		}
	}
}

// A terminal leaves out an error only if the answer that was written has it.
func TestShownVerdict(t *testing.T) {
	failed, with := errors.New("read repository: no route"), report.Report{Err: "read repository: no route"}
	for format, want := range map[report.Format]bool{
		report.Text: true, report.JSON: true, "table": true, "jsonpath={.summary.written}": false, "custom-columns=A:.summary": false,
	} {
		exit, ok := errors.AsType[Exit](ShownVerdict(format, with, failed))
		if !ok || exit.Code != ExitError || exit.Shown != want {
			t.Errorf("-o %s: %+v, want shown %t", format, exit, want)
		}
	}
	if exit, _ := errors.AsType[Exit](ShownVerdict(report.Text, report.Report{}, failed)); exit.Shown {
		t.Error("a report without the error shows it")
	}
	if exit, _ := errors.AsType[Exit](Verdict(with, failed)); exit.Shown || exit.Err == nil {
		t.Errorf("a report that was not written shows the error: %+v", exit)
	}
	if err := ShownVerdict(report.Text, report.Report{}, nil); err != nil {
		t.Errorf("all is well: %v", err)
	}
}

func TestWrongTemplates(t *testing.T) {
	for word, want := range map[string]string{
		"jsonpath": `format "jsonpath": want text`, "jsonpath=": "want text", "json=x": "want text", "jsonpath={.a": "unclosed action", "custom-columns=A": "want HEADER:PATH",
		"custom-columns=A:": "want HEADER:PATH", "custom-columns=A:.b,:.c": "want HEADER:PATH", "custom-columns=A:{.b": `"{.b" is no path`, "custom-columns=A:.b[": "unterminated array",
	} {
		f := Format{among: report.Formats()}
		if err := f.Set(word); err == nil || !strings.Contains(err.Error(), want) || f.Format != "" {
			t.Errorf("-o %s: %v, want %s", word, err, want)
		}
	}
}
