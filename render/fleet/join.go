package fleet

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
)

// joiner builds a fleet of declarations: the second stage of Load.
type joiner struct {
	problemCollector
	declarations
	tree              fs.FS
	kustomizationDirs []string // directories with a kustomization, once a hint needs them
	incomplete        bool     // something could not be read, and may contain declarations
	namesUnknown      bool     // a kustomization cannot be read, so the paths that it names are unknown
	unknownKinds      map[string]bool
	suppressed        suppressed
}

// fleet builds the fleet of all declarations. It does so even if there are errors, to find further ones.
func (j *joiner) fleet(commit api.Commit) *Fleet {
	x := j.build(commit)
	j.addAll(lint(x, slices.ContainsFunc(j.problems, isError)))
	return x.Fleet
}

// build returns the fleet and what it was made of, for the checks.
func (j *joiner) build(commit api.Commit) *lintInput {
	names, docs := j.joinClusters()
	j.secondNames(names, docs)
	f := &Fleet{Commit: commit, names: names, Policy: j.policy()}
	j.noCluster()
	j.duplicateAccess()
	e := j.origins(f)
	if !j.tooManyLinks(e) {
		f.out, f.in = e.expand()
	}
	j.sharedControllers(f)
	proxies := j.proxyConfigs(f)
	f.canonical()
	j.addAll(e.problems())
	return &lintInput{Fleet: f, expansion: e, joiner: j, docs: docs, proxyConfigs: proxies}
}

// uninstallHint is for who removed all declarations on purpose: linkwright uninstall reads them.
const uninstallHint = "; to remove everything from all clusters, run linkwright uninstall while they are still declared"

// noCluster adds a problem if all could be read and no Cluster is declared.
func (j *joiner) noCluster() {
	if len(j.clusters) == 0 && j.documents > 0 && !j.incomplete && len(j.unknownKinds) == 0 {
		j.problems = append(j.problems, api.Problem{Code: NoClusters, Message: "no Cluster is declared", Hint: "declare a Cluster" + OrPath + uninstallHint})
	}
}

// joinClusters returns the clusters by name, each name once, and the documents that declare them.
func (j *joiner) joinClusters() ([]Cluster, []declared[api.ClusterDoc]) {
	docs := unique(j, "Cluster", j.clusters)
	slices.SortFunc(docs, func(a, b declared[api.ClusterDoc]) int { return strings.Compare(a.name(), b.name()) })
	out := make([]Cluster, 0, len(docs))
	for _, d := range docs {
		out = append(out, Cluster{
			Name:   api.ClusterName(d.name()),
			Labels: d.value.Metadata.Labels,
			Spec:   d.value.Spec.WithDefaults(),
			At:     d.at(), Overlay: j.overlayOf(d),
		})
	}
	return out, docs
}

// unique returns the declarations whose name comes first, and fails the others; a nameless one was failed before.
func unique[T any](j *joiner, kind string, all []declared[T]) []declared[T] {
	var out []declared[T]
	first := map[string]api.Pos{}
	for _, d := range all {
		name, at := d.name(), d.at("metadata", "name")
		before, twice := first[name]
		switch {
		case name == "":
			j.incomplete = j.incomplete || kind == "Cluster" // nothing refers to another kind by name
		case twice:
			j.failTwice(at, before, kind+" "+name+" is declared twice", "remove one")
		default:
			first[name] = at
			out = append(out, d)
		}
	}
	return out
}

// duplicateAccess fails a cluster that has the same access as another.
func (j *joiner) duplicateAccess() {
	type place struct{ secret, key, path, context string }
	first := map[place]declared[api.ClusterDoc]{}
	for _, d := range j.clusters {
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
			j.failTwice(d.at("spec", "access"), before.at("spec", "access"),
				"cluster "+d.name()+" has the same access as cluster "+before.name(), "remove one, or declare one as a second name with sameAs")
		case !known:
			first[p] = d
		}
	}
}

// policy returns the only SyncPolicy, or the default one.
func (j *joiner) policy() api.SyncPolicy {
	if len(j.policies) == 0 {
		return api.SyncPolicy{}.WithDefaults()
	}
	for _, d := range j.policies[1:] {
		j.failTwice(d.at(), j.policies[0].at(), "there is more than one SyncPolicy", "keep one")
	}
	return j.policies[0].value.Spec.WithDefaults()
}
