package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
)

// origin is one declaration that gives links. Links point into it, so it stays small.
type origin struct {
	from string
	at   api.Pos
	spec api.LinkSpec
	mesh bool
}

// origins returns all declarations that give links, checked against the clusters.
func (l *loader) origins(f *Fleet) *expansion {
	e := &expansion{clusters: f.names, declared: make([][]target, len(f.names)), clashes: map[[2]*origin]*clash{}}
	ends := endings{loader: l, fleet: f, names: l.known(f), hints: map[api.ClusterName]string{}}
	unique(l, "Link", l.links) // only to fail: what else is wrong with the second one is told as well
	first := map[api.Pair]api.Pos{}
	for _, d := range l.links {
		from, okFrom := ends.find(d.value.Spec.Source, d.document, "spec", "source")
		to, okTo := ends.find(d.value.Spec.Target, d.document, "spec", "target")
		if okFrom && okTo && l.onlyLink(d, first) && l.between(d, &f.names[from], &f.names[to]) && !f.names[from].leaving() && !f.names[to].leaving() {
			o := &origin{from: "Link " + d.name(), at: d.at(), spec: d.value.Spec.WithDefaults()}
			e.declared[from] = append(e.declared[from], target{to, o, d.document})
		}
	}
	for _, d := range unique(l, "Mesh", l.meshes) {
		if ends.tooMuch(d) {
			break
		}
		if m, ok := ends.mesh(d); ok {
			e.rules = append(e.rules, m)
		}
	}
	return e
}

// onlyLink refuses a second Link of an ordered pair, and drops one to itself, which its Check has told.
func (l *loader) onlyLink(d declared[api.LinkDoc], first map[api.Pair]api.Pos) bool {
	pair := api.Pair{Source: d.value.Spec.Source, Target: d.value.Spec.Target}
	before, twice := first[pair]
	if twice {
		l.add(named(api.Problem{
			Pos: d.at("spec"), See: before, Message: fmt.Sprintf("the link %s is declared twice", pair), Hint: "remove one",
		}, d.identity))
		return false
	}
	first[pair] = d.at("spec")
	return pair.Source != pair.Target
}

// endings finds the clusters that links name.
type endings struct {
	*loader
	fleet *Fleet
	names []string
	hints map[api.ClusterName]string // by undeclared name: thousands of links may share one
	looks int                        // at labels, for the meshes so far
}

// known are the names that may be meant: also those whose documents are broken.
func (l *loader) known(f *Fleet) []string {
	return slices.Concat(namesOf(f.names), slices.Sorted(maps.Keys(l.maybe)))
}

// find returns the index of the cluster that a field of a document names. Nothing is called undeclared that may be declared
// in what could not be read.
func (e *endings) find(name api.ClusterName, d document, field ...string) (int, bool) {
	i, found := index(e.fleet.names, name)
	if found || name == "" {
		return i, found
	}
	if e.partial || e.maybe[string(name)] {
		e.silent = e.silent || e.partial
		return 0, false
	}
	hint, known := e.hints[name]
	if !known && e.room(heap{file: d.file}) > 0 {
		hint = cmp.Or(e.affixed(string(name)), api.DidYouMean(string(name), e.names))
		e.hints[name] = hint
	}
	e.failIn(d, field, fmt.Sprintf("cluster %q is not declared", name), hint)
	return 0, false
}

// affixed is for the trap of kustomize: it changes the names of clusters, and not where they are named.
func (e *endings) affixed(name string) string {
	if _, built := e.tree.(Built); !built {
		return ""
	}
	for _, field := range []string{"namePrefix", "nameSuffix"} {
		for _, known := range namesOf(e.fleet.names) {
			if field == "namePrefix" && strings.HasSuffix(known, name) || field == "nameSuffix" && strings.HasPrefix(known, name) {
				return fmt.Sprintf("did you mean %s? %s does not change spec.source, spec.target and spec.except", known, field)
			}
		}
	}
	return ""
}

// tooMany refuses meshes that would not fit into memory, before they are expanded. Overlapping meshes are errors
// anyway, so counting a pair twice is harmless.
func (l *loader) tooMany(e *expansion) bool {
	const most = 4_000_000
	sum := 0
	for _, m := range e.rules {
		if sum += m.size(); sum > most {
			l.fail(m.at, fmt.Sprintf("%s raises the number of links to %d, more than %d", m.from, sum, most), "select fewer clusters")
			return true
		}
	}
	return false
}

// tooMuch refuses meshes whose selectors would take more than about a second, before the first one that does.
func (e *endings) tooMuch(d declared[api.MeshDoc]) bool {
	const most = 10_000_000 // 1,000 clusters and 5,000 meshes, each with a label or two
	each := 1
	for _, s := range []*metav1.LabelSelector{&d.value.Spec.Clusters, d.value.Spec.Hubs} {
		for _, r := range requirements(s) {
			each += 1 + len(r.Values)
		}
	}
	if e.looks += each * len(e.fleet.names); e.looks <= most {
		return false
	}
	e.fail(d.at(), fmt.Sprintf("the selectors of all meshes up to Mesh %s are too many or too long for %d clusters", d.name(), len(e.fleet.names)),
		"declare fewer meshes, or select by fewer labels")
	return true
}

// andMore gives "west→east", or "west→east and 3 more".
func andMore(what fmt.Stringer, more int) string {
	if more == 0 {
		return what.String()
	}
	return fmt.Sprintf("%s and %d more", what, more)
}
