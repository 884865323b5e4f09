package history

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// declaredLink is how a link is declared.
type declaredLink struct {
	external, discovery, federated, empty, suspend, spread, debug bool
}

// declaredCluster is how a cluster is declared.
type declaredCluster struct{ leaving, suspend, moved, extra bool }

// mc is its multicluster namespace.
func (c declaredCluster) mc() string {
	if c.moved {
		return other
	}
	return mc
}

// commit is what is declared. It is never changed, but copied.
type commit struct {
	number      int
	clusters    map[api.ClusterName]declaredCluster
	secondNames map[api.ClusterName]api.ClusterName // second names of clusters
	links       map[api.Pair]declaredLink
	mesh        *declaredLink // of all clusters
	policy      api.PrunePolicy
	hasLimits   bool // it may remove nothing that nobody approves
	fleet       *fleet.Fleet
}

func (c commit) clone() commit {
	c.clusters, c.links, c.secondNames = maps.Clone(c.clusters), maps.Clone(c.links), maps.Clone(c.secondNames)
	return c
}

// of returns how an ordered pair is linked: not, where a cluster leaves or is not declared.
func (c commit) of(p api.Pair) (declaredLink, bool) {
	source, okSource := c.clusters[p.Source]
	target, okTarget := c.clusters[p.Target]
	if !okSource || !okTarget || source.leaving || target.leaving || p.Source == p.Target {
		return declaredLink{}, false
	}
	if l, ok := c.links[p]; ok {
		return l, true
	}
	if c.mesh != nil {
		return *c.mesh, true
	}
	return declaredLink{}, false
}

// suspended reports whether nothing may be written of an end.
func (c commit) suspended(e object.End) bool {
	l, ok := c.of(e.Link)
	return c.clusters[e.Cluster].suspend || ok && l.suspend
}

// neededBy returns for which end a key must not go in a cluster: what Linkerd and we call the parts of a link, written down here
// once more, independently of what renders them.
func (c commit) neededBy(name api.ClusterName, k object.Key) (api.Pair, bool) {
	if at := c.clusters[name]; k == extraKey(at.mc()) && at.extra && !at.leaving {
		return api.Pair{}, true
	}
	for _, other := range slices.Sorted(maps.Keys(c.clusters)) {
		out, in := api.Pair{Source: name, Target: other}, api.Pair{Source: other, Target: name}
		if l, ok := c.of(out); ok && slices.Contains(sourceKeys(c.clusters[name].mc(), other, l), k) {
			return out, true
		}
		if _, ok := c.of(in); ok && (slices.Contains(targetKeys(other), k) || isTokenOf(k, other)) {
			return in, true
		}
	}
	return api.Pair{}, false
}

// sourceKeys are the parts of a link to a target in its source.
func sourceKeys(mc string, target api.ClusterName, l declaredLink) []object.Key {
	const rbac = "rbac.authorization.k8s.io"
	t := string(target)
	out := []object.Key{linkKey(mc, target), {Kind: "Secret", Namespace: mc, Name: "cluster-credentials-" + t}}
	if l.discovery || l.federated {
		out = append(out, object.Key{Kind: "Secret", Namespace: cp, Name: "cluster-credentials-" + t})
	}
	if l.external {
		return out
	}
	out = append(out,
		deployment(mc, target),
		runner(mc, target),
		object.Key{Kind: "Service", Namespace: mc, Name: "probe-" + t},
		object.Key{Group: rbac, Kind: "Role", Namespace: mc, Name: "controller-read-remote-creds-" + t},
		object.Key{Group: rbac, Kind: "RoleBinding", Namespace: mc, Name: "controller-read-remote-creds-" + t},
		object.Key{Group: rbac, Kind: "ClusterRoleBinding", Name: "linkerd-multicluster-controller-access-local-resources-" + t},
	)
	if l.spread {
		out = append(out, object.Key{Group: "policy", Kind: "PodDisruptionBudget", Namespace: mc, Name: "controller-" + t})
	}
	return out
}

// targetKeys are the parts of a link from a source in its target.
func targetKeys(source api.ClusterName) []object.Key {
	s := string(source)
	return []object.Key{
		account(source),
		{Kind: "Secret", Namespace: object.AccessNamespace, Name: owner + "." + s + "-token"},
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding", Name: object.AccessNamespace + "." + owner + "." + s},
	}
}

func account(source api.ClusterName) object.Key {
	return object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: owner + "." + string(source)}
}

func deployment(mc string, target api.ClusterName) object.Key {
	return object.Key{Group: "apps", Kind: "Deployment", Namespace: mc, Name: "controller-" + string(target)}
}

// runner is the account of a link's controller.
func runner(mc string, target api.ClusterName) object.Key {
	return object.Key{Kind: "ServiceAccount", Namespace: mc, Name: "controller-" + string(target)}
}

func linkKey(mc string, target api.ClusterName) object.Key {
	return object.Key{Group: linkerd.Group, Kind: "Link", Namespace: mc, Name: string(target)}
}

