package deploy_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// kustomization is as much of kustomize's format as this repository uses; any other field fails the test.
type kustomization struct {
	APIVersion         string      `json:"apiVersion"`
	Kind               string      `json:"kind"`
	Resources          []string    `json:"resources"`
	Images             []image     `json:"images"`
	Patches            []patch     `json:"patches"`
	ConfigMapGenerator []generated `json:"configMapGenerator"`
}

// generated is a ConfigMap that kustomize makes of files.
type generated struct {
	Name, Namespace string
	Files           []string // KEY=FILE
	Options         struct {
		DisableNameSuffixHash bool
		Labels                map[string]string
	}
}

// object returns the ConfigMap, and notes the files it read.
func (g generated) object(t *testing.T, dir string, read map[string]bool) *unstructured.Unstructured {
	t.Helper()
	data := map[string]any{}
	for _, f := range g.Files {
		key, file, _ := strings.Cut(f, "=")
		raw, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		read[filepath.Join(dir, file)], data[key] = true, string(raw)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": data}}
	o.SetName(g.Name)
	o.SetNamespace(g.Namespace)
	o.SetLabels(g.Options.Labels)
	return o
}

type image struct{ Name, NewName, NewTag string }

type patch struct {
	Target struct{ Kind, Name string } `json:"target"`
	Patch  string                      `json:"patch"` // operations of JSON patch: add and replace
}

type operation struct {
	Op, Path string
	Value    any
}

// build returns the objects that a directory's kustomization makes, in order, and notes every file it read.
func build(t *testing.T, dir string, read map[string]bool) []*unstructured.Unstructured {
	t.Helper()
	var k kustomization
	file := filepath.Join(dir, "kustomization.yaml")
	load(t, file, &k)
	read[file] = true
	var out []*unstructured.Unstructured
	for _, r := range k.Resources {
		at := filepath.Join(dir, r)
		if filepath.Ext(at) != ".yaml" {
			out = append(out, build(t, at, read)...)
			continue
		}
		read[at] = true
		out = append(out, documents(t, at)...)
	}
	for _, g := range k.ConfigMapGenerator {
		out = append(out, g.object(t, dir, read))
	}
	for _, o := range out {
		for _, i := range k.Images {
			rename(o, i)
		}
	}
	for _, p := range k.Patches {
		p.apply(t, out)
	}
	return out
}

func load(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func documents(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(doc, &o.Object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, o)
	}
	return out
}

// podSpec returns the pod that an object makes, or nil.
func podSpec(o *unstructured.Unstructured) map[string]any {
	at := map[string][]string{
		"Deployment": {"spec", "template", "spec"},
		"CronJob":    {"spec", "jobTemplate", "spec", "template", "spec"},
	}[o.GetKind()]
	if at == nil {
		return nil
	}
	spec, _, _ := unstructured.NestedMap(o.Object, at...)
	return spec
}

func rename(o *unstructured.Unstructured, i image) {
	walk(o.Object, func(m map[string]any) {
		if old, ok := m["image"].(string); ok && strings.HasPrefix(old, i.Name+":") {
			m["image"] = i.NewName + ":" + i.NewTag
		}
	})
}

func walk(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(v)
		for _, x := range v {
			walk(x, f)
		}
	case []any:
		for _, x := range v {
			walk(x, f)
		}
	}
}

// apply patches the one object that the target names.
func (p patch) apply(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == p.Target.Kind && o.GetName() == p.Target.Name
	})
	if i < 0 {
		t.Fatalf("patch: there is no %s %s", p.Target.Kind, p.Target.Name)
	}
	var ops []operation
	if err := yaml.UnmarshalStrict([]byte(p.Patch), &ops); err != nil {
		t.Fatalf("patch of %s: %v", p.Target.Name, err)
	}
	for _, op := range ops {
		if op.Op != "add" && op.Op != "replace" || !put(objects[i].Object, strings.Split(op.Path, "/")[1:], op.Value) {
			t.Fatalf("patch of %s: cannot %s %s", p.Target.Name, op.Op, op.Path)
		}
	}
}

// put sets what a JSON pointer names; "-" is the place after a list's last item. False: there is no such place.
func put(at any, path []string, value any) bool {
	parent, list := at, ""
	for i, key := range path {
		switch v := at.(type) {
		case map[string]any:
			if i == len(path)-1 {
				_, there := v[key]
				v[key] = value
				return there
			}
			parent, list, at = v, key, v[key]
		case []any:
			if key == "-" && i == len(path)-1 {
				parent.(map[string]any)[list] = append(v, value)
				return true
			}
			n, err := strconv.Atoi(key)
			if err != nil || n < 0 || n >= len(v) {
				return false
			}
			at = v[n]
		default:
			return false
		}
	}
	return false
}

