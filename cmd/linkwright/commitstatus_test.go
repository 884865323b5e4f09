package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/forge"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

const (
	head   = api.Commit("1111111111111111111111111111111111111111")
	before = api.Commit("2222222222222222222222222222222222222222")
	canary = "canary-3b7e"
)

// reportOf is a report of a link from west to east whose ends have these phases.
func reportOf(source, target plan.Phase, change func(*report.Report)) report.Report {
	pair := api.Pair{Source: "west", Target: "east"}
	cluster := func(name api.ClusterName, s plan.Phase) report.Cluster {
		row := plan.Row{End: object.End{Cluster: name, Link: pair}, Phase: s, Why: object.Because("Why", "%s", canary)}
		return report.Cluster{Name: name, Step: plan.Step{Cluster: name, Rows: []plan.Row{row}}}
	}
	r := report.Report{Head: head, Commit: head, Clusters: []report.Cluster{cluster("east", target), cluster("west", source)}}
	if change != nil {
		change(&r)
	}
	return r
}

func TestStanding(t *testing.T) {
	const both = "2 clusters, 1 link: "
	write := object.Change{Action: object.Update}
	invalid := []api.Problem{{Message: canary}, {Message: canary}, {Message: canary, Warning: true}}
	for what, tt := range map[string]struct {
		report report.Report
		state  forge.State
		text   string
	}{
		"all is well":                    {reportOf(plan.Ready, plan.Ready, nil), forge.Success, both + "1 Ready"},
		"a warning":                      {reportOf(plan.Ready, plan.Ready, func(r *report.Report) { r.Problems = invalid[2:] }), forge.Success, both + "1 Ready"},
		"no head, as of a report of old": {reportOf(plan.Ready, plan.Ready, func(r *report.Report) { r.Head = "" }), forge.Success, both + "1 Ready"},
		"suspended":                      {reportOf(plan.Suspended, plan.Ready, nil), forge.Success, both + "1 Suspended"},
		"waiting":                        {reportOf(plan.Waiting, plan.Ready, nil), forge.Pending, both + "1 Progressing"},
		"changing":                       {reportOf(plan.Ready, plan.Changing, func(r *report.Report) { r.Clusters[0].Step.Rows[0].Why = nil }), forge.Pending, both + "1 Progressing"},
		"planned, not by us":             {reportOf(plan.Ready, plan.Ready, func(r *report.Report) { r.Clusters[0].Step.Ahead = []object.Change{write} }), forge.Pending, both + "1 Ready"},
		"written": {reportOf(plan.Ready, plan.Ready, func(r *report.Report) {
			r.Clusters[0].Step.Ahead, r.Clusters[0].Outcomes = []object.Change{write}, []object.Outcome{{Change: write}}
		}), forge.Success, both + "1 Ready"},
		"held":    {reportOf(plan.Blocked, plan.Waiting, nil), forge.Failure, both + "1 Blocked"},
		"refused": {reportOf(plan.Ready, plan.Denied, nil), forge.Failure, both + "1 Denied"},
		"a write failed": {reportOf(plan.Ready, plan.Changing, func(r *report.Report) {
			r.Clusters[0].Outcomes = []object.Outcome{{Change: write, Err: errors.New(canary)}}
		}), forge.Failure, both + "1 Stalled; 1 write failed"},
		"a cluster is down": {reportOf(plan.Ready, plan.Ready, func(r *report.Report) {
			r.Clusters[0].Step.Denied = object.Because(reason.Unreachable, canary)
		}), forge.Failure, both + "1 Ready; 1 cluster Unknown"},
		"a cluster is not to be written": {reportOf(plan.Ready, plan.Ready, func(r *report.Report) {
			r.Clusters[0].Step.Denied = object.Because(reason.DuplicateCluster, canary)
		}), forge.Failure, both + "1 Ready; 1 cluster Denied"},
		"a cluster without a turn": {reportOf(plan.Ready, plan.Ready, func(r *report.Report) { r.Clusters[0].Step = plan.Step{} }), forge.Failure, both + "1 Unknown; 1 cluster Unknown"},
		"an invalid head": {reportOf(plan.Ready, plan.Ready, func(r *report.Report) {
			r.Commit, r.Problems, r.Err = before, invalid, canary
		}), forge.Failure, "not applied: 2 errors in the declarations; the applied revision is 222222222222"},
		"the first head is invalid": {report.Report{Head: head, Problems: invalid[1:], Err: canary}, forge.Failure, "not applied: 1 error in the declarations"},
		"a head that is not trusted": {reportOf(plan.Ready, plan.Ready, func(r *report.Report) {
			r.Commit, r.Err = before, canary
		}), forge.Failure, "not applied: see linkwright's report; the applied revision is 222222222222"},
		"Git is down":         {reportOf(plan.Ready, plan.Ready, func(r *report.Report) { r.Err = canary }), forge.Error, "the last sync failed: see linkwright's report"},
		"nothing is declared": {report.Report{Head: head, Commit: head}, forge.Success, "0 clusters, 0 links"},
	} {
		state, text := commitSummary(tt.report)
		if state != tt.state || text != tt.text {
			t.Errorf("commitSummary(%s) = %s, %q; want %s, %q", what, state, text, tt.state, tt.text)
		}
	}
}

