package render

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// Each archive is a tree of declarations, facts.yaml, perhaps settings.yaml, and what every end then holds.
func TestRender(t *testing.T) {
	for _, file := range archives(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, file) })
	}
}

func archives(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../testdata/render/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	return files
}

func golden(t *testing.T, file string) {
	in := read(t, file)
	got := make([]txtar.File, 0, len(in.ends))
	for _, want := range in.ends {
		got = append(got, txtar.File{Name: nameOf(want.End), Data: []byte(show(t, want))})
	}
	if *update {
		in.archive.Files = append(in.given, got...)
		if err := os.WriteFile(file, txtar.Format(in.archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(texts(in.goldens), texts(got)); diff != "" {
		t.Errorf("render(%s): -want +got\n%s", file, diff)
	}
}

func texts(files []txtar.File) []string {
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = "-- " + f.Name + " --\n" + string(f.Data)
	}
	return out
}

// settings is what an archive may say beside declarations and facts.
type settings struct {
	appliedIn          string
	Owner              string            `json:"owner"`
	NoToken            bool              `json:"noToken"`            // no credential was issued yet
	ControlPlaneSecret bool              `json:"controlPlaneSecret"` // it is live in every source
	Generations        []string          `json:"generations"`        // names of Secrets that tokens are bound to, in every target
	KeepToken          bool              `json:"keepToken"`          // of the former mode
	Unknown            []api.ClusterName `json:"unknown"`            // these were not read
	Missing            []struct {        // of the facts of a cluster
		Cluster             api.ClusterName `json:"cluster"`
		Role, Code, Message string
	} `json:"missing"`
}

// scene is one archive, read and rendered.
type scene struct {
	archive        *txtar.Archive
	given, goldens []txtar.File
	ends           []object.Desired
}

func read(t *testing.T, file string) scene {
	t.Helper()
	return readOn(t, file, "")
}

// readOn is read where live Links were last applied in another version.
func readOn(t *testing.T, file, appliedIn string) scene {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(bytes.TrimSpace(archive.Comment)) == 0 {
		t.Error("the first line must say the behaviour in words")
	}
	s, w := scene{archive: archive}, settings{Owner: object.DefaultOwner, appliedIn: appliedIn}
	tree, facts := fstest.MapFS{}, map[api.ClusterName]linkerd.Facts{}
	for _, f := range archive.Files {
		switch {
		case strings.HasPrefix(f.Name, "ends/"):
			s.goldens = append(s.goldens, f)
			continue
		case f.Name == "facts.yaml":
			facts, err = linkerd.ParseFacts(f.Data)
		case f.Name == "settings.yaml":
			err = yaml.UnmarshalStrict(f.Data, &w)
		default:
			tree[f.Name] = &fstest.MapFile{Data: f.Data}
		}
		if err != nil {
			t.Fatal(err)
		}
		s.given = append(s.given, f)
	}
	f, problems := fleet.Load("", tree)
	if f == nil {
		t.Fatalf("the declarations are wrong: %v", problems)
	}
	s.ends = rendered(f, facts, w)
	return s
}

func rendered(f *fleet.Fleet, facts map[api.ClusterName]linkerd.Facts, w settings) []object.Desired {
	known := map[api.ClusterName]*linkerd.Facts{}
	for name, fact := range facts {
		known[name] = &fact
	}
	for _, m := range w.Missing {
		known[m.Cluster].Missing = append(known[m.Cluster].Missing,
			linkerd.Missing{Role: linkerd.Role(m.Role), Why: object.Reason{Code: reason.Code(m.Code), Message: m.Message}})
	}
	for _, name := range w.Unknown {
		delete(known, name)
	}
	var ends []object.Desired
	r := Renderer{Owner: w.Owner}
	for l := range f.Links() {
		in := Input{Link: l, Source: known[l.Source.Name], Target: known[l.Target.Name], ControlPlaneSecretLive: w.ControlPlaneSecret, AppliedIn: w.appliedIn}
		if w.KeepToken {
			in.Tokens = []object.Key{TokenSecret("linkwright", l.Source.Name)}
		}
		for _, name := range w.Generations {
			in.Generations = append(in.Generations, object.Key{Kind: "Secret", Namespace: object.AccessNamespace, Name: name})
		}
		if !w.NoToken {
			in.Credential = &linkerd.Credential{Token: object.NewSecret([]byte("token-of-" + l.Source.Name)), Fingerprint: "0123456789ab"}
		}
		ends = append(ends, r.Source(in), r.Target(in))
	}
	for _, c := range f.Clusters {
		if base := r.Complete(c, nil)[0]; len(base.Objects) > 0 {
			ends = append(ends, base)
		}
	}
	return ends
}

// nameOf is where an end stands in an archive.
func nameOf(e object.End) string {
	if e.IsBase() {
		return fmt.Sprintf("ends/%s/base.yaml", e.Cluster)
	}
	return fmt.Sprintf("ends/%s/%s-%s.yaml", e.Cluster, e.Link.Source, e.Link.Target)
}

func show(t *testing.T, w object.Desired) string {
	t.Helper()
	if w.Blocked != nil {
		return fmt.Sprintf("Blocked: %s: %s\n", w.Blocked.Code, w.Blocked.Message)
	}
	var b strings.Builder
	for _, o := range w.Objects {
		var m map[string]any
		if err := json.Unmarshal(o.Body.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		decodeKubeconfig(t, m)
		text, err := yaml.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "--- # phase %d\n%s", o.Phase, text)
	}
	return b.String()
}

// decodeKubeconfig decodes a kubeconfig so that people can read it.
func decodeKubeconfig(t *testing.T, m map[string]any) {
	t.Helper()
	data, ok := m["data"].(map[string]any)
	if !ok {
		return
	}
	var raw struct{ Kubeconfig []byte }
	again, err := json.Marshal(data)
	if err != nil || json.Unmarshal(again, &raw) != nil {
		t.Fatalf("data is no kubeconfig: %s", again)
	}
	var config any
	if err := yaml.Unmarshal(raw.Kubeconfig, &config); err != nil {
		t.Fatalf("the kubeconfig is no YAML: %v", err)
	}
	data["kubeconfig"] = config
}