// TestEveryFileIsUsed: a manifest that no kustomization names is one that nobody applies.
func TestEveryFileIsUsed(t *testing.T) {
	read := map[string]bool{"monitoring/rules.yaml": true} // it is prometheusrule.yaml for a Prometheus without the operator
	for _, dir := range []string{"deployment", "cronjob", "cluster", "confine", "sweep", "monitoring", "../examples/install/management", "../examples/install/west"} {
		observed := map[string]bool{}
		for _, o := range build(t, dir, read) {
			id := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
			if observed[id] {
				t.Errorf("%s: %s stands there twice", dir, id)
			}
			observed[id] = true
		}
	}
	for _, root := range []string{".", "../examples/install"} {
		err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && file == "chart" {
				return filepath.SkipDir // of Helm, of which the other files are made
			}
			if err == nil && !d.IsDir() && filepath.Ext(file) == ".yaml" && !read[file] {
				t.Errorf("%s is in no kustomization", file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPods: what a restricted namespace asks of a pod, and that an overlay's image and arguments arrive.
func TestPods(t *testing.T) {
	for dir, want := range map[string][]any{
		"deployment": {"run", "--git-cache=/var/cache/linkwright", "--log-format=json"},
		"cronjob":    {"sync", "--git-cache=/var/cache/linkwright", "--log-format=json"},
		"../examples/install/management": {
			"run", "--git-cache=/var/cache/linkwright", "--log-format=json", "--repo=https://git.example.com/mesh/fleet.git", "--git-credentials-dir=/etc/linkwright/git",
		},
	} {
		objects := build(t, dir, map[string]bool{})
		pod := podSpec(objects[len(objects)-1])
		containers, _, _ := unstructured.NestedSlice(pod, "containers")
		if len(containers) != 1 {
			t.Fatalf("%s: %d containers", dir, len(containers))
		}
		c := containers[0].(map[string]any)
		if !slices.Equal(c["args"].([]any), want) {
			t.Errorf("%s: args are %v, want %v", dir, c["args"], want)
		}
		image, _ := c["image"].(string)
		if placeholder := strings.HasPrefix(image, "ghcr.io/"); placeholder == strings.Contains(dir, "examples") {
			t.Errorf("%s: image is %s", dir, image)
		}
		for _, at := range []struct {
			in   map[string]any
			path string
			want any
		}{
			{pod, "securityContext/runAsNonRoot", true},
			{pod, "securityContext/seccompProfile/type", "RuntimeDefault"},
			{c, "securityContext/readOnlyRootFilesystem", true},
			{c, "securityContext/allowPrivilegeEscalation", false},
		} {
			if got, _, _ := unstructured.NestedFieldNoCopy(at.in, strings.Split(at.path, "/")...); got != at.want {
				t.Errorf("%s: %s is %v, want %v", dir, at.path, got, at.want)
			}
		}
		args, _, _ := unstructured.NestedStringSlice(c, "args")
		if dirs := writable(pod, c); len(dirs) != 2 || !slices.Contains(args, "--git-cache="+dirs[0]) || dirs[1] != "/tmp" {
			t.Errorf("%s: %v can be written, want the directory of --git-cache in %q, and for temporary files", dir, dirs, args)
		}
		if drop, _, _ := unstructured.NestedStringSlice(c, "securityContext", "capabilities", "drop"); !slices.Equal(drop, []string{"ALL"}) {
			t.Errorf("%s: drops %v, want ALL", dir, drop)
		}
	}
}

// writable returns the paths of a container that are empty directories.
func writable(pod, container map[string]any) (paths []string) {
	empty := map[any]bool{}
	volumes, _, _ := unstructured.NestedSlice(pod, "volumes")
	for _, v := range volumes {
		v := v.(map[string]any)
		empty[v["name"]] = v["emptyDir"] != nil
	}
	mounts, _, _ := unstructured.NestedSlice(container, "volumeMounts")
	for _, m := range mounts {
		if m := m.(map[string]any); empty[m["name"]] && m["readOnly"] != true {
			paths = append(paths, m["mountPath"].(string))
		}
	}
	return paths
}
