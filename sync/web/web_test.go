package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/leaks"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

func TestMain(m *testing.M) { os.Exit(leaks.Code(m.Run())) }

const canary = "canary-7f3a-not-to-be-seen"

// pass returns a report of one link in place and one held, one write done and one failed, and a cluster that is down.
func pass() report.Report {
	we, wn := api.Pair{Source: "west", Target: "east"}, api.Pair{Source: "west", Target: "north"}
	end := object.End{Cluster: "west", Link: we}
	secret := object.Change{End: end, Action: object.Create, Key: object.Key{Kind: "Secret", Namespace: "l5d", Name: "east"}}
	secret.Object.Body = object.NewBody([]byte(`{"kind":"Secret","stringData":{"kubeconfig":"` + canary + `"}}`))
	down := object.Because(reason.Unreachable, "no route")
	return report.Report{
		Commit: "0123", Head: "0123", Polled: time.Unix(1_700_000_000, 0), Took: 3 * time.Second, Problems: []api.Problem{{Warning: true, Message: "hm"}},
		Clusters: []report.Cluster{
			{Name: "east", Step: plan.Step{Cluster: "east", Rows: []plan.Row{{End: object.End{Cluster: "east", Link: we}, Phase: plan.Ready}}}},
			{Name: "north", Paused: true, Step: plan.Step{Cluster: "north", Denied: down, Rows: []plan.Row{{End: object.End{Cluster: "north", Link: wn}, Phase: plan.Blocked, Why: down}}}},
			{
				Name: "west", Outcomes: []object.Outcome{{Change: secret}, {Change: secret, Err: errors.New("invalid: " + canary)}},
				Step: plan.Step{Cluster: "west", Rows: []plan.Row{
					{End: end, Phase: plan.Ready, Health: []health.Verdict{{Stage: health.Reachable, Result: health.Passed}}, Times: plan.LinkTimes{
						Ready: time.Unix(1_500_000_000, 0), Credential: credential.Validity{Issued: time.Unix(1_600_000_000, 0), Expires: time.Unix(1_700_000_000, 0)},
					}},
					{End: object.End{Cluster: "west", Link: wn}, Phase: plan.Ready},
				}},
			},
		},
	}
}

func ask(s *Server, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func status(t *testing.T, s *Server, path string, want int) {
	t.Helper()
	if got := ask(s, http.MethodGet, path); got.Code != want || got.Body.Len() == 0 {
		t.Errorf("GET %s: %d %q, want %d and a sentence", path, got.Code, got.Body, want)
	}
}

func TestReport(t *testing.T) {
	s := New(Options{})
	status(t, s, "/", http.StatusNotFound)
	status(t, s, "/report.json", http.StatusNotFound)
	s.Publish(pass())
	for _, path := range []string{"/", "/report.json"} {
		got := ask(s, http.MethodGet, path)
		var doc struct {
			Revision string `json:"appliedRevision"`
			Links    []any  `json:"links"`
		}
		if err := json.Unmarshal(got.Body.Bytes(), &doc); err != nil || doc.Revision != "0123" || len(doc.Links) != 2 {
			t.Errorf("GET %s: %v %+v", path, err, doc)
		}
		if strings.Contains(got.Body.String(), canary) {
			t.Errorf("GET %s shows a secret:\n%s", path, got.Body)
		}
	}
	status(t, s, "/other", http.StatusNotFound)
	if got := ask(s, http.MethodPost, "/"); got.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST /: %d", got.Code)
	}
}

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{MaxAge: time.Minute})
		status(t, s, "/healthz", http.StatusOK)
		time.Sleep(61 * time.Second)
		status(t, s, "/healthz", http.StatusServiceUnavailable) // the first pass never ended
		s.Publish(report.Report{Err: "no route to the repository"})
		status(t, s, "/healthz", http.StatusOK) // a pass that failed is a pass
		time.Sleep(61 * time.Second)
		status(t, s, "/healthz", http.StatusServiceUnavailable)
		s.setStandby(true)
		status(t, s, "/healthz", http.StatusOK)
		time.Sleep(time.Hour)
		s.setStandby(false)
		status(t, s, "/healthz", http.StatusOK) // it has just begun to lead
		time.Sleep(time.Minute / 2)
		s.setStandby(false)
		time.Sleep(31 * time.Second)
		status(t, s, "/healthz", http.StatusServiceUnavailable) // saying so twice is no new beginning
	})
}

