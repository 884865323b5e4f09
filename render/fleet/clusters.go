package fleet

import (
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// fleet builds the fleet of all declarations. It does so even if there are errors, to find further ones.
func (l *loader) fleet(commit api.Commit) *Fleet {
	x := l.build(commit)
	l.addAll(lint(x, slices.ContainsFunc(l.problems, isError)))
	return x.Fleet
}

// build returns the fleet and what it was made of, for the checks.
func (l *loader) build(commit api.Commit) *lintInput {
	names, docs := l.joinClusters()
	l.secondNames(names, docs)
	f := &Fleet{Commit: commit, names: names, Policy: l.policy()}
	l.noCluster()
	l.duplicateAccess()
	e := l.origins(f)
	if !l.tooManyLinks(e) {
		f.out, f.in = e.expand()
	}
	f.canonical()
	l.addAll(e.problems())
	return &lintInput{Fleet: f, expansion: e, loader: l, docs: docs}
}

// noCluster adds a problem if all could be read and no Cluster is declared.
func (l *loader) noCluster() {
	if len(l.clusters) == 0 && l.documents > 0 && !l.incomplete && len(l.unknownKinds) == 0 {
		l.problems = append(l.problems, api.Problem{Code: NoClusters, Message: "no Cluster is declared", Hint: "check --path"})
	}
}

// joinClusters returns the clusters by name, each name once, and the documents that declare them.
func (l *loader) joinClusters() ([]Cluster, []declared[api.ClusterDoc]) {
	docs := unique(l, "Cluster", l.clusters)
	slices.SortFunc(docs, func(a, b declared[api.ClusterDoc]) int { return strings.Compare(a.name(), b.name()) })
	out := make([]Cluster, 0, len(docs))
	for _, d := range docs {
		out = append(out, Cluster{
			Name:   api.ClusterName(d.name()),
			Labels: d.value.Metadata.Labels,
			Spec:   d.value.Spec.WithDefaults(),
			At:     d.at(), Overlay: l.overlayOf(d),
		})
	}
	return out, docs
}

// unique returns the declarations whose name comes first, and fails the others; a nameless one was failed before.
func unique[T any](l *loader, kind string, all []declared[T]) []declared[T] {
	var out []declared[T]
	first := map[string]api.Pos{}
	for _, d := range all {
		name, at := d.name(), d.at("metadata", "name")
		before, twice := first[name]
		switch {
		case name == "":
			l.incomplete = l.incomplete || kind == "Cluster" // nothing refers to another kind by name
		case twice:
			l.failTwice(at, before, kind+" "+name+" is declared twice", "remove one")
		default:
			first[name] = at
			out = append(out, d)
		}
	}
	return out
}

// duplicateAccess fails a cluster that has the same access as another.
func (l *loader) duplicateAccess() {
	type place struct{ secret, key, path, context string }
	first := map[place]declared[api.ClusterDoc]{}
	for _, d := range l.clusters {
		a := d.value.Spec.WithDefaults().Access
		var p place
		if a.KubeconfigSecret != nil {
			p.secret, p.key = a.KubeconfigSecret.Name, a.KubeconfigSecret.Key
		}
		if a.Kubeconfig != nil {
			p.path, p.context = a.Kubeconfig.Path, a.Kubeconfig.Context
		}
		before, known := first[p]
		switch {
		case !d.valid || p == place{} && !a.InCluster:
		case known && before.name() != d.name():
			l.failTwice(d.at("spec", "access"), before.at("spec", "access"),
				"cluster "+d.name()+" has the same access as cluster "+before.name(), "remove one, or declare one as a second name with sameAs")
		case !known:
			first[p] = d
		}
	}
}

// policy returns the only SyncPolicy, or the default one.
func (l *loader) policy() api.SyncPolicy {
	if len(l.policies) == 0 {
		return api.SyncPolicy{}.WithDefaults()
	}
	for _, d := range l.policies[1:] {
		l.failTwice(d.at(), l.policies[0].at(), "there is more than one SyncPolicy", "keep one")
	}
	return l.policies[0].value.Spec.WithDefaults()
}
