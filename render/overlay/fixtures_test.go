package overlay

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

const testNamespace = "linkerd-multicluster"

// canary is what stands in every Secret of a scene.
const canary = "the-token-that-must-not-enter"

// scene returns the ends of cluster west, which is the source of links to so many targets, and the target of the first;
// the base comes last. Controllers are spread, so that they have disruption budgets.
func scene(tb testing.TB, targets int) []object.Desired {
	tb.Helper()
	var decl, facts strings.Builder
	cluster := func(name string) {
		fmt.Fprintf(&decl, "apiVersion: linkwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: %s}\nspec: {access: {kubeconfigSecret: {name: %s}}}\n---\n", name, name)
		fmt.Fprintf(&facts, "%s:\n  uid: uid-of-%s\n  version: edge-26.6.3\n  domains: {cluster: cluster.local, trust: cluster.local}\n"+
			"  api: {server: \"https://%s.example.com:6443\", ca: CA}\n  gateway:\n    addresses: [192.0.2.20]\n    port: \"4143\"\n"+
			"    identity: gateway\n    probe: {path: /ready, port: \"4191\", period: 3s}\n", name, name, name)
	}
	link := func(source, target string) {
		fmt.Fprintf(&decl, "apiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata: {name: %s-%s}\nspec:\n  source: %s\n  target: %s\n"+
			"  controller: {replicas: 2, podAntiAffinity: true}\n  remoteDiscoverySelector: {matchLabels: {mirror.linkerd.io/exported: remote-discovery}}\n---\n", source, target, source, target)
	}
	cluster("west")
	for i := range targets {
		name := fmt.Sprintf("east-%d", i)
		cluster(name)
		link("west", name)
		if i == 0 {
			link(name, "west")
		}
	}
	f, problems := fleet.Load("", fstest.MapFS{"fleet.yaml": {Data: []byte(strings.TrimSuffix(decl.String(), "---\n"))}})
	if f == nil {
		tb.Fatal(problems)
	}
	known, err := linkerd.ParseFacts([]byte(facts.String()))
	if err != nil {
		tb.Fatal(err)
	}
	return ends(f, known)
}

func ends(f *fleet.Fleet, facts map[api.ClusterName]linkerd.Facts) []object.Desired {
	r := render.Renderer{Owner: object.DefaultOwner}
	input := func(l fleet.Link) render.Input {
		source, target := facts[l.Source.Name], facts[l.Target.Name]
		return render.Input{
			Link: l, Source: &source, Target: &target, ControlPlaneSecretLive: true,
			Credential: &linkerd.Credential{Token: object.NewSecret([]byte(canary)), Fingerprint: "0123456789ab"},
		}
	}
	var out []object.Desired
	for l := range f.Links() {
		if l.Source.Name == "west" {
			out = append(out, r.Source(input(l)))
		}
		if l.Target.Name == "west" {
			out = append(out, r.Target(input(l)))
		}
	}
	return append(out, object.Desired{End: object.End{Cluster: "west"}})
}

// direct builds in this process and takes every Component for good. It keeps the jobs.
type direct struct {
	wide int

	mu   sync.Mutex
	jobs []job
	fail func(job) error
}

func (d *direct) width() int { return max(d.wide, 1) }

func (d *direct) build(ctx context.Context, j job) (buildResult, error) {
	d.mu.Lock()
	d.jobs = append(d.jobs, j)
	d.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return buildResult{}, err
	}
	if d.fail != nil {
		if err := d.fail(j); err != nil {
			return buildResult{}, err
		}
	}
	b, err := j.run()
	if err != nil {
		err = buildError(err.Error())
	}
	return b, err
}

func (*direct) check(tree fs.FS, dir string, _ api.Pos) (validated, []api.Problem) {
	c := validated{Dir: dir, File: path.Join(dir, "kustomization.yaml"), Files: map[string][]byte{}}
	err := fs.WalkDir(tree, dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		c.Files[name], err = fs.ReadFile(tree, name)
		return err
	})
	var k types.Kustomization
	if err == nil {
		err = yaml.Unmarshal(c.Files[c.File], &k)
	}
	if err != nil {
		return c, []api.Problem{{Pos: c.pos(), Message: err.Error()}}
	}
	text, err := json.Marshal(c.Files)
	if err != nil {
		return c, []api.Problem{{Pos: c.pos(), Message: err.Error()}}
	}
	c.Hash = fmt.Sprintf("%x", sha256.Sum256(text))
	for i, p := range k.Patches {
		if p.Target != nil {
			c.Patches = append(c.Patches, patch{At: api.Pos{File: c.File, Line: i + 1}, Target: *p.Target})
		}
	}
	return c, nil
}

const testDir = "overlays/west"

// in is an Input with a Component of one file, or of files by their names in its directory.
func in(ends []object.Desired, kustomization string, more ...string) Input {
	tree := fstest.MapFS{}
	for i := 0; i < len(more); i += 2 {
		tree[path.Join(testDir, more[i])] = &fstest.MapFile{Data: []byte(more[i+1])}
	}
	tree[path.Join(testDir, "kustomization.yaml")] = &fstest.MapFile{Data: []byte("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + kustomization)}
	return Input{
		Tree: tree, Dir: testDir, At: api.Pos{File: "fleet.yaml", Line: 7, Col: 12}, Cluster: "west",
		Owner: object.DefaultOwner, Namespace: testNamespace, Ends: ends,
	}
}
