package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/render/confine"
)

const root = "../.."

// The committed files are what is generated.
func TestFiles(t *testing.T) {
	files, err := Files(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 15 {
		t.Errorf("%d files are generated, want those of all bases", len(files))
	}
	for _, f := range files {
		committed, err := os.ReadFile(filepath.Join(root, f.Path))
		if err != nil || !bytes.Equal(committed, f.Text) {
			t.Errorf("%s is not up to date, %v (make generate): -committed +generated\n%s", f.Path, err, cmp.Diff(string(committed), string(f.Text)))
		}
	}
}

func TestLint(t *testing.T) {
	dir := filepath.Join(root, chartDir)
	for name, values := range map[string]map[string]any{"least": example(), "all": everything()} {
		if err := lint(dir, values); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := lint(dir, map[string]any{"replica": 2}); err == nil {
		t.Error("lint accepts an unknown value")
	}
}

// A package of one chart is the same from any checkout, and is a chart.
func TestPack(t *testing.T) {
	var packages [][]byte
	for i := range 2 {
		dir := filepath.Join(t.TempDir(), "chart")
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, chartDir))); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1e9*i), 0)
		if err := os.Chtimes(filepath.Join(dir, "Chart.yaml"), at, at); err != nil {
			t.Fatal(err)
		}
		file, err := pack(dir, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, raw)
	}
	if !bytes.Equal(packages[0], packages[1]) {
		t.Error("two packages of one chart differ")
	}
	packed, err := loader.LoadArchive(bytes.NewReader(packages[0]))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(packed.Templates), len(loaded(t).Templates); got != want || packed.Schema == nil {
		t.Errorf("the package has %d templates, want %d, and a schema of %d bytes", got, want, len(packed.Schema))
	}
}

// A PrometheusRule and the ConfigMap hold the very alerts and the very dashboard of deploy/monitoring: Helm expands nothing in them.
func TestMonitoring(t *testing.T) {
	files := map[string][]byte{}
	for _, name := range []string{"rules.yaml", "dashboard.json"} {
		raw, err := os.ReadFile(filepath.Join(root, monitoring, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = raw
	}
	var rules any
	if err := yaml.Unmarshal(files["rules.yaml"], &rules); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, o := range mustRender(t, "mesh", with(t, "{prometheusRule: {enabled: true}, dashboard: {enabled: true}}")) {
		switch o.GetKind() {
		case "PrometheusRule":
			if diff := cmp.Diff(rules, o.Object["spec"]); diff != "" {
				t.Errorf("the alerts: -want +got\n%s", diff)
			}
		case "ConfigMap":
			got, _, _ := unstructured.NestedString(o.Object, "data", "linkwright.json")
			if diff := cmp.Diff(string(files["dashboard.json"]), got); diff != "" || o.GetLabels()["grafana_dashboard"] != "1" {
				t.Errorf("the dashboard, with labels %v: -want +got\n%s", o.GetLabels(), diff)
			}
		default:
			continue
		}
		found++
	}
	if found != 2 {
		t.Errorf("%d of 2 objects are rendered", found)
	}
}

func loaded(t testing.TB) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(filepath.Join(root, chartDir))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// with returns the least values of a management cluster with others over them, of which each is YAML.
func with(t testing.TB, texts ...string) map[string]any {
	t.Helper()
	out := example()
	for _, text := range texts {
		over := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(text), &over); err != nil {
			t.Fatal(err)
		}
		out = loader.MergeMaps(out, over)
	}
	return out
}

// render is helm template for a release of a name, in a namespace of the same name.
func render(t testing.TB, release string, values map[string]any) ([]*unstructured.Unstructured, error) {
	t.Helper()
	return renderOn(t, "v1.30.0", release, values)
}

func renderOn(t testing.TB, version, release string, values map[string]any) ([]*unstructured.Unstructured, error) {
	t.Helper()
	c := loaded(t)
	all, err := util.ToRenderValues(c, values, common.ReleaseOptions{Name: release, Namespace: release, IsInstall: true}, capabilities(version))
	if err != nil {
		return nil, err
	}
	texts, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if strings.HasSuffix(name, ".yaml") {
			out = append(out, objects(t, texts[name])...)
		}
	}
	return out, nil
}

func objects(t testing.TB, text string) (out []*unstructured.Unstructured) {
	t.Helper()
	for doc := range strings.SplitSeq(text, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(doc), &o.Object); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
	return out
}

func mustRender(t testing.TB, release string, values map[string]any) []*unstructured.Unstructured {
	t.Helper()
	out, err := render(t, release, values)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// names returns kinds and names of objects, sorted, without the admission policies, of which there are many.
func names(objects []*unstructured.Unstructured) (out []string) {
	for _, o := range objects {
		if !strings.HasPrefix(o.GetKind(), "ValidatingAdmissionPolicy") {
			out = append(out, strings.TrimPrefix(o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName(), " "))
		}
	}
	slices.Sort(out)
	return out
}

// What linkwright itself expects of the admission policies, the chart installs, under every name.
func TestPolicies(t *testing.T) {
	for owner, account := range map[string]confine.Account{
		"linkwright": {Owner: "linkwright", Namespace: "mesh", Name: "linkwright", Multicluster: "linkerd-multicluster"},
		"blue":       {Owner: "blue", Namespace: "mesh", Name: "somebody", Multicluster: "links"},
	} {
		values := with(t, "member: {enabled: true, multiclusterNamespace: "+account.Multicluster+"}", "owner: "+owner, "serviceAccount: {name: "+account.Name+"}")
		var got []any
		for _, o := range mustRender(t, "mesh", values) {
			if strings.HasPrefix(o.GetKind(), "ValidatingAdmissionPolicy") {
				got = append(got, map[string]any{"kind": o.GetKind(), "name": o.GetName(), "part-of": o.GetLabels()["app.kubernetes.io/part-of"], "spec": o.Object["spec"]})
			}
		}
		var want []any
		for _, o := range confine.Objects(account) {
			want = append(want, map[string]any{"kind": o.Kind, "name": o.Metadata.Name, "part-of": o.Metadata.Labels["app.kubernetes.io/part-of"], "spec": plain(t, o.Spec)})
		}
		if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
			t.Errorf("policies of %s: -want +got\n%s", owner, diff)
		}
	}
}

func plain(t *testing.T, v any) (out any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
