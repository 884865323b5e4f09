package fleet

import (
	"cmp"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object/reason"
)

// Codes of the errors that callers tell from others: both say that there is nothing to keep a fleet to, which may
// be an accident of the repository and must never be read as "prune everything".
const (
	// NoDeclarations says that the tree holds no YAML document at all.
	NoDeclarations = string(reason.NoDeclarations)
	// NoClusters says that there are declarations, but no Cluster among them.
	NoClusters = string(reason.NoClusters)
)

// Load returns the whole fleet that a tree declares, or nil and every error of every file; warnings come with a fleet.
// Problems are sorted by position; where a file has too many of them, the last line of it says how many are not told.
//
// The tree is plain YAML: *.yaml and *.yml at any depth, many documents a file; what begins with a dot is skipped. A
// directory below the root that holds a kustomization file is kustomize's own, with all that is below it. A tree with a
// kustomization file in its root must be Built.
func Load(commit api.Commit, tree fs.FS) (*Fleet, []api.Problem) {
	l := &loader{tree: tree, types: types{}, untold: map[heap]int{}, count: map[heap]int{}, maybe: map[string]bool{}}
	if built, ok := tree.(Built); ok {
		l.readBuilt(built)
	} else if !l.unbuilt(tree) {
		l.secrets(tree)
		l.read(tree)
	}
	f := l.fleet(commit)
	if slices.ContainsFunc(l.problems, isError) {
		return nil, append(l.tell(), l.unjudged()...)
	}
	return f, l.tell()
}

// loader collects declarations and problems on the way to one fleet.
type loader struct {
	tree     fs.FS
	dirs     []string // that hold a kustomization, once they are asked for
	types    types
	found    int // documents, whatever they are
	clusters []declared[api.ClusterDoc]
	links    []declared[api.LinkDoc]
	meshes   []declared[api.MeshDoc]
	policies []declared[api.SyncPolicyDoc]
	overlays []overlay
	problems []api.Problem
	count    map[heap]int // problems that l.problems has
	untold   map[heap]int // problems beyond the bounds
	extent   extent
	size     int64 // bytes of all files that were read as declarations
	full     bool  // a bound is reached, and nothing further is read
	partial  bool  // something could not be read, so that what is missing may be declared all the same
	unsure   bool  // a kustomization cannot be read, so that what it names is unknown

	revealed map[string]bool // files in which secrets were found

	maybe    map[string]bool // names in documents whose kind is unknown: any may be a cluster
	silent   bool            // a name that is not declared was not told, since any may be declared all the same
	withheld bool            // a check found something that it cannot be trusted with
}

// declared is one document and its value; sound says that nothing was wrong with it alone.
type declared[T any] struct {
	document
	value T
	sound bool
}

// ours is the group of declarations. A document of another group is not one that could not be read.
const ours = "linkwright.dev/"

// decode gives each declaration of a document to its kind.
func (l *loader) decode(p parsed) {
	parts, missing := divided(p.root)
	for _, key := range missing {
		l.fail(p.pos(key), "another declaration begins here, without --- before it", "write --- on a line of its own before it")
	}
	for _, part := range parts {
		l.decodeOne(parsed{p.file, part})
	}
}

func (l *loader) decodeOne(p parsed) {
	l.found++
	switch kind := l.kind(p); kind {
	case "Cluster":
		l.clusters = append(l.clusters, decode[api.ClusterDoc](l, p))
	case "Link":
		l.links = append(l.links, decode[api.LinkDoc](l, p))
	case "Mesh":
		l.meshes = append(l.meshes, decode[api.MeshDoc](l, p))
	case "SyncPolicy":
		l.policies = append(l.policies, decode[api.SyncPolicyDoc](l, p))
	default:
		if version := text(child(p.root, "apiVersion")); version == "" || strings.HasPrefix(version, ours) || mistyped(version) {
			l.misread(p)
		}
	}
}

// misread is for a document of ours whose kind is unknown: if it has a name, only what has that name is unsure.
func (l *loader) misread(p parsed) {
	name := text(child(child(p.root, "metadata"), "name"))
	if name == "" {
		l.partial = true
		return
	}
	l.maybe[name] = true
}