// However much there is to say, a forge takes it.
func TestCommitSummaryIsShort(t *testing.T) {
	r := report.Report{Head: head, Commit: head}
	for _, s := range []plan.Phase{plan.Ready, plan.Changing, plan.Waiting, plan.Suspended, plan.Blocked, plan.Denied, report.Unseen, plan.Removed} {
		for n := range 100 {
			name := api.ClusterName(fmt.Sprintf("%s-%d", s, n))
			end := object.End{Cluster: name, Link: api.Pair{Source: name, Target: "all"}}
			far := object.End{Cluster: "all", Link: end.Link} // in place of a second cluster of that standing
			r.Clusters = append(r.Clusters, report.Cluster{
				Name: name, Outcomes: []object.Outcome{{Change: object.Change{End: end}, Err: errors.New(canary)}},
				Step: plan.Step{Cluster: name, Denied: object.Because(reason.Unreachable, canary), Rows: []plan.Row{{End: end, Phase: s}, {End: far, Phase: s}}},
			})
		}
	}
	if _, text := commitSummary(r); utf8.RuneCountInString(text) != forge.MaxDescription || !strings.HasPrefix(text, "800 clusters, 800 links: 100 Ready") {
		t.Errorf("commitSummary: %d characters: %s", utf8.RuneCountInString(text), text)
	}
}

