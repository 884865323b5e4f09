package sync

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/web"
)

const monitoring = "../deploy/monitoring/"

// TestMonitoring has a real Prometheus scrape a daemon, and run each query of deploy/monitoring.
func TestMonitoring(t *testing.T) {
	program := os.Getenv("LINKWRIGHT_PROMETHEUS")
	if program == "" {
		t.Skip("make monitoring-test builds Prometheus, and sets LINKWRIGHT_PROMETHEUS to it")
	}
	d := monitored(t)
	p := startPrometheus(t, program, d.URL)
	p.eventually("linkwright_link_drift_repairs_total")
	d.disturb()
	for _, q := range alertQueries(t, p) {
		p.eventually(q)
	}
	for _, q := range panelQueries(t) {
		p.eventually(q)
	}
	p.rulesEvaluate()
}

// monitoredDaemon is a daemon over clusters in memory that serves metrics.
type monitoredDaemon struct {
	*memoryEnv
	*httptest.Server
}

// monitored has a daemon run, with a token that expires, and a link of mode LegacyToken.
func monitored(t *testing.T) monitoredDaemon {
	t.Helper()
	asked := 0
	requests := func() map[web.Sent]int {
		asked++
		return map[web.Sent]int{{Cluster: "east", Verb: "patch", Code: "2xx", About: "objects"}: asked}
	}
	r, server := newMemoryEnv(t, memcluster.Options{}, memoryLink("west", "north")+boundLink), web.New(web.Options{Requests: requests})
	l := r.loop()
	l.Changes, l.Meter = r, server
	t.Cleanup(r.runPublishing(l, func(p report.Report) { server.Publish(p) }))
	shown := httptest.NewServer(server.Handler())
	t.Cleanup(shown.Close)
	return monitoredDaemon{r, shown}
}

var boundLink = strings.Replace(memoryLink("west", "east"), "target: east", "target: east, credentials: {mode: Bound, ttl: 200h}", 1)

// disturb changes an object of a link, and removes another link while its target is down.
func (d monitoredDaemon) disturb() {
	d.edit("west", probe, 1)
	d.Cluster("north").Fault(func(f *memcluster.Faults) { f.Down = true })
	d.declare("c2", boundLink)
}

// prometheus is one that runs.
type prometheus struct {
	*testing.T
	address string
}

// startPrometheus has Prometheus scrape a server every 200 ms, until the test ends.
func startPrometheus(t *testing.T, program, server string) prometheus {
	t.Helper()
	rules, err := filepath.Abs(monitoring + "rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir, free := t.TempDir(), httptest.NewServer(http.NotFoundHandler())
	address := strings.TrimPrefix(free.URL, "http://")
	free.Close()
	config := fmt.Sprintf("global: {scrape_interval: 200ms, evaluation_interval: 200ms}\nrule_files: [%s]\nscrape_configs: [{job_name: linkwright, static_configs: [{targets: [%q]}]}]\n",
		rules, strings.TrimPrefix(server, "http://"))
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=error")
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // it has nothing to save
		_ = c.Wait()         // it was killed
	})
	p := prometheus{t, address}
	for deadline := time.Now().Add(time.Minute); ; {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close() // nothing was sent
			return p
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// get decodes the answer of Prometheus to one request.
func (p prometheus) get(path string, data any) error {
	answer, err := http.Get("http://" + p.address + path)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	var out struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(answer.Body).Decode(&out); err != nil {
		return err
	}
	if out.Status != "success" {
		return fmt.Errorf("%s: %s", path, out.Error)
	}
	return json.Unmarshal(out.Data, data)
}

// eventually waits until a query returns series.
func (p prometheus) eventually(query string) {
	p.Helper()
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		var data struct{ Result []any }
		if err = p.get("/api/v1/query?query="+url.QueryEscape(query), &data); err == nil && len(data.Result) > 0 {
			return
		}
	}
	p.Errorf("no series: %s %v", query, err)
}

// rulesEvaluate fails if Prometheus cannot evaluate an alert.
func (p prometheus) rulesEvaluate() {
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := p.get("/api/v1/rules", &data); err != nil || len(data.Groups) != 1 || len(data.Groups[0].Rules) < 10 {
		p.Fatalf("rules: %v %v", data, err)
	}
	for _, r := range data.Groups[0].Rules {
		if r.Health != "ok" {
			p.Errorf("alert %s: %s %s", r.Name, r.Health, r.LastError)
		}
	}
}

// alertQueries returns the series that alerts read, as Prometheus parses the alerts: an alert itself returns nothing while all is well.
func alertQueries(t *testing.T, p prometheus) (out []string) {
	t.Helper()
	var data struct {
		Groups []struct{ Rules []struct{ Query string } }
	}
	if err := p.get("/api/v1/rules", &data); err != nil {
		t.Fatal(err)
	}
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			var tree any
			if err := p.get("/api/v1/parse_query?query="+url.QueryEscape(r.Query), &tree); err != nil {
				t.Fatal(err)
			}
			out = append(out, selectors(tree)...)
		}
	}
	if slices.Sort(out); len(out) < 10 {
		t.Fatalf("alerts read %q", out)
	}
	return slices.Compact(out)
}

// selectors returns the selectors of a parsed query.
func selectors(tree any) (out []string) {
	switch n := tree.(type) {
	case []any:
		for _, child := range n {
			out = append(out, selectors(child)...)
		}
	case map[string]any:
		if n["type"] == "vectorSelector" || n["type"] == "matrixSelector" {
			return []string{selector(n["matchers"].([]any))} //nolint:forcetypeassert // Prometheus' API
		}
		for _, child := range n {
			out = append(out, selectors(child)...)
		}
	}
	return out
}

func selector(matchers []any) string {
	var out []string
	for _, m := range matchers {
		m := m.(map[string]any) //nolint:forcetypeassert // Prometheus' API
		out = append(out, fmt.Sprintf("%s%s%q", m["name"], m["type"], m["value"]))
	}
	return "{" + strings.Join(out, ",") + "}"
}

// panelQueries returns the queries of the dashboard, as Grafana sends them.
func panelQueries(t *testing.T) (out []string) {
	t.Helper()
	raw, err := os.ReadFile(monitoring + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			out = append(out, strings.NewReplacer("$job", ".+", "$__rate_interval", "30s").Replace(target.Expr))
		}
	}
	if len(out) < 10 {
		t.Fatalf("the dashboard has %d queries", len(out))
	}
	return out
}
