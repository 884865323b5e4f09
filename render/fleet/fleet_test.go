package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
)

// meshOf gives a tree with n clusters, one file each, and a mesh of all of them.
func meshOf(n int) fstest.MapFS {
	const mesh = "apiVersion: linkwright.dev/v1alpha1\nkind: Mesh\nmetadata: {name: all}\nspec:\n  clusters: {matchLabels: {env: prod}}\n"
	tree := fstest.MapFS{"mesh.yaml": {Data: []byte(mesh)}}
	for i := range n {
		name := fmt.Sprintf("c%04d", i)
		tree["clusters/"+name+".yaml"] = &fstest.MapFile{Data: []byte(cluster(name))}
	}
	return tree
}

// linksOf gives a tree of one file: n clusters, and as many Links as asked for between them.
func linksOf(n, links int) fstest.MapFS {
	var b strings.Builder
	for i := range n {
		b.WriteString(cluster(fmt.Sprintf("c%04d", i)) + "---\n")
	}
	for i := range links {
		source, target := i/(n-1), i%(n-1)
		if target >= source {
			target++
		}
		fmt.Fprintf(&b, "apiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata: {name: l%d}\nspec:\n  source: c%04d\n  target: c%04d\n---\n", i, source, target)
	}
	return fstest.MapFS{"fleet.yaml": {Data: []byte(b.String())}}
}

func cluster(name string) string {
	return "apiVersion: linkwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: " + name + ", labels: {env: prod}}\n" +
		"spec:\n  access:\n    kubeconfigSecret: {name: " + name + "}\n  apiServer: https://" + name + ".example.com:6443\n"
}

func load(t testing.TB, tree fstest.MapFS) *Fleet {
	t.Helper()
	f, problems := Load("0123456789abcdef", tree)
	if f == nil || len(problems) > 0 {
		t.Fatalf("Load: %v", problems)
	}
	return f
}

func TestFleetFindsLinksByBothEnds(t *testing.T) {
	const n = 7
	f := load(t, meshOf(n))
	all := slices.Collect(f.Links())
	if len(all) != n*(n-1) {
		t.Fatalf("Links: %d, want %d", len(all), n*(n-1))
	}
	if !slices.IsSortedFunc(all, func(a, b Link) int { return a.Pair().Compare(b.Pair()) }) {
		t.Error("Links are not sorted by pair")
	}
	for _, c := range f.Clusters {
		checkEnds(t, f, c.Name, all)
	}
	if f.Out("none") != nil || f.In("none") != nil {
		t.Error("an unknown cluster has links")
	}
}

func checkEnds(t *testing.T, f *Fleet, name api.ClusterName, all []Link) {
	t.Helper()
	var out, in []api.Pair
	for _, l := range all {
		if l.Source.Name == name {
			out = append(out, l.Pair())
		}
		if l.Target.Name == name {
			in = append(in, l.Pair())
		}
	}
	if diff := cmp.Diff(out, pairs(f.Out(name))); diff != "" {
		t.Errorf("Out(%s): -want +got\n%s", name, diff)
	}
	if diff := cmp.Diff(in, pairs(f.In(name))); diff != "" {
		t.Errorf("In(%s): -want +got\n%s", name, diff)
	}
}

func pairs(links []Link) []api.Pair {
	var out []api.Pair
	for _, l := range links {
		out = append(out, l.Pair())
	}
	return out
}

func TestFleetFindsClustersAndLinks(t *testing.T) {
	f := load(t, meshOf(3))
	if c, ok := f.Cluster("c0001"); !ok || c != &f.Clusters[1] {
		t.Errorf("Cluster(c0001) = %v, %v", c, ok)
	}
	if _, ok := f.Cluster("c"); ok {
		t.Error("Cluster(c) is found")
	}
	l, ok := f.Link(api.Pair{Source: "c0002", Target: "c0001"})
	if !ok || l.Source != &f.Clusters[2] || l.Target != &f.Clusters[1] || l.From != "Mesh all" {
		t.Errorf("Link = %+v, %v", l, ok)
	}
	if _, ok := f.Link(api.Pair{Source: "c0001", Target: "c0001"}); ok {
		t.Error("a cluster is linked to itself")
	}
}

