package report

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// A text says once which error of the declarations keeps a revision from being applied, and lists the others.
func TestStatusSaysAnErrorOnce(t *testing.T) {
	one := api.Problem{Pos: api.Pos{File: "a.yaml", Line: 3, Col: 1}, Message: "spec.taget: unknown field"}
	other := api.Problem{Pos: api.Pos{File: "b.yaml", Line: 1, Col: 1}, Message: "y"}
	for _, tt := range []struct {
		problems []api.Problem
		err      string
		left     string
	}{
		{[]api.Problem{one}, "the declarations are invalid", ""},
		{[]api.Problem{one, other}, "the declarations are invalid", "b.yaml:1:1: y\n"},
		{[]api.Problem{one}, "the declarations are invalid\nread the record: no", "error: read the record: no\n"},
	} {
		r := Report{Commit: "a", Head: "b", Err: tt.err, Problems: tt.problems, Installation: Installation{Opening: &Opening{
			Revision: Revision{Applied: "a", Observed: "b", Why: object.Because(reason.InvalidDeclarations, "%s", First(tt.problems))},
		}}}
		var b strings.Builder
		if err := r.StatusAnswer().Write(&b, Text); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if strings.Count(got, "spec.taget") != 1 || strings.Contains(got, "error: the declarations") || !strings.Contains(got, tt.left) {
			t.Errorf("%d problems, %s:\n%s", len(tt.problems), tt.err, got)
		}
	}
}

// What describe shows without a repository says which observed revision is not applied, and why.
func TestDescribeSaysWhatIsNotApplied(t *testing.T) {
	o := everything()
	link, _ := o.LinkAnswer(api.Pair{Source: "west", Target: "east"})
	cluster, _ := o.ClusterAnswer("west")
	for _, answer := range []Answer{link, cluster} {
		if got, want := writtenAs(t, answer, Text), "Observed:    fedcba987654"; !strings.Contains(strings.ReplaceAll(got, " ", ""), strings.ReplaceAll(want, " ", "")) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
}

// The events of a page repeat no long message: that of the link itself, or of an event above.
func TestDescribeShowsAMessageOnce(t *testing.T) {
	o := everything()
	long := "PruneDisabled: " + strings.Repeat("the Link has the annotation ", 9)
	for i, l := range o.Links {
		if l.Pair == (api.Pair{Source: "west", Target: "north"}) {
			for at := range l.Conditions {
				o.Links[i].Conditions[at].Message = long
			}
		}
	}
	link, _ := o.LinkAnswer(api.Pair{Source: "west", Target: "north"})
	got := writtenAs(t, link, Text)
	if strings.Count(got, strings.TrimSpace(long)) != 1 || !strings.Contains(got, "Stalled is True: see above") {
		t.Errorf("it shows a message more than once:\n%s", got)
	}
}
