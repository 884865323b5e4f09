package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

func TestTrustAnchors(t *testing.T) {
	until := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	old := TrustAnchor{
		Cluster: "east", Fingerprint: strings.Repeat("0a", 32), Subject: "root\nold", Expires: until, Expired: true,
		SignsIssuer: object.False, Proxies: 5, Knowing: 2, Unknown: 1, Removable: object.False, Needs: 2,
	}
	fresh := TrustAnchor{
		Cluster: "west", Fingerprint: strings.Repeat("1b", 32), Subject: "new", Expires: until, InBundle: true,
		SignsIssuer: object.Unknown, Proxies: 3, Knowing: 3, Removable: object.True,
	}
	var out bytes.Buffer
	if err := TrustAnchors([]TrustAnchor{old, fresh}).Answer(true).Write(&out, Text); err != nil {
		t.Fatal(err)
	}
	want := `CLUSTER  ANCHOR            SUBJECT    EXPIRES               BUNDLE  ISSUER   PROXIES          REMOVABLE
east     0a0a0a0a0a0a0a0a  root; old  2027-01-02 (expired)  no      no       2/5 (1 unknown)  no (2)
west     1b1b1b1b1b1b1b1b  new        2027-01-02            yes     unknown  3/3              yes
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	unknown := old
	unknown.Fingerprint, unknown.Removable = strings.Repeat("2c", 32), object.Unknown
	if got, want := SumOfAnchors([]TrustAnchor{old, fresh, old, unknown}), "3 trust anchors: 1 may be removed, 1 needed, 1 unknown"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTrustNeeds(t *testing.T) {
	all := []TrustNeed{
		{Cluster: "east", Object: object.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}, Why: *object.Because(reason.ProxyNeedsAnchor, "restart it")},
		{Cluster: "west", Object: object.Key{Kind: "Cluster", Name: "west"}, Unknown: true, Why: *object.Because(reason.Unreachable, "down")},
	}
	var out, names bytes.Buffer
	if err := TrustNeeds(all).Answer(true).Write(&out, Text); err != nil {
		t.Fatal(err)
	}
	if err := TrustNeeds(all).Answer(true).Write(&names, Name); err != nil {
		t.Fatal(err)
	}
	want := `CLUSTER  KIND        NAMESPACE  NAME  REASON            MESSAGE
east     Deployment  shop       web   ProxyNeedsAnchor  restart it
west     Cluster                west  Unreachable       down
trustneed/east/Deployment/shop/web
trustneed/west/Cluster/west
`
	if diff := cmp.Diff(want, out.String()+names.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