func TestFleetHasItsDefaults(t *testing.T) {
	f := load(t, meshOf(2))
	if diff := cmp.Diff(f.Clusters[0].Spec.WithDefaults(), f.Clusters[0].Spec); diff != "" {
		t.Errorf("Cluster: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(api.LinkSpec{}.WithDefaults(), *f.Out("c0000")[0].Spec); diff != "" {
		t.Errorf("Link: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(api.SyncPolicy{}.WithDefaults(), f.Policy); diff != "" {
		t.Errorf("Policy: -want +got\n%s", diff)
	}
}

// The bytes of declared values must not change on their way: YAML 1.1 would read yes, 1_0 and 012 as something else.
func TestValuesArriveAsWritten(t *testing.T) {
	tree := fstest.MapFS{"a.yaml": {Data: []byte(strings.Replace(cluster("on"), "env: prod", `env: yes, a: "1.10", b: 'on', c: <y&>, "\x41": "\u00e4"`, 1))}}
	_, problems := Load("", tree)
	if len(problems) != 2 { // two label values that Kubernetes does not allow: they arrived
		t.Errorf("Load: %v", problems)
	}
	tree = fstest.MapFS{"a.yaml": {Data: []byte(strings.Replace(cluster("on"), "env: prod", `env: yes, a: "1.10", b: 'on', "\x41": off`, 1))}}
	want := map[string]string{"env": "yes", "a": "1.10", "b": "on", "A": "off"}
	if diff := cmp.Diff(want, load(t, tree).Clusters[0].Labels); diff != "" {
		t.Errorf("labels: -want +got\n%s", diff)
	}
}

func TestLoadRefusesWhatDoesNotFit(t *testing.T) {
	f, problems := Load("", meshOf(2100))
	if f != nil || len(problems) != 1 || !strings.Contains(problems[0].Message, "2100") && !strings.Contains(problems[0].Message, "4407900") {
		t.Errorf("Load: %v", problems)
	}
}

// Each cluster's overlay says where that cluster names it.
func TestOverlay(t *testing.T) {
	tree := meshOf(3)
	for _, name := range []string{"c0001", "c0002"} {
		f := tree["clusters/"+name+".yaml"]
		f.Data = append(f.Data, "  overlay: overlays/all\n"...)
	}
	tree["overlays/all/Kustomization"] = &fstest.MapFile{Data: []byte("kind: Component\n")}
	f := load(t, tree)
	if f.Clusters[0].Overlay != nil {
		t.Errorf("%s has an overlay: %v", f.Clusters[0].Name, f.Clusters[0].Overlay)
	}
	for _, c := range f.Clusters[1:] {
		o := c.Overlay
		if _, err := fs.Stat(o.Tree, path.Join(o.Dir, "Kustomization")); err != nil || o.At.String() != "clusters/"+string(c.Name)+".yaml:8:12" {
			t.Errorf("overlay %s at %s: %v", o.Dir, o.At, err)
		}
	}
}

// The room for links is made once, and there is just enough of it.
func TestRoomFits(t *testing.T) {
	const full = "{name: m}\nspec:\n  clusters: {}\n"
	const hubs = full + "  topology: HubAndSpoke\n  hubs: {matchExpressions: [{key: name, operator: In, values: [c0001, c0003]}]}\n"
	const except = "  except: [{source: c0001, target: c0004}, {source: c0003, target: c0001}]\n"
	for mesh, want := range map[string]int{full: 30, full + except: 28, hubs: 18, hubs + except: 16} {
		tree := meshOf(6)
		for name, f := range tree {
			f.Data = bytes.Replace(f.Data, []byte("env: prod}"), []byte("name: "+strings.TrimSuffix(path.Base(name), ".yaml")+"}"), 1)
		}
		tree["mesh.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: linkwright.dev/v1alpha1\nkind: Mesh\nmetadata: " + mesh)}
		f, problems := Load("", tree)
		if f == nil {
			t.Fatalf("Load: %v", problems)
		}
		if all := f.out.all; len(all) != want || cap(all) != want {
			t.Errorf("Load(%s): %d links in room for %d, want %d", mesh, len(all), cap(all), want)
		}
	}
}

// suspicious is a mesh of n clusters over which every check has most to do: each link is judged and counted.
func suspicious(n int) fstest.MapFS {
	tree := meshOf(n)
	for _, f := range tree {
		f.Data = append(f.Data, "  gateway: {enabled: false}\n"...)
	}
	const mesh = "apiVersion: linkwright.dev/v1alpha1\nkind: Mesh\nmetadata: {name: all}\nspec:\n  clusters: {}\n" +
		"  except: [{source: c0000, target: c0001}]\n" // one row with a slice of its own
	tree["mesh.yaml"] = &fstest.MapFile{Data: []byte(mesh)}
	tree["link.yaml"] = &fstest.MapFile{Data: []byte(linkDoc("c0002", "c0001") +
		"---\n" + "apiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata: {name: f}\n" +
		"spec: {source: c0003, target: c0001, federatedServiceSelector: {matchLabels: {a: b}}}\n")} // so all pairs are compared
	return tree
}

// BenchmarkLoad has the full mesh of 1,000 clusters; live-MB is what the fleet holds, against a budget of 1 GiB. The
// checks are measured alone, too, also where there is most to find.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("clusters=%d", n), func(b *testing.B) { benchmarkLoad(b, meshOf(n)) })
	}
	b.Run("links=200", func(b *testing.B) { benchmarkLoad(b, linksOf(15, 200)) })
	b.Run("links=20000", func(b *testing.B) { benchmarkLoad(b, linksOf(150, 20_000)) })
	b.Run("clusters in one file=1000", func(b *testing.B) { benchmarkLoad(b, linksOf(1000, 0)) })
	b.Run("suspicious=1000", func(b *testing.B) { benchmarkLoad(b, suspicious(1000)) })
	b.Run("lint/clusters=1000", func(b *testing.B) { benchmarkLint(b, meshOf(1000)) })
	b.Run("lint/suspicious=1000", func(b *testing.B) { benchmarkLint(b, suspicious(1000)) })
}

