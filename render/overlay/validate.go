package overlay

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/linkwright/linkwright/api"
)

// validator walks from one Kustomization through all files that it refers to. It rejects everything that could make
// kustomize read, run or fetch anything but files of the tree. A job has only files that it validated, and kustomization
// files are encoded again from what it decoded, so that kustomize cannot read them in another way.
type validator struct {
	tree   fs.FS
	limits Limits
	strict bool // Components may only patch, label and annotate, and add resources

	entries  map[string][]fs.DirEntry  // of directories that were listed
	files    map[string][]byte         // validated files, by path
	counted  map[string]int64          // files whose YAML was judged, and how many objects are in each
	bytes    int64                     // of files
	done     map[string]cost           // of kustomizations, by directory
	stack    []string                  // directories from the root to the one that is being read
	links    map[string]componentLinks // of Components, by directory
	problems []api.Problem
}

// patch is one patch of a Component: its position, and its target.
type patch struct {
	At     api.Pos
	Target types.Selector
}

// componentLinks are the patches of a Component and the Components in it.
type componentLinks struct {
	patches    []patch
	components []string
}

// validated is the result of the validation: all that a build needs, and nothing else.
type validated struct {
	Dir     string            // of the Kustomization or Component
	File    string            // its kustomization file
	Files   map[string][]byte // by path in the tree
	Patches []patch           // of a Component and those in it
	Hash    string            // of Dir and Files: equal hashes build alike
}

// cost is what a kustomization makes kustomize read and do. Each file counts as often as it is used.
type cost struct {
	files, bytes, objects int64
	changes               int64 // items that change all objects of whoever names this: of Components
	chain                 int64 // the most changes that any object goes through
	steps                 int64 // objects × changes × chain, of all kustomizations together
}

func (c *cost) add(d cost) {
	c.files = min(c.files+d.files, math.MaxInt32)
	c.bytes = min(c.bytes+d.bytes, math.MaxInt32<<8)
	c.objects = min(c.objects+d.objects, math.MaxInt32)
	c.changes = min(c.changes+d.changes, math.MaxInt16)
	c.chain = max(c.chain, d.chain)
	c.steps = min(c.steps+d.steps, math.MaxInt32)
}

func newValidator(tree fs.FS, limits Limits) *validator {
	return &validator{
		tree: tree, limits: limits.orDefault(),
		entries: map[string][]fs.DirEntry{}, files: map[string][]byte{}, counted: map[string]int64{}, done: map[string]cost{}, links: map[string]componentLinks{},
	}
}

// validateRoot validates the Kustomization at the root of the tree. Built objects will have the path of their file.
func (g *validator) validateRoot() (validated, []api.Problem) {
	return g.check(".", types.KustomizationKind, api.Pos{})
}

// validateComponent validates the Component in a directory of the tree, which is named at a position.
func validateComponent(tree fs.FS, dir string, at api.Pos, limits Limits) (validated, []api.Problem) {
	g := newValidator(tree, limits)
	g.strict = true
	name, f := normalize(dir)
	if f != nil {
		return validated{}, []api.Problem{{Pos: at, Message: quote(dir) + " " + f.message, Hint: f.hint}}
	}
	if name, ok := g.resolve(at, ".", name); ok {
		return g.check(name, types.ComponentKind, at)
	}
	return validated{}, g.problems
}

func (g *validator) check(dir, kind string, at api.Pos) (validated, []api.Problem) {
	total := g.walk(dir, kind, at)
	names := g.kustomizations(dir)
	if len(names) == 1 {
		g.checkTotal(total, api.Pos{File: path.Join(dir, names[0])})
	}
	if len(g.problems) > 0 {
		slices.SortStableFunc(g.problems, func(a, b api.Problem) int { return api.ComparePos(a.Pos, b.Pos) })
		return validated{}, g.problems
	}
	return validated{
		Dir: dir, File: path.Join(dir, names[0]), Files: g.files,
		Patches: g.allPatches(dir, map[string]bool{}), Hash: hash(dir, g.files),
	}, nil
}

// allPatches are the patches of a Component and of the Components in it, each once. A Kustomization among its resources
// patches only its own objects.
func (g *validator) allPatches(dir string, seen map[string]bool) []patch {
	if seen[dir] {
		return nil
	}
	seen[dir] = true
	all := slices.Clone(g.links[dir].patches)
	for _, c := range g.links[dir].components {
		all = append(all, g.allPatches(c, seen)...)
	}
	return all
}

func (g *validator) fail(at api.Pos, message, hint string) {
	g.problems = append(g.problems, api.Problem{Pos: at, Message: message, Hint: hint})
}

// walk validates the kustomization of a directory and all that it refers to; kind is the expected kind.
func (g *validator) walk(dir, kind string, at api.Pos) cost {
	if before, known := g.done[dir]; known {
		return before
	}
	if !g.mayEnter(dir, at) {
		return cost{}
	}
	g.stack = append(g.stack, dir)
	total := g.read(dir, kind, at)
	g.stack = g.stack[:len(g.stack)-1]
	g.done[dir] = total
	return total
}

func (g *validator) mayEnter(dir string, at api.Pos) bool {
	if len(g.stack) >= g.limits.Depth {
		g.fail(at, fmt.Sprintf("kustomizations are nested deeper than %d levels", g.limits.Depth), "")
		return false
	}
	for i, from := range g.stack {
		if isWithin(dir, from) {
			g.fail(at, "this is a cycle: "+strings.Join(append(slices.Clip(g.stack[i:]), dir), " → "),
				"a kustomization must not use itself, one that uses it, or a directory that contains one of these")
			return false
		}
	}
	return true
}

// kustomizations are the names of the kustomization files of a directory.
func (g *validator) kustomizations(dir string) []string {
	return slices.DeleteFunc(kustomizationNames(), func(name string) bool {
		_, found := g.entry(dir, name)
		return !found
	})
}

// read validates the kustomization file of a directory, and adds it to the job.
func (g *validator) read(dir, kind string, at api.Pos) cost {
	names := g.kustomizations(dir)
	if len(names) != 1 {
		message := fmt.Sprintf("directory %s has no kustomization", dir)
		if len(names) > 1 {
			message = fmt.Sprintf("directory %s has more than one kustomization: %s", dir, strings.Join(names, ", "))
		}
		g.fail(at, message, "it must have exactly one file named kustomization.yaml")
		return cost{}
	}
	file := path.Join(dir, names[0])
	if !g.isRegular(api.Pos{File: file}, dir, names[0]) {
		return cost{}
	}
	data, ok := g.readFile(file, api.Pos{File: file})
	if !ok {
		return cost{}
	}
	k, ok := g.decode(kustomizationRef{dir, file, kind}, data)
	if !ok || !k.hasKind(at) {
		return cost{}
	}
	k.checkCounts()
	total := k.steps(k.check())
	total.add(cost{files: 1, bytes: int64(len(data))})
	g.add(file, k.canonical())
	return total
}

// add adds a file to the job.
func (g *validator) add(file string, data []byte) { g.files[file] = nameSyncPolicies(data) }
