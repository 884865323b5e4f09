package decide

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

// A command says if nobody follows what it records: no process renews the installation's lease, nor one of --only-write.
func TestHeld(t *testing.T) {
	for name, tt := range map[string]struct {
		lease, about, holder string
		renewed              time.Duration // ago
		want                 bool
	}{
		"held":                        {"linkwright-linkwright", "", "pod-1", time.Second, true},
		"held for one cluster":        {"linkwright-linkwright-east", "--owner linkwright --only-write east", "pod-1", time.Second, true},
		"lost":                        {"linkwright-linkwright", "", "pod-1", time.Minute, false},
		"released":                    {"linkwright-linkwright", "", "", time.Second, false},
		"of another installation":     {"linkwright-linkwright-blue", "", "pod-1", time.Second, false},
		"of one cluster of another":   {"linkwright-blue-east", "--owner blue --only-write east", "pod-1", time.Second, false},
		"not there, as after install": {"another", "", "pod-1", time.Second, false},
	} {
		at := memcluster.New(memcluster.Options{}, "management").Cluster("management")
		for _, o := range []map[string]any{
			{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "linkwright"}},
			{
				"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
				"metadata": map[string]any{"name": tt.lease, "namespace": "linkwright", "annotations": map[string]any{"linkwright.dev/lease-of": tt.about}},
				"spec":     map[string]any{"holderIdentity": tt.holder, "leaseDurationSeconds": 15, "renewTime": time.Now().Add(-tt.renewed).UTC().Format(metav1.RFC3339Micro)},
			},
		} {
			if err := at.Put("kubectl", o); err != nil {
				t.Fatal(err)
			}
		}
		if got := held(t.Context(), at, object.Installation{Owner: "linkwright", Namespace: "linkwright"}); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
		out := outcome{followed: true, following: Follows(t.Context(), at, object.Installation{Owner: "linkwright", Namespace: "linkwright"})}
		out.add("Withdrawn", inventory.Decision{Kind: inventory.Suspend, Cluster: "east"})
		if text := out.text(cli.Writing{}); strings.Contains(text, "No process holds the Lease") == tt.want || strings.Contains(text, "A running daemon follows it") != tt.want {
			t.Errorf("%s: it says\n%s", name, text)
		}
		var json strings.Builder
		if err := cli.Write(&json, "json", out.answer(cli.Writing{})); err != nil || strings.Contains(json.String(), "start linkwright run, or run linkwright sync --repo URL") == tt.want {
			t.Errorf("%s: %v: it says\n%s", name, err, json.String())
		}
	}
}
