package fleet

import (
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// fleet joins what was declared. It is used only if nothing was wrong, but made in any case, to find what else is wrong.
func (l *loader) fleet(commit api.Commit) *Fleet {
	x := l.join(commit)
	l.addAll(lint(x, slices.ContainsFunc(l.problems, isError)))
	return x.Fleet
}

// join returns the fleet and what it was made of.
func (l *loader) join(commit api.Commit) *linted {
	names, docs := l.joinClusters()
	l.secondNames(names, docs)
	f := &Fleet{Commit: commit, names: names, Policy: l.policy()}
	l.noCluster()
	l.sameAccess()
	e := l.origins(f)
	if !l.tooMany(e) {
		f.out, f.in = e.expand()
	}
	f.canonical()
	l.addAll(e.problems())
	return &linted{Fleet: f, expansion: e, loader: l, docs: docs}
}

// noCluster is a problem only where all could be read.
func (l *loader) noCluster() {
	if len(l.clusters) == 0 && l.found > 0 && !l.partial && len(l.maybe) == 0 {
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
			At:     d.at(), Overlay: l.component(d),
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
			l.partial = l.partial || kind == "Cluster" // nothing refers to another kind by name
		case twice:
			l.failTwice(at, before, kind+" "+name+" is declared twice", "remove one")
		default:
			first[name] = at
			out = append(out, d)
		}
	}
	return out
}

// sameAccess refuses two names for one cluster, as far as declarations can show it.
func (l *loader) sameAccess() {
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
		case !d.sound || p == place{} && !a.InCluster:
		case known && before.name() != d.name():
			l.failTwice(d.at("spec", "access"), before.at("spec", "access"),
				"cluster "+d.name()+" has the same access as cluster "+before.name(), "remove one, or declare one as a second name with sameAs")
		case !known:
			first[p] = d
		}
	}
}

// policy returns the only one.
func (l *loader) policy() api.SyncPolicy {
	if len(l.policies) == 0 {
		return api.SyncPolicy{}.WithDefaults()
	}
	for _, d := range l.policies[1:] {
		l.failTwice(d.at(), l.policies[0].at(), "there is more than one SyncPolicy", "keep one")
	}
	return l.policies[0].value.Spec.WithDefaults()
}
