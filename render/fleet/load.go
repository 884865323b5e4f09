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

// Codes of the errors that callers distinguish. Both mean that the tree declares nothing, which may
// be an accident in the repository and must never be read as "prune everything".
const (
	// NoDeclarations: the tree has no YAML document at all.
	NoDeclarations = string(reason.NoDeclarations)
	// NoClusters: there are declarations, but no Cluster among them.
	NoClusters = string(reason.NoClusters)
)

// OrPath is the part of a hint that counts only if the tree is a directory of which a part can be chosen.
const OrPath = ", or check --path"

// Load returns the whole fleet that a tree declares, or nil and every error of every file; a fleet may come with warnings.
// Problems are sorted by position; if a file has too many, its last one counts those that are left out.
//
// The tree is plain YAML: *.yaml and *.yml at any depth, with many documents a file; names that begin with a dot are skipped. A
// directory below the root with a kustomization file belongs to kustomize, with all that is below it. A tree with a
// kustomization file in its root must be Built.
func Load(commit api.Commit, tree fs.FS) (*Fleet, []api.Problem) {
	j := newLoader(tree).joiner()
	f := j.fleet(commit)
	if slices.ContainsFunc(j.problems, isError) {
		return nil, append(j.report(), j.suppressed.problems()...)
	}
	return f, j.report()
}

// Meshes returns the names of the meshes that a tree declares, also if it declares no cluster yet. Of a tree that must be Built it returns none.
func Meshes(tree fs.FS) (names []string) {
	for _, d := range newLoader(tree).meshes {
		names = append(names, d.name())
	}
	return names
}

// loader reads the declarations of a tree: the first stage of Load.
type loader struct {
	problemCollector
	declarations
	tree         fs.FS
	types        types
	extent       extent
	bytesRead    int64 // bytes of all files that were read as declarations
	exceeded     bool  // a bound is reached, and nothing further is read
	incomplete   bool  // something could not be read, and may contain declarations
	namesUnknown bool  // a kustomization cannot be read, so the paths that it names are unknown

	secretFiles  map[string]bool // files in which secrets were found
	unknownKinds map[string]bool // names in documents whose kind is unknown: any may be a cluster
	unchecked    bool            // a document of linkwright was not checked further, because its kind or its version is unknown
}

func newLoader(tree fs.FS) *loader {
	l := &loader{tree: tree, types: types{}, problemCollector: newProblemCollector(), unknownKinds: map[string]bool{}}
	if built, ok := tree.(Built); ok {
		l.readBuilt(built)
	} else if !l.needsBuild(tree) {
		l.secrets(tree)
		l.read(tree)
	}
	return l
}

// declarations are the decoded documents of a tree, by kind.
type declarations struct {
	documents int // of any kind
	clusters  []declared[api.ClusterDoc]
	links     []declared[api.LinkDoc]
	meshes    []declared[api.MeshDoc]
	policies  []declared[api.SyncPolicyDoc]
	proxies   []declared[api.ProxyConfigDoc]
	overlays  []overlay
}

// joiner is the state after the first stage.
func (l *loader) joiner() *joiner {
	return &joiner{
		problemCollector: l.problemCollector, declarations: l.declarations, tree: l.tree,
		incomplete: l.incomplete, namesUnknown: l.namesUnknown, unknownKinds: l.unknownKinds, suppressed: suppressed{documents: l.unchecked},
	}
}

// suppressed is what was not reported because of other errors.
type suppressed struct {
	documents bool // other errors of documents, because their kind or version is unknown
	names     bool // undeclared names, because unread documents may declare them
	warnings  bool // warnings of checks that need valid declarations
}

// declared is one document and its value; valid: it has no problem of its own.
type declared[T any] struct {
	document
	value T
	valid bool
}

// groupPrefix is the group of declarations. A document of another group is not one that could not be read.
const groupPrefix = "linkwright.dev/"

// decode gives each declaration of a document to its kind.
func (l *loader) decode(p parsed) {
	parts, missing := splitDeclarations(p.root)
	for _, key := range missing {
		l.fail(p.pos(key), "another declaration begins here, without --- before it", "write --- on a line of its own before it")
	}
	for _, part := range parts {
		l.decodeOne(parsed{file: p.file, root: part})
	}
}

func (l *loader) decodeOne(p parsed) {
	l.documents++
	switch l.kind(&p) {
	case "Cluster":
		l.clusters = append(l.clusters, decode[api.ClusterDoc](l, p))
	case "Link":
		l.links = append(l.links, decode[api.LinkDoc](l, p))
	case "Mesh":
		l.meshes = append(l.meshes, decode[api.MeshDoc](l, p))
	case "ProxyConfig":
		l.proxies = append(l.proxies, decode[api.ProxyConfigDoc](l, p))
	case "SyncPolicy":
		l.policies = append(l.policies, decode[api.SyncPolicyDoc](l, p))
	default:
		if version := text(child(p.root, "apiVersion")); version == "" || strings.HasPrefix(version, groupPrefix) || mistyped(version) {
			l.addUnknownKind(p)
		}
	}
}

// addUnknownKind notes a declaration whose kind is unknown: it may declare any object of its name, or without a name any object.
func (l *loader) addUnknownKind(p parsed) {
	name := text(child(child(p.root, "metadata"), "name"))
	if name == "" {
		l.incomplete = true
		return
	}
	l.unknownKinds[name] = true
}

