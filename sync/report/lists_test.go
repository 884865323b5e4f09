package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func writtenAs(t *testing.T, a Answer, f Format) string {
	t.Helper()
	var out strings.Builder
	if err := a.Write(&out, f); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Lists have the columns that users of kubectl expect; each item is one row.
func TestLists(t *testing.T) {
	o := everything()
	for name, tt := range map[string]struct {
		answer Answer
		format Format
		want   string
	}{
		"clusters": {o.ClusterList().Answer(true), Text, `
NAME    READY    STATUS       REVISION      LINKS  MESSAGE
east    True     Ready        0123456789ab  1/3
north   Unknown  Unknown                    0/2    Unreachable: no route[31m; to host
west    True     Ready        0123456789ab  1/4
leaves  False    Leaving                    0/0    it is being removed
other   False    Progressing  fedcba987654  0/0    RevisionMismatch: revision 0123456789ab is not applied, the cluster has fedcba987654
south   True     Suspended                  0/1    cluster south has suspend: true, so linkwright leaves everything there as it is: to resume, remove suspend
`},
		"one wide cluster without its head": {o.ClusterList().Only(func(ref string) bool { return ref == "cluster/east" }).One(false), Wide, `
east  True  Ready  0123456789abcdef0123456789abcdef01234567  1/3  west→old for 60 min
`},
		"revisions": {o.RevisionList().Answer(true), Text, `
REVISION      STATE     AGE  CLUSTERS   MESSAGE
0123456789ab  Applied   60m  east,west  PruneLimitExceeded: this revision would remove 2 clusters
fedcba987654  Observed  60s  other      InvalidDeclarations: a.yaml:3:1: x
`},
		"events": {o.EventList().Answer(true), Text, `
LAST SEEN  TYPE     REASON               OBJECT                 MESSAGE
60m        Warning  PruneLimitExceeded   revision/0123456789ab  Applied is True: this revision would remove 2 clusters
60s        Warning  InvalidDeclarations  revision/fedcba987654  Applied is False: a.yaml:3:1: x
4s         Normal   Healthy              link/west/east         Ready is True
4s         Warning  GatewayNotAlive      link/west/north        Ready is False: gateway not alive: GatewayNotAlive
4s         Warning  GatewayNotAlive      link/west/north        Stalled is True: gateway not alive: GatewayNotAlive
`},
		"names":    {o.LinkList().Answer(true), Name, "\nlink/east/west\nlink/north/east\nlink/west/east\nlink/west/north\nlink/west/south\n"},
		"no names": {Overview{}.LinkList().Answer(true), Name, "\n"},
	} {
		if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), writtenAs(t, tt.answer, tt.format)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// An item has changed if it is new, or if anything of it but its age differs.
func TestListChanges(t *testing.T) {
	before, after := everything(), everything()
	after.At = after.At.Add(1)
	if n := after.LinkList().Changed(before.LinkList()).Len(); n != 0 {
		t.Errorf("%d links changed when time went by", n)
	}
	after.Links = append(after.Links, RecordedLink{Source: RecordedEnd})
	after.Links[0].Source = LeavingEnd
	if got := after.LinkList().Changed(before.LinkList()).Refs(); len(got) != 2 || got[0] != "link/east/west" {
		t.Errorf("changed: %v", got)
	}
}

// Without a repository describe shows what inventories record, and where to learn more.
func TestDescribeRecorded(t *testing.T) {
	a, ok := everything().LinkAnswer(link("west", "north"))
	want := `Link:       west/north
Ready:      False
Status:     Stalled
Since:      2026-11-22T15:04:05Z (4s ago)
Revision:   0123456789abcdef0123456789abcdef01234567
Observed:   fedcba9876543210fedcba9876543210fedcba98, not applied: InvalidDeclarations: a.yaml:3:1: x
Reason:     GatewayNotAlive
Message:    gateway not alive: GatewayNotAlive
Meaning:    Requests to mirrors fail, because the controller's probe of the target's gateway fails. No mirror has a ready address.

END     CLUSTER  STATUS    MESSAGE
source  west     Recorded
target  north    Unknown   Unreachable: no route[31m; to host

Events (the last transition of each condition):
LAST SEEN  TYPE     REASON           OBJECT           MESSAGE
4s         Warning  GatewayNotAlive  link/west/north  Ready is False: gateway not alive: GatewayNotAlive
4s         Warning  GatewayNotAlive  link/west/north  Stalled is True: gateway not alive: GatewayNotAlive

Next step:  Check that the source's pods reach the gateway's address and probe port (see https://github.com/linkwright/linkwright/blob/main/docs/explanation/health.md#gateway-alive).
`
	if diff := cmp.Diff(want, writtenAs(t, a, Text)); diff != "" || !ok {
		t.Errorf("link: -want +got\n%s", diff)
	}
	a, ok = everything().ClusterAnswer("east")
	if text := writtenAs(t, a, Text); !ok || strings.Contains(text, "Next step") || !strings.Contains(text, "Cleanup:    of removed links: west→old") {
		t.Errorf("a cluster that is ready: %t\n%s", ok, text)
	}
	if _, ok := everything().ClusterAnswer("nowhere"); ok {
		t.Error("a cluster that is not there")
	}
}
