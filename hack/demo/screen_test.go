package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/hack/demo/recording"
	"github.com/linkwright/linkwright/hack/testbed"
)

// fake is a demo of so many clusters that nothing started.
func fake(t *testing.T, n int, out *bytes.Buffer) *demo {
	t.Helper()
	names, err := clusterNames(n)
	if err != nil {
		t.Fatal(err)
	}
	d := &demo{options: options{Clusters: n}, screen: &screen{out: out, start: time.Now()}}
	for i, name := range names {
		d.clusters = append(d.clusters, &cluster{Cluster: &testbed.Cluster{Name: name}, Gateway: fmt.Sprintf("192.0.2.%d", 11+i)})
	}
	return d
}

// full is what the clusters have when the mesh is complete.
func (d *demo) full() snapshot {
	var out snapshot
	for _, c := range d.clusters {
		out = append(out, clusterState{c.Name, expected(d.targets(c.Name, d.meshLinks()))})
	}
	return out
}

// TestWidth: the script's own lines fit the picture with any number of clusters.
func TestWidth(t *testing.T) {
	for n := 2; n <= 5; n++ {
		var out bytes.Buffer
		d := fake(t, n, &out)
		for _, s := range d.script() {
			d.screen.heading(s.title)
		}
		d.showClusters()
		before := d.full()
		d.screen.table(before.table())
		d.cluster("east").Gateway = newGateway
		d.screen.table(d.full().changes(before))
		for line := range strings.Lines(out.String()) {
			if columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); columns > recording.MaxWidth {
				t.Errorf("%d clusters: %d columns: %s", n, columns, line)
			}
		}
	}
}

func TestChanges(t *testing.T) {
	d := fake(t, 3, &bytes.Buffer{})
	before := d.full()
	d.cluster("east").Gateway = newGateway
	want := [][]string{
		{"CHANGED", "BEFORE", "AFTER", "IN"},
		{"gateways of Links", "192.0.2.12", newGateway, "west, north"},
		{"probe endpoints", "192.0.2.12", newGateway, "west, north"},
		{"endpoints of mirrored Services", "192.0.2.12", newGateway, "west, north"},
	}
	if diff := cmp.Diff(want, d.full().changes(before)); diff != "" {
		t.Errorf("changes: -want +got\n%s", diff)
	}
	if err := compare(before[0], d.full()[0].facts); err == nil || !strings.Contains(err.Error(), "cluster west: gateways of Links") {
		t.Errorf("compare: got %v", err)
	}
}

func TestWrap(t *testing.T) {
	words := []string{"1 Pod", "2 Services", "1 Link"}
	for columns, want := range map[int][]string{
		17: {"1 Pod,", "2 Services,", "1 Link"},
		18: {"1 Pod, 2 Services,", "1 Link"},
		25: {"1 Pod, 2 Services, 1 Link"},
	} {
		if diff := cmp.Diff(want, wrap(words, columns)); diff != "" {
			t.Errorf("wrap at %d columns: -want +got\n%s", columns, diff)
		}
	}
}

func TestParse(t *testing.T) {
	for _, wrong := range []string{"CLUSTERS=1", "CLUSTERS=6", "CLUSTERS=-2", "CLUSTERS=three", "DEMO_ONCE=perhaps", "ONLY=links"} {
		name, value, _ := strings.Cut(wrong, "=")
		_, err := parse(func(n string) string { return map[string]string{name: value}[n] })
		if err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: got %v", wrong, err)
		}
	}
}
