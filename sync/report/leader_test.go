package report

import (
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
)

// A process with --only-write holds leases of its own: a dead one is not green, and is named with its cluster. Those that lead, and
// those that ended, are shown, too. A lease of the installation is missed only if nobody else syncs.
func TestWriters(t *testing.T) {
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	lease := func(only, holder string) Leader {
		return Leader{Only: api.ClusterName(only), Lease: "linkwright/linkwright-linkwright-" + only, Holder: holder, Renewed: at, Lasts: 15 * time.Second}
	}
	ended := lease("south", "")
	ended.Last = Sync{"job-7", at}
	both := []RecordedCluster{{Name: "east", Applied: "a"}, {Name: "west", Applied: "a"}}
	all := []Leader{lease("east", "pod-1"), lease("north", "pod-2"), ended, lease("west", "pod-1")}
	const applied, live = "Revision a is applied in all 2 clusters.", "pod-1 leads with --only-write east, west.\n" +
		"pod-2 leads with --only-write north.\n"
	for _, tt := range []struct {
		name    string
		leader  *Leader
		writers []Leader
		age     time.Duration
		want    string
		clean   bool
	}{
		{"all live", nil, all, time.Second, applied + "\nThe last sync of south with --only-write, by job-7, ended at 2026-11-22T15:04:05Z, 1s ago.\n" + live, true},
		{
			"beside the leader", &Leader{Holder: "pod-0", Renewed: at, Lasts: time.Hour}, all[3:], 16 * time.Second,
			applied + " pod-0 leads.\nNo process syncs west with --only-write: pod-1 had the lease and has not renewed it since 2026-11-22T15:04:05Z, 16s ago. " +
				"Start the process again, or delete Lease linkwright/linkwright-linkwright-west if you no longer need it.\n", false,
		},
		{
			"silent", nil, all[3:], 7 * time.Second, applied + "\npod-1 leads with --only-write west, but it last renewed its Lease 7s ago: it may be gone, " +
				"and then nothing is repaired. A standby takes over 15s after the last renewal, and a new process 15s after its start.\n", true,
		},
		{"one that ended", nil, all[2:3], time.Hour, applied + "\nThe last sync of south with --only-write, by job-7, ended at 2026-11-22T15:04:05Z, 1h0m0s ago.\n", true},
		{"none", nil, nil, time.Second, applied + " No lease of linkwright run or sync is found.\n", true},
	} {
		o := Overview{Clusters: both, Opening: Opening{Leader: tt.leader, Writers: tt.writers, At: at.Add(tt.age)}, Ages: true}
		var out strings.Builder
		if err := o.Write(&out, Text); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(out.String(), "\nno link"); got != tt.want || o.AsDeclared() != tt.clean {
			t.Errorf("%s: clean %t\n%s\nwant\n%s", tt.name, o.AsDeclared(), got, tt.want)
		}
	}
}

// That leaders renew their leases is no news, whoever else is dead.
func TestStillWriters(t *testing.T) {
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	still := func(renewed, now time.Duration) string {
		o := Overview{Opening: Opening{
			Leader:  &Leader{Holder: "pod-0", Renewed: at, Lasts: time.Second},
			Writers: []Leader{{Only: "west", Holder: "pod-1", Renewed: at.Add(renewed), Lasts: 15 * time.Second}}, At: at.Add(now),
		}}
		var out strings.Builder
		if err := o.WithoutTime().Write(&out, JSON); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	first := still(time.Minute, time.Minute)
	if next := still(2*time.Minute, 2*time.Minute); next != first || !strings.Contains(first, `"onlyWrite": "west"`) || !strings.Contains(first, `"leading"`) {
		t.Errorf("%s\nand then\n%s", first, next)
	}
	silent := still(2*time.Minute, 2*time.Minute+7*time.Second)
	if next := still(3*time.Minute, 3*time.Minute+9*time.Second); silent == first || next != silent {
		t.Errorf("that it may be gone is news once: %s\nand then\n%s", silent, next)
	}
	if dead := still(2*time.Minute, 3*time.Minute); dead == first || strings.Count(dead, `"lost"`) != 2 {
		t.Errorf("that it died is news: %s", dead)
	}
}
