package report

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/plan"
)

// ailing is a report of a link whose gateway is dead, and of a cluster that cannot be read.
func ailing() Report {
	link := api.Pair{Source: "west", Target: "east"}
	end := func(c api.ClusterName, health ...health.Verdict) plan.Row {
		return plan.Row{End: object.End{Cluster: c, Link: link}, Phase: plan.Ready, Health: health}
	}
	return Report{Commit: "c", Clusters: []Cluster{
		{Name: "east", Step: plan.Step{Cluster: "east", Rows: []plan.Row{end("east")}}},
		{Name: "north", Step: plan.Step{Cluster: "north", Denied: object.Because(reason.Unreachable, "no route")}},
		{Name: "west", Step: plan.Step{Cluster: "west", Rows: []plan.Row{end(
			"west",
			health.Verdict{Stage: health.EndRenders, Result: health.Passed},
			health.Verdict{Stage: health.Trusted, Result: health.Passed, Why: object.Because(reason.TrustAnchorsDiffer, "half rotated")},
			health.Verdict{Stage: health.CredentialVerified, Result: health.Unknown},
			health.Verdict{Stage: health.Gateway, Result: health.Failed, Why: object.Because(reason.GatewayNotAlive, "no\naddress is ready")},
			health.Verdict{Stage: health.Serving, Result: health.NotApplicable},
		)}}},
	}}
}

func checkedAs(t *testing.T, r Report, f Format) (string, bool) {
	t.Helper()
	var b strings.Builder
	a, ok := r.CheckAnswer()
	if err := a.Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String(), ok
}

func TestCheck(t *testing.T) {
	const want = `linkwright
----------
‼ the newest revision is applied
    unknown in clusters that were not read: north
    see https://github.com/linkwright/linkwright/blob/main/docs/explanation/health.md#the-newest-revision-is-applied for hints

linkwright: north
-----------------
× cluster is read
    Unreachable: no route
    see https://github.com/linkwright/linkwright/blob/main/docs/explanation/health.md#cluster-is-read for hints

linkwright: west→east
---------------------
‼ trust anchors shared
    TrustAnchorsDiffer: half rotated
    see https://github.com/linkwright/linkwright/blob/main/docs/explanation/health.md#trust-anchors-shared for hints
‼ access works
    unknown
    see https://github.com/linkwright/linkwright/blob/main/docs/explanation/health.md#access-works for hints
× gateway alive
    GatewayNotAlive: no; address is ready
    see https://github.com/linkwright/linkwright/blob/main/docs/explanation/health.md#gateway-alive for hints

Status check results are ×
`
	got, ok := checkedAs(t, ailing(), Short)
	if diff := cmp.Diff(want, got); diff != "" || ok {
		t.Errorf("Check(short): %v, -want +got\n%s", ok, diff)
	}
	whole, _ := checkedAs(t, ailing(), Table)
	for _, line := range []string{"√ renders\n", "√ both ends are as declared\n", "√ cluster may be written\n", "‼ the newest revision is applied\n    unknown in clusters that were not read: north\n"} {
		if !strings.Contains(whole, line) {
			t.Errorf("Check(table) has no %q:\n%s", line, whole)
		}
	}
	if strings.Contains(whole, "mirrors have endpoints") {
		t.Errorf("Check(table) tells of what was not asked:\n%s", whole)
	}
}

// Nobody knows which revision is applied if no cluster was read.
func TestCheckUnread(t *testing.T) {
	r := ailing()
	r.Clusters = r.Clusters[1:2]
	got, ok := checkedAs(t, r, Table)
	if !strings.Contains(got, "‼ the newest revision is applied\n    unknown: no cluster was read\n") || ok {
		t.Errorf("Check(table): %v\n%s", ok, got)
	}
}