// kind reads the head of a document, or says why it is none of ours.
func (l *loader) kind(p parsed) string {
	if p.root.Kind != yaml.MappingNode {
		l.fail(p.at(), "expected a declaration, found "+describe(p.root), "")
		return ""
	}
	fail := func(n *yaml.Node, message, hint string) {
		l.add(named(api.Problem{Pos: p.pos(n), Message: message, Hint: hint}, identity(p.root)))
	}
	version, kind := child(p.root, "apiVersion"), text(child(p.root, "kind"))
	kinds := []string{"Cluster", "Link", "Mesh", "SyncPolicy"}
	switch {
	case l.revealed[p.file] && mayReveal(p.root): // what it is, was told
	case version == nil:
		fail(p.root, "apiVersion is missing", cmp.Or(otherCase(p.root, "apiVersion"), "write apiVersion: "+api.GroupVersion))
	case text(version) != api.GroupVersion && (strings.HasPrefix(text(version), ours) || mistyped(text(version))):
		fail(version, "apiVersion: expected "+api.GroupVersion+", found "+describe(version), otherVersion(text(version)))
	case text(version) != api.GroupVersion:
		fail(version, strings.TrimSuffix("this is not a declaration: its apiVersion is "+describe(version)+", its kind "+short(kind), ", its kind "),
			foreignHint(kind))
	case child(p.root, "kind") == nil:
		fail(p.root, "kind is missing", cmp.Or(otherCase(p.root, "kind"), "Cluster, Link, Mesh or SyncPolicy"))
	case !slices.Contains(kinds, kind):
		fail(child(p.root, "kind"), "kind: expected Cluster, Link, Mesh or SyncPolicy, found "+describe(child(p.root, "kind")),
			api.DidYouMean(kind, kinds))
	default:
		return kind
	}
	return ""
}

// otherCase is the hint for a key that is written in other capitals.
func otherCase(root *yaml.Node, want string) string {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if key := root.Content[i].Value; strings.EqualFold(key, want) {
			return "write " + want + " instead of " + key
		}
	}
	return ""
}

// mayReveal reports whether a document is of those in which secrets are found.
func mayReveal(root *yaml.Node) bool {
	version, kind := text(child(root, "apiVersion")), text(child(root, "kind"))
	return !strings.HasPrefix(version, ours) && slices.Contains([]string{"", "Secret", "SecretList", "List", "Config"}, kind)
}

var version = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// mistyped reports whether an apiVersion is meant to be ours.
func mistyped(written string) bool {
	return written != api.GroupVersion && api.DidYouMean(written, []string{api.GroupVersion}) != ""
}

// otherVersion tells a version that may exist one day from a mistyped one.
func otherVersion(written string) string {
	if version.MatchString(strings.TrimPrefix(written, ours)) {
		return "write " + api.GroupVersion + ", the only version that this linkwright reads"
	}
	return api.DidYouMean(written, []string{api.GroupVersion})
}

func foreignHint(kind string) string {
	hint := "only " + api.GroupVersion + " is allowed in this tree"
	if kind == "Secret" {
		hint += "; " + wayOfSecrets
	}
	return hint
}

// decode reads one document strictly and checks its values; what is broken is left out, so that the rest can still be judged.
func decode[T interface{ Check() []api.Finding }](l *loader, p parsed) declared[T] {
	out := declared[T]{document: p.kept()}
	w := walker{file: p.file, types: l.types, left: l.room(heap{file: p.file}), broken: map[string]bool{}}
	plain := w.value(p.root, reflect.TypeFor[T](), nil)
	if err := into(plain, &out.value); err != nil {
		w.fail(p.root, nil, err.Error(), "")
	}
	out.sound = len(w.problems)+w.more == 0
	for _, problem := range w.problems {
		l.add(named(problem, out.identity))
	}
	l.untold[heap{file: p.file}] += w.more
	for _, f := range out.value.Check() {
		if w.saidOf(f.Path) {
			continue
		}
		out.sound = false
		if h := (heap{file: p.file}); l.room(h) > 0 {
			l.add(out.problem(f))
		} else {
			l.untold[h]++
		}
	}
	return out
}

// problem gives a finding the position of the deepest field of its path that is written.
func (d document) problem(f api.Finding) api.Problem {
	return named(api.Problem{Pos: d.at(f.Path...), Message: f.Path.String() + ": " + f.Message, Hint: f.Hint}, d.identity)
}

// failIn is fail for a field of a document.
func (l *loader) failIn(d document, path api.Path, message, hint string) {
	l.add(d.problem(api.Finding{Path: path, Message: message, Hint: hint}))
}
