package fleet

import (
	"cmp"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
)

// Codes of the problems that callers tell from others: both say that there is nothing to keep a fleet to, which may
// be an accident of the repository and must never be read as "prune everything".
const (
	// EmptyTree says that the tree holds no YAML document at all.
	EmptyTree = "EmptyTree"
	// NoCluster says that there are declarations, but no Cluster among them.
	NoCluster = "NoCluster"
)

// Load gives the whole fleet that a tree declares, or nil and every error of every file; warnings come with a fleet.
// Problems are sorted by position.
//
// The tree is plain YAML: *.yaml and *.yml at any depth, many documents a file; what begins with a dot is skipped.
func Load(commit api.Commit, tree fs.FS) (*Fleet, []api.Problem) {
	l := &loader{types: types{}}
	if l.kustomized(tree) {
		return nil, l.problems
	}
	l.read(tree)
	l.decode()
	f := l.fleet(commit)
	slices.SortFunc(l.problems, compareProblems)
	if slices.ContainsFunc(l.problems, isError) {
		return nil, l.problems
	}
	return f, l.problems
}

// loader collects documents, declarations and problems on the way to one fleet.
type loader struct {
	types     types
	documents []document
	clusters  []declared[api.ClusterDoc]
	links     []declared[api.LinkDoc]
	meshes    []declared[api.MeshDoc]
	policies  []declared[api.SyncPolicyDoc]
	problems  []api.Problem
	partial   bool // something could not be read, so that what is missing may be declared all the same
}

func (l *loader) fail(at api.Pos, message, hint string) {
	l.problems = append(l.problems, api.Problem{Pos: at, Message: message, Hint: hint})
}

func (l *loader) warn(at api.Pos, message, hint string) {
	l.problems = append(l.problems, api.Problem{Pos: at, Message: message, Hint: hint, Warning: true})
}

// declared is one document and its value; sound says that nothing was wrong with it alone.
type declared[T any] struct {
	document
	value T
	sound bool
}

// ours is the group of declarations. A document of another group is not one that could not be read.
const ours = "linkwright.dev/"

// decode gives every document to its kind.
func (l *loader) decode() {
	for _, d := range l.documents {
		switch kind := l.kind(d); kind {
		case "Cluster":
			l.clusters = append(l.clusters, decode[api.ClusterDoc](l, d))
		case "Link":
			l.links = append(l.links, decode[api.LinkDoc](l, d))
		case "Mesh":
			l.meshes = append(l.meshes, decode[api.MeshDoc](l, d))
		case "SyncPolicy":
			l.policies = append(l.policies, decode[api.SyncPolicyDoc](l, d))
		default:
			version := text(child(d.root, "apiVersion"))
			l.partial = l.partial || version == "" || strings.HasPrefix(version, ours)
		}
	}
}

// kind reads the head of a document, or says why it is none of ours.
func (l *loader) kind(d document) string {
	if d.root.Kind != yaml.MappingNode {
		l.fail(d.at(), "expected a declaration, found "+describe(d.root), "")
		return ""
	}
	version, kind := text(child(d.root, "apiVersion")), text(child(d.root, "kind"))
	kinds := []string{"Cluster", "Link", "Mesh", "SyncPolicy"}
	switch {
	case child(d.root, "apiVersion") == nil:
		l.fail(d.at(), "apiVersion is missing", "want "+api.GroupVersion)
	case version != api.GroupVersion:
		l.fail(d.at("apiVersion"), strings.TrimSuffix(fmt.Sprintf("this is no declaration: its apiVersion is %s, its kind %s",
			describe(child(d.root, "apiVersion")), kind), ", its kind "), "only "+api.GroupVersion+" may stand in this tree")
	case child(d.root, "kind") == nil:
		l.fail(d.at(), "kind is missing", "Cluster, Link, Mesh or SyncPolicy")
	case !slices.Contains(kinds, kind):
		l.fail(d.at("kind"), "kind: expected Cluster, Link, Mesh or SyncPolicy, found "+describe(child(d.root, "kind")),
			api.DidYouMean(kind, kinds))
	default:
		return kind
	}
	return ""
}

// decode reads one document strictly and checks its values; what is broken is left out, so that the rest can still be judged.
func decode[T interface{ Check() []api.Finding }](l *loader, d document) declared[T] {
	out := declared[T]{document: d}
	w := walker{file: d.file, types: l.types, broken: map[string]bool{}}
	plain := w.value(d.root, reflect.TypeFor[T](), nil)
	if err := into(plain, &out.value); err != nil {
		w.fail(d.root, nil, err.Error(), "")
	}
	for _, f := range out.value.Check() {
		if !w.saidOf(f.Path) {
			w.problems = append(w.problems, d.problem(f))
		}
	}
	l.problems = append(l.problems, w.problems...)
	out.sound = !slices.ContainsFunc(w.problems, isError)
	return out
}

// problem gives a finding the position of the deepest field of its path that is written.
func (d document) problem(f api.Finding) api.Problem {
	return api.Problem{Pos: d.at(f.Path...), Warning: f.Warning, Message: f.Path.String() + ": " + f.Message, Hint: f.Hint}
}

func isError(p api.Problem) bool { return !p.Warning }

func compareProblems(a, b api.Problem) int {
	return cmp.Or(api.ComparePos(a.Pos, b.Pos), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Hint, b.Hint))
}