func TestReady(t *testing.T) {
	s := New(Options{})
	status(t, s, "/readyz", http.StatusServiceUnavailable)
	s.setStandby(true)
	status(t, s, "/readyz", http.StatusOK)
	s.setStandby(false)
	status(t, s, "/readyz", http.StatusServiceUnavailable)
	s.Publish(pass())
	status(t, s, "/readyz", http.StatusOK)
}

// ours returns the samples of linkwright's own metrics.
func ours(t *testing.T, s *Server) []string {
	t.Helper()
	var out []string
	for l := range strings.Lines(ask(s, http.MethodGet, "/metrics").Body.String()) {
		if strings.HasPrefix(l, "linkwright_") && !strings.Contains(l, "_bucket") {
			out = append(out, strings.TrimSpace(l))
		}
	}
	return out
}

func requests() map[Sent]int {
	return map[Sent]int{{"east", "patch", "2xx", "objects"}: 20, {"west", "get", "4xx", "credentials"}: 1}
}

// TestDriftIsCounted: once for every repair that succeeded.
func TestDriftIsCounted(t *testing.T) {
	drift := object.Change{Action: object.Update, Why: object.Reason{Code: reason.Drift}}
	s := New(Options{})
	s.Publish(report.Report{Clusters: []report.Cluster{{Name: "east", Outcomes: []object.Outcome{
		{Change: drift}, {Change: drift}, {Change: drift, Err: errors.New("no")}, {Change: object.Change{Action: object.Update}},
	}}}})
	if got := ours(t, s); !slices.Contains(got, "linkwright_drift_repairs_total 2") {
		t.Errorf("metrics after two repairs: %q", got)
	}
}

// Debts are counted, with the age of the oldest; a standby tells of none.
func TestDebtsAreCounted(t *testing.T) {
	s := New(Options{})
	s.Publish(report.Report{Clusters: []report.Cluster{
		{Name: "east", Cleanup: []state.Pending{{Since: time.Unix(300, 0)}, {Since: time.Unix(200, 0)}}},
		{Name: "west", Cleanup: []state.Pending{{Since: time.Unix(250, 0)}}},
	}})
	for _, want := range []string{"linkwright_pending_cleanup 3", "linkwright_oldest_pending_cleanup_timestamp_seconds 200"} {
		if got := ours(t, s); !slices.Contains(got, want) {
			t.Errorf("no %s: %q", want, got)
		}
	}
	s.setStandby(true)
	if got := strings.Join(ours(t, s), "\n"); strings.Contains(got, "debt") {
		t.Errorf("a standby tells: %s", got)
	}
}

// A report between syncs counts what was done, and is no sync.
func TestBetweenIsNoPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{MaxAge: time.Minute})
		s.Publish(pass())
		time.Sleep(2 * time.Minute)
		r := pass()
		r.When = report.Between
		s.Publish(r)
		got := ask(s, http.MethodGet, "/metrics").Body.String()
		for _, want := range []string{`linkwright_syncs_total{result="partial"} 1`, `linkwright_writes_total{result="written"} 2`} {
			if !strings.Contains(got, want+"\n") {
				t.Errorf("metrics lack %s", want)
			}
		}
		status(t, s, "/healthz", http.StatusServiceUnavailable)
	})
}

