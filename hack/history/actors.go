package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// foreignObject is a thing that others made.
func (p *simCluster) foreignObject(k object.Key, labels map[string]string, more map[string]any) *simObject {
	if more == nil {
		more = minimalContent(k)
	}
	return &simObject{
		key: k, body: encoded(content(k, labels, more)),
		rec: object.Record{UID: p.newUID(), ResourceVersion: p.next(), Mark: markOf(labels), ForeignManagers: uncovered(object.Record{}).ForeignManagers},
	}
}

// minimalContent is the least that a server takes of a kind.
func minimalContent(k object.Key) map[string]any {
	one := map[string]string{"app": "one"}
	pod := map[string]any{"containers": []any{map[string]any{"name": "one", "image": "one"}}}
	switch k.Kind {
	case "Service":
		return map[string]any{"spec": map[string]any{"ports": []any{map[string]any{"port": 80}}}}
	case "Pod":
		return map[string]any{"spec": pod}
	case "Deployment":
		return map[string]any{"spec": map[string]any{
			"selector": map[string]any{"matchLabels": one},
			"template": map[string]any{"metadata": map[string]any{"labels": one}, "spec": pod},
		}}
	case "RoleBinding", "ClusterRoleBinding":
		return map[string]any{"roleRef": map[string]any{"apiGroup": k.Group, "kind": "ClusterRole", "name": "view"}}
	case "Link":
		return map[string]any{"spec": map[string]any{
			"targetClusterName": k.Name, "targetClusterDomain": "cluster.local", "targetClusterLinkerdNamespace": cp,
			"clusterCredentialsSecret": "another",
		}}
	}
	return nil
}

// markOf is the mark of what others wrote: a label of ours proves nothing.
func markOf(labels map[string]string) object.Mark {
	switch labels[object.OwnerLabel] {
	case "":
		return object.Unmarked
	case owner:
		return object.Copied
	}
	return object.Theirs
}

// runTokenController is its token controller: a token Secret gets a token, or goes with its account.
func (p *simCluster) runTokenController() {
	for _, t := range p.of(kind{"", "Secret"}) {
		of, n, ok := tokenOf(t.key)
		if !ok {
			continue
		}
		account := p.objects[of]
		switch {
		case account == nil, t.account != "" && t.account != account.rec.UID:
			p.drop(t.key)
		case t.token == "" && !p.late && !t.rec.Terminating:
			next := *t
			next.token, next.account = fmt.Sprintf("token-%d-of-%s-in-%s", n, of.Name, p.uid), account.rec.UID
			p.reissued = p.reissued || t.madeBy == byLinkwright && p.damagedAt == 0 && p.endedTokens[t.key] == account.rec.UID
			next.rec.ResourceVersion = p.next()
			p.put(next.withToken())
		}
	}
}

// withToken shows the token in the body.
func (t *simObject) withToken() *simObject {
	return t.edited(func(o map[string]any) { field(o, "data")["token"] = []byte(t.token) })
}

// exported is a service of each target, by the way it is mirrored.
const (
	viaGateway  = "web"
	viaEndpoint = "db"
	asMember    = "api"
)

// runMirrorControllers is its controllers in a cluster, each as its pod is there; reachable says which targets answer.
func (p *simCluster) runMirrorControllers(reachable func(api.ClusterName) bool) {
	for _, d := range p.of(kind{"apps", "Deployment"}) {
		if target, ok := strings.CutPrefix(d.key.Name, "controller-"); ok && (d.key.Namespace == mc || d.key.Namespace == other) {
			p.pod(d.key.Namespace, api.ClusterName(target))
			account := p.objects[object.Key{Kind: "ServiceAccount", Namespace: d.key.Namespace, Name: d.key.Name}]
			p.chartRan[api.ClusterName(target)] = p.chartRan[api.ClusterName(target)] || d.madeBy != byLinkwright || account == nil || account.madeBy != byLinkwright
		}
	}
	for _, pod := range p.of(kind{"", "Pod"}) {
		target := pod.target
		if d := p.objects[deployment(pod.key.Namespace, target)]; d == nil && !p.lagging[pod.key] {
			p.drop(pod.key)
			continue
		}
		delete(p.lagging, pod.key)
		if l := p.objects[linkKey(pod.key.Namespace, target)]; l != nil && !p.idle {
			p.runMirrorController(l, target, reachable(target))
		}
	}
}

func (p *simCluster) pod(mc string, target api.ClusterName) {
	k := object.Key{Kind: "Pod", Namespace: mc, Name: "controller-" + string(target) + "-0"}
	p.ensure(k, target, map[string]string{linkerd.ClusterNameLabel: string(target), "component": "controller"}, nil)
}