func benchmarkLoad(b *testing.B, tree fstest.MapFS) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	var f *Fleet
	for b.Loop() {
		if f, _ = Load("0123456789abcdef", tree); f == nil {
			b.Fatal("Load: no fleet")
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "live-MB")
	runtime.KeepAlive(f)
}

func benchmarkLint(b *testing.B, tree fstest.MapFS) {
	l := &loader{tree: tree, types: types{}, problemCollector: newProblemCollector()}
	l.read(tree)
	x := l.joiner().build("")
	b.ReportAllocs()
	for b.Loop() {
		lint(x, false)
	}
}

// failing is a tree one of whose files cannot be read.
type failing struct{ fstest.MapFS }

func (f failing) ReadFile(name string) ([]byte, error) {
	if name == "broken.yaml" {
		return nil, errors.New("disk is gone")
	}
	return f.MapFS.ReadFile(name)
}

// What cannot be read is unknown, not absent: neither an empty tree nor an undeclared cluster is derived from it.
func TestUnreadableIsNotAbsent(t *testing.T) {
	link := "apiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata: {name: a}\nspec: {source: a, target: b}\n"
	for name, c := range map[string]struct {
		tree fs.FS
		want []string
	}{
		"file": {failing{fstest.MapFS{"broken.yaml": {}}}, []string{"broken.yaml: cannot be read: disk is gone"}},
		"file and link": {
			failing{fstest.MapFS{"broken.yaml": {}, "link.yaml": {Data: []byte(link)}}},
			[]string{"broken.yaml: cannot be read: disk is gone", "warning: names of undeclared clusters are reported once these errors are corrected"},
		},
		"symbolic link": {
			fstest.MapFS{"a.yaml": {Mode: fs.ModeSymlink, Data: []byte("b.txt")}, "b.txt": {}},
			[]string{"a.yaml: cannot be read: symbolic links are not followed"},
		},
		"symbolic link to a directory": {
			fstest.MapFS{"more": {Mode: fs.ModeSymlink, Data: []byte("dir")}, "dir/x.txt": {}, "README": {Mode: fs.ModeSymlink, Data: []byte("dir/x.txt")}},
			[]string{"more: cannot be read: symbolic links are not followed"},
		},
		"no root": {os.DirFS("testdata/none"), []string{".: cannot be read: stat .: no such file or directory"}},
	} {
		f, problems := Load("", c.tree)
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" || f != nil {
			t.Errorf("%s: Load: fleet %v, -want +got\n%s", name, f, diff)
		}
	}
}
