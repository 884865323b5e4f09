package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
)

// A link that does not work is shown with why, what to do, both ends and every stage.
func TestDescribeLink(t *testing.T) {
	var out strings.Builder
	if ok, err := ailing().DescribeLink(&out, api.Pair{Source: "west", Target: "east"}); err != nil || !ok {
		t.Fatalf("DescribeLink: %t, %v", ok, err)
	}
	want := `Link:       west/east
Status:     Stalled
Revision:   c
Reason:     GatewayNotAlive
Message:    no; address is ready
Meaning:    Requests to mirrors fail, because the controller's probe of the target's gateway fails. No mirror has a ready address.
What to do: Check that the source's pods reach the gateway's address and probe port (see docs/explanation/health.md).

END     CLUSTER  STATUS  MESSAGE
source  west     Ready
target  east     Ready

STAGE                  STATE      MESSAGE
renders                passed
trust anchors shared   passed     TrustAnchorsDiffer: half rotated
access works           unknown
gateway alive          failed     GatewayNotAlive: no; address is ready
mirrors have endpoints  not asked
`
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(out.String())); diff != "" {
		t.Errorf("-want +got\n%s\n%s", diff, out.String())
	}
	if ok, err := ailing().DescribeLink(&out, api.Pair{Source: "east", Target: "west"}); ok || err != nil {
		t.Errorf("a link that is not there: %t, %v", ok, err)
	}
}

// A link is shown with its own writes only, and a cluster with all of its writes and links.
func TestDescribeWrites(t *testing.T) {
	var link, cluster strings.Builder
	if ok, err := first().DescribeLink(&link, api.Pair{Source: "west", Target: "old"}); err != nil || !ok {
		t.Fatalf("DescribeLink: %t, %v", ok, err)
	}
	if text := link.String(); !strings.Contains(text, "controller-old") || strings.Contains(text, "probe-gateway-east") {
		t.Errorf("west/old:\n%s", text)
	}
	if ok, err := first().DescribeCluster(&cluster, "west"); err != nil || !ok {
		t.Fatalf("DescribeCluster: %t, %v", ok, err)
	}
	for _, want := range []string{"Cluster:    west\nStatus:     Ready", "controller-old", "probe-gateway-east", "west    old     Leaving"} {
		if !strings.Contains(cluster.String(), want) {
			t.Errorf("west has no %q:\n%s", want, cluster.String())
		}
	}
	if ok, err := first().DescribeCluster(&cluster, "nowhere"); ok || err != nil {
		t.Errorf("a cluster that is not there: %t, %v", ok, err)
	}
}

// A cluster that cannot be read is shown with what to do.
func TestDescribeUnknownCluster(t *testing.T) {
	var out strings.Builder
	if ok, err := ailing().DescribeCluster(&out, "north"); err != nil || !ok || !strings.Contains(out.String(), "Status:     Unknown") ||
		!strings.Contains(out.String(), "What to do: Check that the API server is up") || !strings.Contains(out.String(), "It has no links.") {
		t.Errorf("%t, %v:\n%s", ok, err, out.String())
	}
}