// ensure has a controller's object there.
func (p *simCluster) ensure(k object.Key, target api.ClusterName, labels, annotations map[string]string) bool {
	if p.objects[k] != nil {
		return false
	}
	t := p.foreignObject(k, labels, nil)
	t.madeBy, t.target, t.rec.ForeignManagers = byLinkerd, target, unique.Make(mirrorManager)
	if annotations != nil {
		t = t.edited(func(o map[string]any) { field(o, "metadata")["annotations"] = annotations })
	}
	p.put(t)
	return true
}

// mirrorManager is the field manager of a mirror controller.
const mirrorManager = "controller"

// mirrorOf are the annotations of a mirror of a service.
func mirrorOf(service string) map[string]string {
	return map[string]string{linkerd.RemoteServiceName: service + "." + shop + ".svc.cluster.local", linkerd.RemoteResourceVersion: "1"}
}

// runMirrorController does what one running controller does: it has there what its Link selects, and takes away what it does not; the
// latter only while it reaches the target. Labels are copied from there, also one of ours.
func (p *simCluster) runMirrorController(l *simObject, target api.ClusterName, reached bool) {
	name, spec := string(target), l.link()
	of := map[string]string{linkerd.ClusterNameLabel: name}
	p.ensure(leaseKey(l.key.Namespace, target), target, nil, nil)
	p.ensure(probeKey(l.key.Namespace, target), target, of, map[string]string{"mirror.linkerd.io/remote-gateway-identity": "gateway." + name})
	if !reached {
		return
	}
	mirrored := map[string]string{linkerd.ClusterNameLabel: name, linkerd.MirroredLabel: "true", object.OwnerLabel: owner}
	moved := p.ensureMirror(target, chooses(spec.Selector), "Service", viaGateway, mirrored)
	moved = p.ensureMirror(target, chooses(spec.Selector), "Endpoints", viaGateway, mirrored) || moved
	discovered := maps.Clone(mirrored)
	discovered[linkerd.RemoteDiscovery] = name
	moved = p.ensureMirror(target, chooses(spec.RemoteDiscoverySelector), "Service", viaEndpoint, discovered) || moved
	if moved = p.setMember(target, chooses(spec.FederatedServiceSelector)) || moved; moved {
		status := *l // a write of its status moves the Link's version
		status.rec.ResourceVersion = p.next()
		p.put(&status)
	}
}

func leaseKey(mc string, target api.ClusterName) object.Key {
	return object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: mc, Name: "service-mirror-write-" + string(target)}
}

func probeKey(mc string, target api.ClusterName) object.Key {
	return object.Key{Kind: "Endpoints", Namespace: mc, Name: "probe-" + string(target)}
}

func chooses(s *metav1.LabelSelector) bool {
	return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
}

// ensureMirror has one mirror there, or not.
func (p *simCluster) ensureMirror(target api.ClusterName, chosen bool, kind, name string, labels map[string]string) bool {
	k := object.Key{Kind: kind, Namespace: shop, Name: name + "-" + string(target)}
	if chosen {
		return p.ensure(k, target, labels, mirrorOf(name))
	}
	if t := p.objects[k]; t == nil || t.madeBy != byLinkerd {
		return false
	}
	p.drop(k)
	return true
}

func federatedKey() object.Key {
	return object.Key{Kind: "Service", Namespace: shop, Name: asMember + "-federated"}
}

// members are the clusters that a federated Service lists.
func members(t *simObject) []string {
	if t == nil {
		return nil
	}
	return strings.FieldsFunc(t.meta().Annotations[linkerd.RemoteDiscovery], func(r rune) bool { return r == ',' })
}

// memberOf is the cluster of a member.
func memberOf(m string) api.ClusterName { return api.ClusterName(strings.TrimPrefix(m, asMember+"@")) }

// setMember has the target join the federated Service, or leave it; without any the Service goes.
func (p *simCluster) setMember(target api.ClusterName, chosen bool) bool {
	t, self := p.objects[federatedKey()], asMember+"@"+string(target)
	was := members(t)
	switch now := slices.Contains(was, self); {
	case now == chosen, t != nil && t.madeBy != byLinkerd:
		return false
	case t == nil:
		return p.ensure(federatedKey(), "", map[string]string{linkerd.MirroredLabel: "true"}, map[string]string{linkerd.RemoteDiscovery: self})
	}
	next := slices.DeleteFunc(slices.Clone(was), func(m string) bool { return m == self })
	if chosen {
		next = append(next, self)
		slices.Sort(next)
	}
	if len(next) == 0 && t.meta().Annotations[linkerd.LocalDiscovery] == "" {
		p.drop(t.key)
		return true
	}
	edited := t.edited(func(o map[string]any) {
		field(o, "metadata", "annotations")[linkerd.RemoteDiscovery] = strings.Join(next, ",")
	})
	edited.rec.ResourceVersion = p.next()
	p.put(edited)
	return true
}
