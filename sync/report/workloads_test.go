package report

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

func TestWorkloads(t *testing.T) {
	all := []Workload{
		{Cluster: "east", Kind: "Deployment", Namespace: "shop", Name: "web", Pods: 3, Outdated: 1, Differences: []string{"image a:1, now a:2", "LINKERD2_PROXY_LOG", "trust anchors", "volume x"}},
		{Cluster: "east", Kind: "StatefulSet", Namespace: "shop", Name: "db", Reconcile: true, Pods: 2},
		{Cluster: "west", Kind: "DaemonSet", Namespace: "shop", Name: "agent", Pods: 1, Unknown: object.Because(reason.Forbidden, "no")},
	}
	var out bytes.Buffer
	if err := Workloads(all).Answer(true).Write(&out, Text); err != nil {
		t.Fatal(err)
	}
	want := `CLUSTER  NAMESPACE  WORKLOAD         STATUS    PODS  MESSAGE
east     shop       Deployment/web   Outdated  2/3   a restart changes image a:1, now a:2, LINKERD2_PROXY_LOG, trust anchors and 1 more
east     shop       StatefulSet/db   Current   2/2
west     shop       DaemonSet/agent  Unknown   ?/1   Forbidden: no
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got, want := SumOfWorkloads(all), "3 workloads: 1 Outdated, 1 Current, 1 Unknown"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := SumOfWorkloads(all[1:2]), "1 workload: 0 Outdated, 1 Current"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSetValues: describe has a line for each value that linkwright set, and of environment variables only the names.
func TestSetValues(t *testing.T) {
	got := setValues([]output.ProxyValue{
		{Path: "proxy.additionalEnv", Set: `["A","B"]`}, {Path: "proxy.await", Set: "false", Before: "true"}, {Path: "proxy.logLevel", Set: "\"a\u202eb\"", Before: "null"},
	})
	want := `Values of proxies that linkwright set:
  proxy.additionalEnv is ["A","B"], not there before
  proxy.await is false, before true
  proxy.logLevel is "ab", before null
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
