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

// origin is one Link or Mesh that declares links. Links point into it, so it is small.
type origin struct {
	from string
	at   api.Pos
	spec api.LinkSpec
	mesh bool
}

// origins returns all Links and Meshes, checked against the clusters.
func (j *joiner) origins(f *Fleet) *expansion {
	e := &expansion{clusters: f.names, linksOf: make([][]target, len(f.names)), clashes: map[[2]*origin]*clash{}}
	ends := resolver{joiner: j, fleet: f, names: j.knownNames(f), hints: map[api.ClusterName]string{}}
	unique(j, "Link", j.links) // only for its problems: the second of a name is checked as well
	first := map[api.Pair]api.Pos{}
	for _, d := range j.links {
		from, okFrom := ends.resolve(linkEnd{d.value.Spec.Source, d.value.Spec.Target}, d.document, "spec", "source")
		to, okTo := ends.resolve(linkEnd{d.value.Spec.Target, d.value.Spec.Source}, d.document, "spec", "target")
		if okFrom && okTo && j.onlyLink(d, first) && j.checkSecondNames(d, &f.names[from], &f.names[to]) && !f.names[from].leaving() && !f.names[to].leaving() {
			o := &origin{from: "Link " + d.name(), at: d.at(), spec: d.value.Spec.WithDefaults()}
			e.linksOf[from] = append(e.linksOf[from], target{to, o, d.document})
		}
	}
	for _, d := range unique(j, "Mesh", j.meshes) {
		if ends.selectorsTooLong(d) {
			break
		}
		if m, ok := ends.mesh(d); ok {
			e.meshRules = append(e.meshRules, m)
		}
	}
	return e
}

// onlyLink fails a second Link of an ordered pair, and drops one from a cluster to itself, which Check reports.
func (j *joiner) onlyLink(d declared[api.LinkDoc], first map[api.Pair]api.Pos) bool {
	pair := api.Pair{Source: d.value.Spec.Source, Target: d.value.Spec.Target}
	before, twice := first[pair]
	if twice {
		j.add(withIdentity(api.Problem{
			Pos: d.at("spec"), See: before, Message: fmt.Sprintf("the link %s is declared twice", pair), Hint: "remove one",
		}, d.identity))
		return false
	}
	first[pair] = d.at("spec")
	return pair.Source != pair.Target
}

// resolver finds the clusters that Links and Meshes name.
type resolver struct {
	*joiner
	fleet       *Fleet
	names       []string
	hints       map[api.ClusterName]string // by undeclared name: thousands of links may share one
	comparisons int                        // at labels, for the meshes so far
}

// knownNames are the names for hints, also of documents whose kind is unknown.
func (j *joiner) knownNames(f *Fleet) []string {
	return slices.Concat(namesOf(f.names), slices.Sorted(maps.Keys(j.unknownKinds)))
}

// linkEnd is the cluster that a field names, and the other one of the same pair, which it cannot mean.
type linkEnd struct{ name, other api.ClusterName }

// resolve returns the index of the cluster that a field of a document names. It reports a name as undeclared only if no unread
// document may declare it.
func (e *resolver) resolve(end linkEnd, d document, field ...string) (int, bool) {
	name := end.name
	i, found := index(e.fleet.names, name)
	if found || name == "" {
		return i, found
	}
	if e.incomplete || e.unknownKinds[string(name)] {
		e.suppressed.names = e.suppressed.names || e.incomplete
		return 0, false
	}
	hint, known := e.hints[name]
	if !known && e.room(problemKey{file: d.file}) > 0 {
		hint = cmp.Or(e.affixHint(string(name)), api.DidYouMean(string(name), e.names))
		e.hints[name] = hint
	}
	if hint == api.DidYouMean(string(end.other), []string{string(end.other)}) {
		hint = ""
	}
	e.failIn(d, field, fmt.Sprintf("cluster %q is not declared", name), hint)
	return 0, false
}

// affixHint is the hint for a namePrefix or nameSuffix of kustomize, which changes the names of clusters, but not the fields that
// refer to them.
func (e *resolver) affixHint(name string) string {
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

// tooManyLinks fails meshes that would not fit into memory, before they are expanded. Overlapping meshes are errors
// anyway, so counting a pair twice is harmless.
func (j *joiner) tooManyLinks(e *expansion) bool {
	const most = 4_000_000
	sum := 0
	for _, m := range e.meshRules {
		if sum += m.size(); sum > most {
			j.fail(m.at, fmt.Sprintf("%s raises the number of links to %d, more than %d", m.from, sum, most), "select fewer clusters")
			return true
		}
	}
	return false
}

// selectorsTooLong fails the first mesh with which evaluating all selectors would take more than about a second.
func (e *resolver) selectorsTooLong(d declared[api.MeshDoc]) bool {
	const most = 10_000_000 // 1,000 clusters and 5,000 meshes, each with a label or two
	each := 1
	for _, s := range []*metav1.LabelSelector{&d.value.Spec.Clusters, d.value.Spec.Hubs} {
		for _, r := range requirements(s) {
			each += 1 + len(r.Values)
		}
	}
	if e.comparisons += each * len(e.fleet.names); e.comparisons <= most {
		return false
	}
	e.fail(d.at(), fmt.Sprintf("the selectors of all meshes up to Mesh %s are too many or too long for %d clusters", d.name(), len(e.fleet.names)),
		"declare fewer meshes, or select by fewer labels")
	return true
}

// andMore returns "west→east", or "west→east and 3 more".
func andMore(what fmt.Stringer, more int) string {
	if more == 0 {
		return what.String()
	}
	return fmt.Sprintf("%s and %d more", what, more)
}