// Clusters with another revision are named, at most three of each, unless they keep it: they leave, or are suspended.
func TestCheckOtherRevision(t *testing.T) {
	base := func(name api.ClusterName, phase plan.Phase, leaving bool) plan.Step {
		return plan.Step{Cluster: name, Rows: []plan.Row{{End: object.End{Cluster: name}, Phase: phase, Leaving: leaving}}}
	}
	r := Report{Head: "b", Commit: "b", Clusters: []Cluster{
		{Name: "east", Applied: "b", Step: plan.Step{Cluster: "east"}},
		{Name: "leaving", Applied: "a", Step: base("leaving", plan.Waiting, true)},
		{Name: "new", Step: plan.Step{Cluster: "new"}},
		{Name: "paused", Applied: "a", Paused: true, Step: plan.Step{Cluster: "paused"}},
		{Name: "suspended", Applied: "a", Step: base("suspended", plan.Suspended, false)},
	}}
	if got, _ := checkedAs(t, r, Table); !strings.Contains(got, "√ the newest revision is applied\n") {
		t.Errorf("Check(table):\n%s", got)
	}
	for _, name := range []api.ClusterName{"w1", "w2", "w3", "w4"} {
		r.Clusters = append(r.Clusters, Cluster{Name: name, Applied: "a", Step: plan.Step{Cluster: name}})
	}
	if got, _ := checkedAs(t, r, Table); !strings.Contains(got, "‼ the newest revision is applied\n    w1, w2, w3 and 1 more: revision a is applied\n") {
		t.Errorf("Check(table):\n%s", got)
	}
	denied := base("denied", plan.Denied, false)
	denied.Denied = object.Because(reason.ClusterUIDMissing, "no")
	r.Clusters = append(r.Clusters[:1], Cluster{Name: "denied", Step: denied}, Cluster{Name: "new", Step: base("new", plan.Changing, false)})
	if got, _ := checkedAs(t, r, Table); !strings.Contains(got, "‼ the newest revision is applied\n    denied, new: no revision is applied\n") {
		t.Errorf("Check(table):\n%s", got)
	}
}

// An uninstall that has not ended is a failure, and hides no error of the declarations.
func TestCheckUninstall(t *testing.T) {
	r := Report{Head: "b", Commit: "b", Clusters: []Cluster{{Name: "east", Applied: "b", Step: plan.Step{Cluster: "east"}}}}
	r.Opening = &Opening{Revision: Revision{Uninstall: Uninstall{Since: time.Unix(0, 0), Command: "linkwright uninstall --yes"}}}
	for err, want := range map[string]string{
		"":                             "× the newest revision is applied\n    An uninstall began at ",
		"the declarations are invalid": "× the newest revision is applied\n    the declarations are invalid\n",
	} {
		r.Err = err
		if got, ok := checkedAs(t, r, Short); ok || !strings.Contains(got, want) {
			t.Errorf("%q: Check(short): %t\n%s", err, ok, got)
		}
	}
}

// The keys are those that `linkerd check` reads.
func TestCheckJSON(t *testing.T) {
	raw, ok := checkedAs(t, ailing(), JSON)
	var got struct {
		Success    *bool
		Categories []struct {
			CategoryName string
			Checks       []struct{ Description, Hint, Error, Result string }
		}
	}
	if err := json.Unmarshal([]byte(raw), &got); err != nil || got.Success == nil || *got.Success != ok {
		t.Fatalf("Check(json): %v\n%s", err, raw)
	}
	results := map[string]int{}
	for _, c := range got.Categories {
		for _, one := range c.Checks {
			results[one.Result]++
			if (one.Error != "") != (one.Result != "success") || c.CategoryName == "" || one.Description == "" {
				t.Errorf("%s: %+v", c.CategoryName, one)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"success": 8, "warning": 3, "error": 2}, results); diff != "" {
		t.Errorf("results: -want +got\n%s", diff)
	}
}

func TestUnchecked(t *testing.T) {
	var b strings.Builder
	if err := Unchecked(errors.New("no repository")).Write(&b, JSON); err != nil || !strings.Contains(b.String(), `"success": false`) || !strings.Contains(b.String(), "no repository") {
		t.Errorf("Unchecked: %v\n%s", err, b.String())
	}
}

// A revision that is not applied because it is invalid: the first error says where.
func TestCheckInvalid(t *testing.T) {
	problems := []api.Problem{{Warning: true, Message: "w"}, {Pos: api.Pos{File: "a.yaml", Line: 3, Col: 2}, Message: "x"}, {Message: "y"}}
	for err, want := range map[string]string{
		"the declarations are invalid":                      "× the newest revision is applied\n    the declarations are invalid: a.yaml:3:2: x (and 1 more error: run linkwright validate --repo URL)\n",
		"the declarations are invalid\nread the record: no": "× the newest revision is applied\n    the declarations are invalid: a.yaml:3:2: x (and 1 more error: run linkwright validate --repo URL); read the record: no\n",
	} {
		if got, ok := checkedAs(t, Report{Head: "b", Err: err, Problems: problems}, Short); ok || !strings.Contains(got, want) {
			t.Errorf("Check: got %q, want %q", got, want)
		}
	}
}