// kind reads apiVersion and kind of a document. Of a misspelled one it adds a problem and returns the kind that is probably meant; empty: it
// is no declaration, or its kind is unknown.
func (l *loader) kind(p *parsed) string {
	if p.root.Kind != yaml.MappingNode {
		l.fail(p.at(), "expected a declaration, found "+describe(p.root), "")
		return ""
	}
	if l.secretFiles[p.file] && mayReveal(p.root) { // reported as a secret
		return ""
	}
	fail := func(n *yaml.Node, message, hint string) {
		l.add(withIdentity(api.Problem{Pos: p.pos(n), Message: message, Hint: hint}, identity(p.root)))
		p.misspelled = true
	}
	readable := l.version(p, fail)
	kind := text(child(p.root, "kind"))
	near, known := api.Nearest(kind, api.Kinds())
	switch {
	case !readable:
		return ""
	case !known || kind != near:
		l.failKind(p, fail)
	}
	l.unchecked = l.unchecked || !known
	return near
}

// version checks apiVersion. It reports whether this release can read the document, which a misspelled apiVersion does not prevent.
func (l *loader) version(p *parsed, fail func(n *yaml.Node, message, hint string)) bool {
	node := child(p.root, "apiVersion")
	written := text(node)
	switch {
	case node == nil:
		fail(p.root, "apiVersion is missing", cmp.Or(otherCase(p.root, "apiVersion"), "write apiVersion: "+api.GroupVersion))
		l.unchecked = true
		return false
	case written == api.GroupVersion:
		return true
	case strings.HasPrefix(written, groupPrefix) || mistyped(written):
		fail(node, "apiVersion: expected "+api.GroupVersion+", found "+describe(node), otherVersion(written))
		l.unchecked = l.unchecked || !mistyped(written)
		return mistyped(written)
	}
	kind := text(child(p.root, "kind"))
	fail(node, strings.TrimSuffix("this is not a declaration: its apiVersion is "+describe(node)+", its kind "+short(kind), ", its kind "), foreignHint(kind))
	return false
}

// failKind adds the problem of a document whose kind is missing or unknown.
func (l *loader) failKind(p *parsed, fail func(n *yaml.Node, message, hint string)) {
	node := child(p.root, "kind")
	if node == nil {
		fail(p.root, "kind is missing", cmp.Or(otherCase(p.root, "kind"), oneOf(api.Kinds())))
		return
	}
	fail(node, "kind: expected "+oneOf(api.Kinds())+", found "+describe(node), api.DidYouMean(text(node), api.Kinds()))
}

// oneOf lists words for a message: a, b or c.
func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
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

// mayReveal reports whether Secrets may have found a secret in a document of this kind.
func mayReveal(root *yaml.Node) bool {
	version, kind := text(child(root, "apiVersion")), text(child(root, "kind"))
	return !strings.HasPrefix(version, groupPrefix) && slices.Contains([]string{"", "Secret", "SecretList", "List", "Config"}, kind)
}

var version = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// mistyped reports whether an apiVersion is a misspelling of linkwright's.
func mistyped(written string) bool {
	return written != api.GroupVersion && api.DidYouMean(written, []string{api.GroupVersion}) != ""
}

// otherVersion is the hint for a version that another release may have, or for a misspelled one.
func otherVersion(written string) string {
	if version.MatchString(strings.TrimPrefix(written, groupPrefix)) {
		return "write " + api.GroupVersion + ", the only version that this linkwright reads"
	}
	return api.DidYouMean(written, []string{api.GroupVersion})
}

func foreignHint(kind string) string {
	hint := "only " + api.GroupVersion + " is allowed in this tree"
	if kind == "Secret" {
		hint += "; " + secretHint
	}
	return hint
}

// decode reads one document strictly and checks its values. It leaves out invalid fields, so that the rest can still be checked.
func decode[T interface{ Check() []api.Finding }](l *loader, p parsed) declared[T] {
	out := declared[T]{document: p.document()}
	w := walker{file: p.file, types: l.types, left: l.room(problemKey{file: p.file}), broken: map[string]bool{}}
	plain := w.value(p.root, reflect.TypeFor[T](), nil)
	if err := into(plain, &out.value); err != nil {
		w.fail(p.root, nil, err.Error(), "")
	}
	out.valid = len(w.problems)+w.more == 0 && !p.misspelled
	for _, problem := range w.problems {
		l.add(withIdentity(problem, out.identity))
	}
	l.dropped[problemKey{file: p.file}] += w.more
	for _, f := range out.value.Check() {
		if w.reported(f.Path) || f.Absent && w.reportedBelow(f.Path) {
			continue
		}
		out.valid = false
		if h := (problemKey{file: p.file}); l.room(h) > 0 {
			l.add(out.problem(f))
		} else {
			l.dropped[h]++
		}
	}
	return out
}

// problem gives a finding the position of the deepest field of its path that is written.
func (d document) problem(f api.Finding) api.Problem {
	return withIdentity(api.Problem{Pos: d.at(f.Path...), Message: f.Path.String() + ": " + f.Message, Hint: f.Hint}, d.identity)
}
