package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPathString(t *testing.T) {
	for want, path := range map[string]Path{
		"":                            nil,
		"spec.gateway.addresses[0]":   {"spec", "gateway", "addresses", "0"},
		"metadata.labels[a.io/b]":     {"metadata", "labels", "a.io/b"},
		"spec.items[1].key":           {"spec", "items", "1", "key"},
		"metadata.labels.environment": {"metadata", "labels", "environment"},
	} {
		if got := path.String(); got != want {
			t.Errorf("Path(%q).String() = %q, want %q", []string(path), got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"PerLink", "External", "warn", "trace", "replicas", "east", "west"}
	for written, want := range map[string]string{
		"perlink": "PerLink", "Externl": "External", "warning": "warn", "replica": "replicas", "wset": "west", "esat": "east",
		"": "", "x": "", "shared": "", "ea": "", "PerLink": "PerLink", strings.Repeat("east", 100): "",
	} {
		got, ok := Nearest(written, words)
		if got != want || ok != (want != "") {
			t.Errorf("Nearest(%q) = %q, %v, want %q", written, got, ok, want)
		}
	}
	if got := DidYouMean("traec", words); got != "did you mean trace?" {
		t.Errorf("DidYouMean(traec) = %q", got)
	}
}

func TestCheckClusterName(t *testing.T) {
	for name, ok := range map[ClusterName]bool{
		"east": true, "e": true, "us-east-1": true, ClusterName(strings.Repeat("a", 52)): true,
		"": false, "federated": false, "East": false, "1east": false, "east-": false, "a.b": false, ClusterName(strings.Repeat("a", 53)): false,
	} {
		if err := CheckClusterName(name); (err == nil) != ok {
			t.Errorf("CheckClusterName(%q) = %v", name, err)
		}
	}
}

func TestNothingDeclaredIsNoFinding(t *testing.T) {
	got := [][]Finding{LinkDoc{}.Check(), MeshDoc{}.Check(), ProxyConfigDoc{}.Check(), SyncPolicyDoc{}.Check()}
	for i, found := range got {
		if len(found) > 0 {
			t.Errorf("Check of kind %d: %v", i, found)
		}
	}
	want := []string{"spec.access"}
	if diff := cmp.Diff(want, paths(ClusterDoc{}.Check())); diff != "" {
		t.Errorf("ClusterDoc{}.Check(): -want +got\n%s", diff)
	}
}

// What WithDefaults fills in passes the checks: a default is never a finding.
func TestDefaultsPassTheirChecks(t *testing.T) {
	cluster := Cluster{Access: Access{KubeconfigSecret: &SecretKey{Name: "east"}}}.WithDefaults()
	for _, found := range [][]Finding{
		ClusterDoc{Spec: cluster}.Check(),
		LinkDoc{Spec: Link{Source: "a", Target: "b", LinkSpec: LinkSpec{}.WithDefaults()}}.Check(),
		MeshDoc{Spec: Mesh{}.WithDefaults()}.Check(),
		SyncPolicyDoc{Spec: SyncPolicy{}.WithDefaults()}.Check(),
	} {
		if len(found) > 0 {
			t.Errorf("Check: %v", found)
		}
	}
}

func paths(found []Finding) []string {
	var out []string
	for _, f := range found {
		out = append(out, f.Path.String())
	}
	return out
}

func TestProblemString(t *testing.T) {
	p := Problem{Pos: Pos{File: "a.yaml", Line: 3, Col: 7}, Warning: true, Message: "no", Hint: "yes", Code: "X"}
	if got, want := p.String(), "a.yaml:3:7: warning: no (yes)"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	p.See = Pos{File: "b.yaml", Line: 9}
	if got, want := p.String(), "a.yaml:3:7: warning: no, see b.yaml:9 (yes)"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}
