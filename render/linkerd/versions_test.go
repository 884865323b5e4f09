package linkerd

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
)

// What runs is of the release that its number says, and an edge of the last one that came before it or in its month.
func TestRunning(t *testing.T) {
	for version, want := range map[string]string{
		"stable-2.14.10": "2.14", "stable-2.13.7": "", "2.15.0": "2.15", "version-2.16": "2.16", "enterprise-2.17.1": "2.17", "2.18.0-rc1": "2.18",
		"edge-23.7.3": "", "edge-23.12.1": "2.14", "edge-24.2.4": "2.15", "edge-24.10.1": "2.16", "edge-24.11.8": "2.17",
		"edge-25.3.4": "2.17", "edge-25.4.4": "2.18", "edge-25.12.1": "2.19", "edge-26.6.3": "2.20", "edge-27.1.1": "2.20",
		"2.20.1": "2.20", "2.21.0": "2.20", "v2.18.3": "2.18", "3.0.0": "2.20",
		"": "", "dev-abcdef": "", "git-1a2b": "", "2": "", "2.x": "", "99999999999999999999.1": "",
	} {
		got, ok := Running(version)
		if ok && got.String() != want || ok != (want != "") {
			t.Errorf("Running(%q) = %q, %t, want %q", version, got, ok, want)
		}
	}
}

// Only a control plane that lists Servers in a version that its target does not serve cannot use it.
func TestSkewed(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"2.18.0", "stable-2.14.10"}: true, {"edge-26.6.3", "2.15.2"}: true, {"2.16.0", "2.15.0"}: true,
		{"2.18.0", "2.16.0"}: false, {"2.15.0", "2.14.0"}: false, {"2.18.0", "mine"}: false, {"mine", "2.14.0"}: false, {"2.18.0", "2.20.0"}: false,
	} {
		if got := Incompatible(pair[0], pair[1]); got != want {
			t.Errorf("Skewed(%v) = %t, want %t", pair, got, want)
		}
	}
}

// What a source's Links are written in is what its API serves, whatever runs; what controllers of ours need is asked for where they may be.
func TestFactsOfOldLinkerd(t *testing.T) {
	const nothing = "LinkerdNotInstalled the API server does not serve links.multicluster.linkerd.io: install the multicluster extension of Linkerd"
	for _, tt := range []struct {
		version               string
		unserved              int // of the versions of Links, the newest first
		role                  bool
		roles, why, says, out string
	}{
		{"stable-2.14.10", 2, false, "", "", "", "v1alpha1"},
		{"2.16.0", 2, false, "", "", "", "v1alpha1"},
		{"2.17.1", 1, false, "", "", "", "v1alpha2"},
		{"2.18.0", 1, true, "", "", "v1alpha2", "v1alpha2"}, // the extension is upgraded apart
		{"2.17.1", 3, true, "source", nothing, "", "v1alpha2"},
		{"mine", 3, true, "source", nothing, "", "v1alpha3"},
		{"mine", 2, false, "", "", "v1alpha1", "v1alpha1"},
		{"edge-25.4.4", 0, false, "source", "LinkerdNotInstalled ClusterRole " + LocalAccessRole + " is missing: install the multicluster extension of Linkerd 2.18 or later", "", "v1alpha3"},
		{"edge-25.1.1", 0, true, "", "", "v1alpha3", "v1alpha3"}, // discovery says more than an edge's month
		{"2.20.0", 0, true, "", "", "", "v1alpha3"},
	} {
		l := installed(t)
		l.config("clusterDomain: cluster.local\nlinkerdVersion: " + tt.version + "\n")
		for _, v := range LinkVersions()[:tt.unserved] {
			l.seen.Unserved = append(l.seen.Unserved, "Link."+v+".multicluster.linkerd.io")
		}
		if !tt.role {
			l.remove(roleKey(LocalAccessRole))
		}
		f := read(l, api.Cluster{})
		if roles, why := lacks(f); roles != tt.roles || why != tt.why {
			t.Errorf("%+v: lacks %q: %s", tt, roles, why)
		}
		if f.Links != tt.says || f.LinkVersion() != tt.out {
			t.Errorf("%+v: Links %q, written in %s", tt, f.Links, f.LinkVersion())
		}
	}
}

// The table of docs/reference/versions.md is that of the code.
func TestReleasesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/versions.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range Releases() {
		from, discovery := "`External`", "remote discovery from 2.14 and 2.15"
		if r.Controllers {
			from = "yes"
		}
		if r.Servers {
			discovery = "yes"
		}
		want = append(want, fmt.Sprintf("| %s | %d.%d | %s | yes | %s | %s |", r, r.Edge[0], r.Edge[1], r.Link, from, discovery))
	}
	got := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return !strings.HasPrefix(line, "| 2.") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/reference/versions.md: -want +got\n%s", diff)
	}
}
