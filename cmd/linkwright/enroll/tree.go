package enroll

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/declared"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/source"
)

// meshFile declares the mesh of --mesh.
const meshFile = "mesh.yaml"

// tree is what a checkout declares, and what is missing there.
type tree struct {
	origin   declared.Origin   // with the files
	fleet    *fleet.Fleet      // as it is; empty: nothing is declared
	files    map[string]string // declarations to commit, by their path below the directory
	added    []string          // clusters that they declare
	linkless bool              // not even with the files a link is declared
}

// readTree reads the declarations of a directory, which may have none yet.
func (b *bootstrap) readTree(c *cobra.Command, from checkout) (tree, error) {
	out := tree{files: map[string]string{}, origin: declared.Origin{Dir: filepath.ToSlash(filepath.Clean(from.dir))}}
	if out.origin.Dir == "." {
		out.origin.Dir = ""
	}
	var err error
	if out.origin.Snapshot, err = source.Dir(from.dir, b.readable(from)); err != nil {
		return out, err
	}
	k, err := b.f.Overlays.Open(c.Context(), b.f.Management.Owner, cli.Warner(b.notes))
	if err != nil {
		return out, err
	}
	defer k.Close()
	f, problems, err := k.Load(c.Context(), out.origin)
	empty := func(p api.Problem) bool {
		return p.Code == fleet.NoDeclarations || p.Code == fleet.NoClusters || p.Warning
	}
	if out.fleet = f; err == nil && f == nil && !slices.ContainsFunc(problems, func(p api.Problem) bool { return !empty(p) }) {
		out.fleet = &fleet.Fleet{}
		return out, nil
	}
	if err == nil && f == nil {
		for _, p := range problems {
			cli.Say(b.notes, report.Line(p))
		}
		return out, cli.Exit{Code: cli.ExitInvalid}
	}
	return out, err
}

// readable says which files of a checkout are declarations.
func (b *bootstrap) readable(from checkout) source.Options {
	return source.Options{Include: b.f.Git.Options.Include, Exclude: b.f.Git.Options.Exclude, Ignored: from.ignored}
}

// declare adds a file for each cluster that is not declared yet, for each link from or to such a cluster, and for a mesh. A link between
// declared clusters that is not declared stays out: somebody may have removed it from Git a moment ago.
func (t *tree) declare(found []imported, mesh string, o source.Options) (notes []string, err error) {
	results := declarations(found)
	for _, d := range results.docs {
		if _, known := t.fleet.Cluster(api.ClusterName(d.name)); d.kind == "Cluster" && !known {
			t.added = append(t.added, d.name)
		}
	}
	for _, d := range results.docs {
		switch source, target := fmt.Sprint(d.spec["source"]), fmt.Sprint(d.spec["target"]); {
		case d.kind == "Cluster" && slices.Contains(t.added, d.name):
			err = errors.Join(err, t.add("clusters/"+d.name+".yaml", d))
		case d.kind == "Link" && (slices.Contains(t.added, source) || slices.Contains(t.added, target)):
			err = errors.Join(err, t.add("links/"+d.name+".yaml", d))
		}
	}
	err = errors.Join(err, t.reachable(results.docs, found))
	if mesh != "" && !t.hasMesh(mesh) {
		err = errors.Join(err, t.add(meshFile, &doc{kind: "Mesh", name: mesh, spec: map[string]any{"clusters": map[string]any{}}}))
	}
	if err != nil || len(t.files) == 0 {
		return results.notes, err
	}
	if fleet.Unbuilt(t.origin.Tree) {
		return nil, fmt.Errorf("the declarations are built by kustomize, so linkwright does not add files to them: commit the declarations of %s yourself (linkwright import prints them), then run this command again",
			strings.Join(t.added, ", "))
	}
	return results.notes, t.merge(o)
}

// reachable reports the new clusters whose declared address works only on this machine: links to them would be blocked.
func (t *tree) reachable(docs []*doc, found []imported) (err error) {
	for _, d := range docs {
		at := slices.IndexFunc(found, func(c imported) bool { return string(c.name) == d.name })
		if d.kind != "Cluster" || !slices.Contains(t.added, d.name) || at < 0 || d.spec["apiServer"] != nil {
			continue
		}
		if server := found[at].facts.API.Server; linkerd.Loopback(server) {
			err = errors.Join(err, cli.Usage("cluster %s: %s works only on this machine: give the address that other clusters use with --api-server %s=https://HOST:PORT", d.name, server, d.name))
		}
	}
	return err
}

// hasMesh reports whether a mesh of this name is declared. Of declarations that kustomize builds, only one with links is known.
func (t *tree) hasMesh(name string) bool {
	if slices.Contains(fleet.Meshes(t.origin.Tree), name) {
		return true
	}
	for l := range t.fleet.Links() {
		if l.From == "Mesh "+name {
			return true
		}
	}
	return false
}

func (t *tree) add(name string, d *doc) error {
	var text bytes.Buffer
	err := d.write(&text)
	t.files[name] = strings.TrimPrefix(text.String(), "---\n")
	return err
}

// merge makes the origin one with the files, by a copy on disk.
func (t *tree) merge(o source.Options) error {
	dir, err := os.MkdirTemp("", "linkwright-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays in a temporary directory harms nobody
	if err := os.CopyFS(dir, t.origin.Tree); err != nil {
		return err
	}
	for name, text := range t.files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			return err
		}
	}
	t.origin.Snapshot, err = source.Dir(dir, o)
	return err
}

// subject is that of the commit.
func (t *tree) subject() string {
	switch n := len(t.added); {
	case n == 0:
		return "Declare a mesh"
	case n <= 3:
		return "Declare " + strings.Join(t.added, ", ")
	default:
		return fmt.Sprintf("Declare %s, %s and %d more clusters", t.added[0], t.added[1], n-2)
	}
}

// check reports the links for which Linkerd in a cluster that was read is too old. The other cluster of a link may have been declared before, and
// not be read now. Links of one cluster with the same reason are one error.
func (t *tree) check(f *fleet.Fleet, found []imported) error {
	facts := map[api.ClusterName]*linkerd.Facts{}
	for i := range found {
		facts[found[i].name] = &found[i].facts
	}
	t.linkless = f.NumLinks() == 0
	var out []error
	told := map[string]bool{}
	for l := range f.Links() {
		unknown := &linkerd.Facts{}
		source, target := cmp.Or(facts[l.Source.Name], unknown), cmp.Or(facts[l.Target.Canonical()], unknown)
		why := render.TooOld(render.Input{Link: l, Source: source, Target: target})
		if why == nil || told[why.Message] {
			continue
		}
		told[why.Message] = true
		out = append(out, fmt.Errorf("link %s: %s: %s", l.Pair(), why.Code, why.Message))
	}
	return errors.Join(out...)
}