// A report of a sync under way is shown, and is no sync: what was done counts once, when it ends, and links that were not looked at yet do not turn
// unready.
func TestSyncingIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{MaxAge: time.Minute})
		before := pass()
		before.When, before.Clusters = report.Syncing, nil
		s.Publish(before)
		status(t, s, "/readyz", http.StatusServiceUnavailable)
		if got := ask(s, http.MethodGet, "/report.json"); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"syncing": true`) {
			t.Errorf("/report.json: %d %s", got.Code, got.Body)
		}
		s.Publish(pass())
		links := func() (out []string) {
			for _, line := range ours(t, s) {
				if strings.HasPrefix(line, "linkwright_link") || strings.HasPrefix(line, "linkwright_clusters") || strings.Contains(line, "_total") {
					out = append(out, line)
				}
			}
			return out
		}
		ended := links()
		time.Sleep(2 * time.Minute)
		next := pass()
		next.When = report.Syncing
		next.Clusters[0].Step = plan.Step{}
		s.Publish(next)
		if got := links(); !slices.Equal(got, ended) {
			t.Errorf("metrics of a pass under way: %q, want %q", got, ended)
		}
		status(t, s, "/readyz", http.StatusOK)
		status(t, s, "/healthz", http.StatusServiceUnavailable)
	})
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Version: "v1.2.3", Requests: requests})
		s.Reconciled("west", 1500*time.Millisecond)
		defer s.Measure(func() int { return 2 })()
		s.Publish(pass())
		s.Publish(pass())
		want := []string{
			`linkwright_build_info{version="v1.2.3"} 1`,
			`linkwright_cluster_paused{cluster="east"} 0`,
			`linkwright_cluster_paused{cluster="north"} 1`,
			`linkwright_cluster_paused{cluster="west"} 0`,
			`linkwright_cluster_ready{cluster="east"} 1`,
			`linkwright_cluster_ready{cluster="north"} 0`,
			`linkwright_cluster_ready{cluster="west"} 1`,
			`linkwright_clusters{status="Denied"} 0`,
			`linkwright_clusters{status="Ready"} 2`,
			`linkwright_clusters{status="Unknown"} 1`,
			`linkwright_drift_repairs_total 0`,
			`linkwright_hook_requests_total{result="accepted"} 0`,
			`linkwright_hook_requests_total{result="cut"} 0`,
			`linkwright_hook_requests_total{result="error"} 0`,
			`linkwright_hook_requests_total{result="large"} 0`,
			`linkwright_hook_requests_total{result="limited"} 0`,
			`linkwright_hook_requests_total{result="ping"} 0`,
			`linkwright_hook_requests_total{result="refused"} 0`,
			`linkwright_hook_requests_total{result="standby"} 0`,
			`linkwright_last_sync_timestamp_seconds 9.466848e+08`,
			`linkwright_leading 1`,
			`linkwright_link_credential_expiry_timestamp_seconds{source="west",target="east"} 1.7e+09`,
			`linkwright_link_credential_issued_timestamp_seconds{source="west",target="east"} 1.6e+09`,
			`linkwright_link_drift_repairs_total{source="west",target="east"} 0`,
			`linkwright_link_drift_repairs_total{source="west",target="north"} 0`,
			`linkwright_link_ready{source="west",target="east"} 1`,
			`linkwright_link_ready{source="west",target="north"} 0`,
			`linkwright_link_ready_transition_timestamp_seconds{source="west",target="east"} 1.5e+09`,
			`linkwright_links{status="Blocked"} 1`,
			`linkwright_links{status="Denied"} 0`,
			`linkwright_links{status="Leaving"} 0`,
			`linkwright_links{status="Progressing"} 0`,
			`linkwright_links{status="Ready"} 1`,
			`linkwright_links{status="Released"} 0`,
			`linkwright_links{status="Removed"} 0`,
			`linkwright_links{status="Stalled"} 0`,
			`linkwright_links{status="Suspended"} 0`,
			`linkwright_links{status="Unknown"} 0`,
			`linkwright_oldest_pending_cleanup_timestamp_seconds 0`,
			`linkwright_pending_cleanup 0`,
			`linkwright_problems{severity="error"} 0`,
			`linkwright_problems{severity="warning"} 1`,
			`linkwright_queue_depth 2`,
			`linkwright_reconcile_duration_seconds_sum{cluster="west"} 1.5`,
			`linkwright_reconcile_duration_seconds_count{cluster="west"} 1`,
			`linkwright_requests_total{about="credentials",cluster="west",code="4xx",verb="get"} 1`,
			`linkwright_requests_total{about="objects",cluster="east",code="2xx",verb="patch"} 20`,
			`linkwright_revision_applied 1`,
			`linkwright_source_last_poll_timestamp_seconds 1.7e+09`,
			`linkwright_sync_duration_seconds_sum 6`,
			`linkwright_sync_duration_seconds_count 2`,
			`linkwright_syncs_total{result="clean"} 0`,
			`linkwright_syncs_total{result="failed"} 0`,
			`linkwright_syncs_total{result="partial"} 2`,
			`linkwright_writes_total{result="failed"} 2`,
			`linkwright_writes_total{result="written"} 2`,
		}
		if diff := cmp.Diff(want, ours(t, s)); diff != "" {
			t.Errorf("metrics: -want +got\n%s", diff)
		}
	})
}

// A head that is refused is not in force, and one that cannot be read leaves the last poll as it was.
func TestHeadIsNotInForce(t *testing.T) {
	s := New(Options{})
	for _, r := range []report.Report{
		{Commit: "0123", Head: "4567", Err: "rewound", Polled: time.Unix(1_700_000_000, 0)},
		{Commit: "0123", Head: "4567", Err: "no route"},
		{Head: "4567", Err: "nothing to keep up"},
	} {
		s.Publish(r)
		got := ours(t, s)
		for _, want := range []string{"linkwright_revision_applied 0", "linkwright_source_last_poll_timestamp_seconds 1.7e+09"} {
			if !slices.Contains(got, want) {
				t.Errorf("%s: no %s in %q", r.Err, want, got)
			}
		}
	}
}

// A link that leaves, or is gone, has no sample any more; one that stays keeps its own.
func TestReadyOfLinksThatAre(t *testing.T) {
	s := New(Options{})
	s.Publish(pass())
	r := pass()
	for i, c := range r.Clusters {
		for j, row := range c.Step.Rows {
			r.Clusters[i].Step.Rows[j].Leaving = row.End.Link.Target == "north"
		}
	}
	s.Publish(r)
	var got []string
	for _, sample := range ours(t, s) {
		if strings.HasPrefix(sample, "linkwright_link_ready{") {
			got = append(got, sample)
		}
	}
	if diff := cmp.Diff([]string{`linkwright_link_ready{source="west",target="east"} 1`}, got); diff != "" {
		t.Errorf("samples: -want +got\n%s", diff)
	}
}

// A standby's last read of links would stand beside its leader's.
func TestStandbyShowsNoLinks(t *testing.T) {
	s := New(Options{})
	s.Publish(pass())
	s.setStandby(true)
	s.Publish(pass()) // the end of a sync that was still going on
	for _, sample := range ours(t, s) {
		if strings.HasPrefix(sample, "linkwright_link") || strings.HasPrefix(sample, "linkwright_clusters") {
			t.Errorf("a standby tells %s", sample)
		}
	}
	if got := ours(t, s); !slices.Contains(got, "linkwright_leading 0") || !slices.Contains(got, `linkwright_writes_total{result="written"} 2`) {
		t.Errorf("metrics of a standby: %q", got)
	}
}

// Whatever is documented is served, with the documented help and type.
func TestMetricsAreServed(t *testing.T) {
	s := New(Options{Requests: requests})
	s.Reconciled("west", time.Second)
	defer s.Measure(func() int { return 0 })()
	r := pass()
	r.Clusters[1].Cleanup = []state.Pending{{Link: api.Pair{Source: "east", Target: "north"}, Since: time.Unix(1, 0)}}
	r.Clusters[1].Step.Rollout = &plan.Rollout{Declared: &fleet.Rollout{}, Progress: rollout.Progress{At: time.Unix(1, 0)}}
	s.Publish(r)
	page := ask(s, http.MethodGet, "/metrics").Body.String()
	for _, m := range Metrics() {
		if !strings.Contains(page, "# HELP "+m.Name+" "+m.Help+"\n# TYPE "+m.Name+" "+m.Type+"\n") {
			t.Errorf("/metrics lacks %+v", m)
		}
		for _, label := range m.Labels {
			if !regexp.MustCompile(m.Name + `(_bucket)?\{([^}]*,)?` + label + `="`).MatchString(page) {
				t.Errorf("/metrics lacks label %s of %s", label, m.Name)
			}
		}
	}
	if got := strings.Count(page, "# HELP linkwright_"); got != len(Metrics()) {
		t.Errorf("/metrics has %d metrics of ours, Metrics lists %d", got, len(Metrics()))
	}
	for _, name := range []string{"go_goroutines", "go_build_info", "process_start_time_seconds"} {
		if !strings.Contains(page, "\n"+name) {
			t.Errorf("/metrics lacks %s", name)
		}
	}
	if strings.Contains(page, canary) {
		t.Error("/metrics shows a secret")
	}
}

func TestMetricsAreSorted(t *testing.T) {
	if !slices.IsSortedFunc(Metrics(), func(a, b Metric) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("Metrics is not sorted by name")
	}
}