// extraKey is what an overlay brings in.
func extraKey(mc string) object.Key {
	return object.Key{Group: "networking.k8s.io", Kind: "NetworkPolicy", Namespace: mc, Name: "extra"}
}

func baseKey() object.Key { return inventoryKey(api.Pair{}) }

func inventoryKey(p api.Pair) object.Key {
	k := object.Key{Kind: "ConfigMap", Namespace: object.AccessNamespace, Name: owner + ".base"}
	if !p.IsZero() {
		k.Name = owner + "." + string(p.Source) + "." + string(p.Target)
	}
	return k
}

// isLeavingInventory reads from an inventory that its end leaves.
func isLeavingInventory(body object.Body) bool {
	var cm struct{ Data map[string]string }
	var inv struct{ Leaving bool }
	must(json.Unmarshal(body.Bytes(), &cm))
	_ = json.Unmarshal([]byte(cm.Data["inventory.json"]), &inv) // what is broken says nothing
	return inv.Leaving
}

// text is the commit as people write it.
func (c commit) text() string {
	var b strings.Builder
	doc := func(kind, name, more string) {
		fmt.Fprintf(&b, "---\napiVersion: %s\nkind: %s\nmetadata: {name: %s, labels: {kind: %s}}\nspec: {%s}\n", api.GroupVersion, kind, name, kind, more)
	}
	for _, name := range slices.Sorted(maps.Keys(c.clusters)) {
		state := "Active"
		if c.clusters[name].leaving {
			state = "Leaving"
		}
		more := ""
		if c.clusters[name].extra {
			more = ", overlay: extra"
		}
		doc("Cluster", string(name), fmt.Sprintf("access: {kubeconfigSecret: {name: %s}}, state: %s, suspend: %t, linkerd: {multiclusterNamespace: %s}%s",
			name, state, c.clusters[name].suspend, c.clusters[name].mc(), more))
	}
	for _, name := range slices.Sorted(maps.Keys(c.secondNames)) {
		if _, ok := c.clusters[c.secondNames[name]]; ok {
			fmt.Fprintf(&b, "---\napiVersion: %s\nkind: Cluster\nmetadata: {name: %s}\nspec: {sameAs: %s}\n", api.GroupVersion, name, c.secondNames[name])
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(c.links), api.Pair.Compare) {
		if _, ok := c.clusters[p.Source]; !ok {
			continue
		}
		if _, ok := c.clusters[p.Target]; ok {
			doc("Link", string(p.Source)+"-"+string(p.Target), fmt.Sprintf("source: %s, target: %s, %s", p.Source, p.Target, c.links[p].text()))
		}
	}
	if c.mesh != nil {
		doc("Mesh", "all", "clusters: {matchLabels: {kind: Cluster}}, template: {"+c.mesh.text()+"}")
	}
	bounds := ", maxClusters: 100000, maxLinks: 100%, maxMirrors: 100%"
	if c.hasLimits {
		bounds = ", maxClusters: 0, maxLinks: 0%, minAllowed: 0, maxMirrors: 0%"
	}
	doc("SyncPolicy", "all", fmt.Sprintf("prune: {policy: %s%s}", c.policy, bounds))
	return b.String()
}

func (l declaredLink) text() string {
	out := fmt.Sprintf("suspend: %t", l.suspend)
	if l.empty {
		out += ", selector: {}"
	}
	if l.discovery {
		out += ", remoteDiscoverySelector: {matchLabels: {mirror.linkerd.io/exported: remote-discovery}}"
	}
	if l.federated {
		out += ", federatedServiceSelector: {matchLabels: {mirror.linkerd.io/federated: member}}"
	}
	controller := "mode: PerLink"
	if l.external {
		controller = "mode: External"
	} else if l.spread {
		controller += ", replicas: 2, podAntiAffinity: true"
	}
	if l.debug {
		controller += ", logLevel: debug"
	}
	return out + ", controller: {" + controller + "}"
}

// loader loads commits, each text once.
type loader struct{ cached map[string]*fleet.Fleet }

// component is an overlay that does nothing by itself: see renderer.
const component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"

// maxLoaded bounds what a loader remembers.
const maxLoaded = 20_000

func (l *loader) load(c commit) (commit, error) {
	text := c.text()
	f := l.cached[text]
	if f == nil {
		loaded, problems := fleet.Load("none", fstest.MapFS{
			"fleet.yaml": {Data: []byte(text)}, "extra/kustomization.yaml": {Data: []byte(component)},
		})
		if loaded == nil {
			return c, fmt.Errorf("load: %v\n%s", problems, text)
		}
		if len(l.cached) > maxLoaded {
			clear(l.cached)
		}
		l.cached[text], f = loaded, loaded
	}
	numbered := *f
	numbered.Commit = api.Commit(fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "%d %s", c.number, text))))
	c.fleet = &numbered
	return c, nil
}