func TestStatusFlags(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const repo = "https://git.example.com/mesh/fleet.git"
	for what, tt := range map[string]struct {
		flags statusFlags
		repo  string
		words string // of the error; empty: none
	}{
		"nothing":               {statusFlags{}, repo, ""},
		"of the repository":     {statusFlags{kind: "gitea"}, repo, ""},
		"of ssh":                {statusFlags{kind: "gitea", tokenFile: token}, "git@git.example.com:mesh/fleet.git", ""},
		"without its kind":      {statusFlags{context: "x"}, repo, "needs --status"},
		"unknown":               {statusFlags{kind: "bitbucket"}, repo, "want one of github, gitlab, gitea"},
		"below a path":          {statusFlags{kind: "gitea", project: "mesh/fleet"}, "https://git.example.com/fleet.git", ""},
		"of git, named":         {statusFlags{kind: "gitea", url: "https://git.example.com/api/v1", tokenFile: token}, "http://git.example.com/mesh/fleet", ""},
		"no owner":              {statusFlags{kind: "gitea"}, "https://git.example.com/fleet.git", "give --status-url and --status-project"},
		"a token that is gone":  {statusFlags{kind: "gitea", tokenFile: token + ".gone"}, repo, "--status-token-file: open "},
		"a token that is none":  {statusFlags{kind: "gitea", tokenFile: empty}, repo, "is empty"},
		"of a directory":        {statusFlags{kind: "gitea"}, "/srv/fleet", "give --status-url and --status-project"},
		"elsewhere":             {statusFlags{kind: "gitea", url: "https://x.example.com/api/v1"}, repo, "give --status-token-file"},
		"elsewhere, with token": {statusFlags{kind: "gitea", url: "https://x.example.com/api/v1", tokenFile: token}, repo, ""},
		"another scheme":        {statusFlags{kind: "gitea", url: "http://git.example.com/api/v1"}, repo, "give --status-token-file"},
		"in the clear":          {statusFlags{kind: "gitea", url: "http://git.example.com/api/v1", tokenFile: token}, repo, "only over https"},
		"a page in no browser":  {statusFlags{kind: "gitea", target: "javascript:alert(1)"}, repo, "--status-target-url"},
		"no project":            {statusFlags{kind: "gitea", project: "fleet"}, repo, "want OWNER/REPO"},
	} {
		_, err := tt.flags.open(tt.repo, nil)
		var e cli.Exit
		if tt.words == "" && err != nil || tt.words != "" && (!errors.As(err, &e) || e.Code != cli.ExitUsage || !strings.Contains(err.Error(), tt.words)) {
			t.Errorf("open(%s): %v, want %q", what, err, tt.words)
		}
	}
}

// git is who Git would be.
type git struct {
	token     string
	noWay, no error
}

func (g git) API(context.Context) (*http.Client, error) { return http.DefaultClient, g.noWay }

func (g git) Token(_ context.Context, api string) (forge.Secret, error) {
	if api != statusAPI {
		return forge.Secret{}, errors.New("a token for another API: " + api)
	}
	return forge.NewSecret(g.token), g.no
}

const statusAPI = "https://git.example.com/api/v1"

func TestStatusAccess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	ask := func(s statusFlags, g git) (string, error) {
		_, token, err := s.access(g, statusAPI)(t.Context())
		return token.Reveal(), err
	}
	if got, err := ask(statusFlags{}, git{token: canary}); got != canary || err != nil {
		t.Errorf("of Git: %q, %v", got, err)
	}
	if _, err := ask(statusFlags{}, git{}); err == nil || !strings.Contains(err.Error(), "give --status-token-file") {
		t.Errorf("without any: %v", err)
	}
	for text, want := range map[string]string{"x\n": "x", "y": "y", " \n": ""} { // read anew
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ask(statusFlags{tokenFile: file}, git{token: canary, no: errors.New("Git's token is not asked for")})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("of a file %q: %q, %v", text, got, err)
		}
	}
	if _, err := ask(statusFlags{tokenFile: file}, git{noWay: errors.New("no CA")}); err == nil || err.Error() != "no CA" {
		t.Errorf("a way that cannot be had: %v", err)
	}
}

func TestStatusName(t *testing.T) {
	for _, tt := range []struct{ owner, flag, want string }{
		{"linkwright", "", "linkwright"}, {"eu", "", "linkwright/eu"}, {"eu", "mesh", "mesh"},
	} {
		at := statusPoster{flags: statusFlags{context: tt.flag, target: "https://g.example.com"}, owner: tt.owner, client: &forge.Client{}}
		got, ok := at.status(reportOf(plan.Ready, plan.Ready, nil))
		want := forge.Status{Commit: head, State: forge.Success, Description: "2 clusters, 1 link: 1 Ready", Context: tt.want, URL: "https://g.example.com"}
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("status of %s: %t -want +got\n%s", tt.owner, ok, diff)
		}
		if _, ok := at.status(report.Report{Err: "no route"}); ok {
			t.Error("a report about no commit has a status")
		}
	}
}
