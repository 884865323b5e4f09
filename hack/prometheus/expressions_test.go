package prometheus

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const (
	rulesFile     = "../../deploy/monitoring/rules.yaml"
	dashboardFile = "../../deploy/monitoring/dashboard.json"
	metricsPage   = "../../docs/reference/metrics.md"
	alertTests    = "testdata"
)

// rules returns the alerts, which are valid, templates included.
func rules(t *testing.T) (out []rulefmt.Rule) {
	t.Helper()
	groups, errs := rulefmt.ParseFile(rulesFile, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, g := range groups.Groups {
		out = append(out, g.Rules...)
	}
	if len(out) < 10 {
		t.Fatalf("%s has %d alerts", rulesFile, len(out))
	}
	return out
}

// panelQueries returns the queries of the dashboard, as Grafana sends them, by the titles of their panels.
func panelQueries(t *testing.T) map[string][]string {
	t.Helper()
	raw, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			out[p.Title] = append(out[p.Title], strings.NewReplacer("$job", ".+", "$__rate_interval", "1m").Replace(target.Expr))
		}
	}
	if len(out) < 10 {
		t.Fatalf("%s has %d panels with queries", dashboardFile, len(out))
	}
	return out
}

// documented returns the labels of each documented metric.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	raw, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{"process_resident_memory_bytes": nil, "process_cpu_seconds_total": nil}
	for _, row := range regexp.MustCompile("(?m)^\\| `(linkwright_\\w+)` \\| (\\w+) \\| ([^|]*) \\|").FindAllStringSubmatch(string(raw), -1) {
		labels := regexp.MustCompile(`\w+`).FindAllString(row[3], -1)
		if row[2] != "histogram" {
			out[row[1]] = labels
			continue
		}
		out[row[1]+"_bucket"] = append(slices.Clone(labels), "le")
		out[row[1]+"_count"], out[row[1]+"_sum"] = labels, labels
	}
	return out
}

// Each query is valid, and asks only for metrics and labels that linkwright documents. Labels that Prometheus adds are job, namespace, instance.
func TestExpressions(t *testing.T) {
	metrics, queries := documented(t), panelQueries(t)
	for _, r := range rules(t) {
		queries[r.Alert] = append(queries[r.Alert], r.Expr)
	}
	for of, all := range queries {
		for _, query := range all {
			expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
			if err != nil {
				t.Errorf("%s: %q: %v", of, query, err)
				continue
			}
			for _, unknown := range unknownNames(expr, metrics) {
				t.Errorf("%s: %q: no metric has %s", of, query, unknown)
			}
		}
	}
}

// unknownNames returns the metrics and labels of an expression that are not documented.
func unknownNames(expr parser.Expr, metrics map[string][]string) (out []string) {
	labels := []string{"job", "namespace", "instance", "__name__"}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		selector, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		of, known := metrics[selector.Name]
		if labels = append(labels, of...); !known {
			out = append(out, selector.Name)
		}
		return nil
	})
	var used []string
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			for _, m := range n.LabelMatchers {
				used = append(used, m.Name)
			}
		case *parser.AggregateExpr:
			used = append(used, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				used = append(used, n.VectorMatching.MatchingLabels...)
			}
		}
		return nil
	})
	for _, label := range used {
		if !slices.Contains(labels, label) {
			out = append(out, "label "+label)
		}
	}
	return out
}

// Each alert says how severe it is, and where to read about it, and has a test of its own.
func TestAlertsAreComplete(t *testing.T) {
	tests, err := filepath.Glob(alertTests + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := rules(t)
	for _, r := range all {
		runbook := "https://github.com/linkwright/linkwright/blob/main/docs/how-to/monitor.md#" + strings.ToLower(r.Alert)
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) || r.Annotations["runbook_url"] != runbook || r.Annotations["summary"] == "" {
			t.Errorf("%s: severity, summary or runbook_url is missing: %v %v", r.Alert, r.Labels, r.Annotations)
		}
		if !slices.Contains(tests, filepath.Join(alertTests, r.Alert+".yaml")) {
			t.Errorf("%s has no test in %s", r.Alert, alertTests)
		}
	}
	if len(tests) != len(all) {
		t.Errorf("%d tests of %d alerts", len(tests), len(all))
	}
}
