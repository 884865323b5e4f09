package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// put lays a foreign object into a cluster.
func put(s *state.Cluster, k object.Key, body map[string]any, more metav1.ObjectMeta) {
	meta := more
	meta.Name, meta.Namespace = k.Name, k.Namespace
	if body == nil {
		body = map[string]any{}
	}
	if meta.Annotations == nil {
		meta.Annotations = asMade(k, meta.Labels)
	}
	body["metadata"] = meta
	r := object.Record{UID: "uid-" + k.String(), ResourceVersion: "1"}
	if k.Kind == "Lease" || meta.Labels[linkerd.MirroredLabel]+meta.Labels[linkerd.ClusterNameLabel] != "" {
		r.ForeignManagers = unique.Make("controller")
	}
	record(&s.Live, k, r)
	show(&s.Live, k, encoded(body))
}

// asMade returns the annotations that a controller of Linkerd's gives what has its labels: for a probe's Endpoints, and for a mirror.
func asMade(k object.Key, labels map[string]string) map[string]string {
	target := labels[linkerd.ClusterNameLabel]
	service, mirrored := strings.CutSuffix(k.Name, "-"+target)
	switch {
	case k.Kind == "Endpoints" && strings.HasPrefix(k.Name, "probe-"):
		return map[string]string{"mirror.linkerd.io/remote-gateway-identity": "gateway." + target}
	case target != "" && mirrored:
		return map[string]string{linkerd.RemoteServiceName: service + ".shop.svc.cluster.local", linkerd.RemoteResourceVersion: "1"}
	}
	return nil
}

// dressed returns a cluster that Linkerd and its multicluster extension are installed in.
func dressed(name api.ClusterName, gateway string) *state.Cluster {
	s := &state.Cluster{Reading: state.Read}
	for _, ns := range []string{"kube-system", cp, mc} {
		k := object.Key{Kind: "Namespace", Name: ns}
		put(s, k, nil, metav1.ObjectMeta{})
		record(&s.Live, k, object.Record{UID: string(name) + "-" + ns, ResourceVersion: "1"})
	}
	for _, role := range []string{linkerd.LocalAccessRole, linkerd.RemoteAccessRole} {
		put(s, object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role}, nil, metav1.ObjectMeta{})
	}
	put(s, object.Key{Kind: "ConfigMap", Namespace: cp, Name: "linkerd-config"}, map[string]any{"data": map[string]string{
		"values": "clusterDomain: cluster.local\nidentityTrustDomain: root.test\nlinkerdVersion: edge-26.6.3\n",
	}}, metav1.ObjectMeta{})
	put(s, object.Key{Kind: "ConfigMap", Namespace: "kube-system", Name: "kube-root-ca.crt"},
		map[string]any{"data": map[string]string{"ca.crt": "CA of " + string(name)}}, metav1.ObjectMeta{})
	put(s, object.Key{Kind: "Service", Namespace: mc, Name: "linkerd-gateway"}, map[string]any{
		"spec": map[string]any{"type": "LoadBalancer", "ports": []any{
			map[string]any{"name": "mc-gateway", "port": 4143}, map[string]any{"name": "mc-probe", "port": 4191},
		}},
		"status": map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": gateway}}}},
	}, metav1.ObjectMeta{Annotations: map[string]string{
		"mirror.linkerd.io/gateway-identity": "gw." + string(name),
		"mirror.linkerd.io/probe-path":       "/ready", "mirror.linkerd.io/probe-period": "3",
	}})
	return s
}

// playTokens is Kubernetes' token controller: a token Secret gets a token, or goes with its account.
func playTokens(s *state.Cluster) {
	for k, body := range s.Live.Bodies() {
		var secret corev1.Secret
		if k.Kind != "Secret" || json.Unmarshal(body.Bytes(), &secret) != nil || secret.Type != corev1.SecretTypeServiceAccountToken {
			continue
		}
		account := object.Key{Kind: "ServiceAccount", Namespace: k.Namespace, Name: secret.Annotations[corev1.ServiceAccountNameKey]}
		if s.Live.Record(account).IsZero() {
			remove(s, k)
			continue
		}
		secret.Data = map[string][]byte{"token": []byte("token-of-" + k.Name)}
		show(&s.Live, k, encoded(secret))
	}
}

// playControllers is Linkerd's service mirror: each controller mirrors what its Link selects. What it
// made stays when it stops, but for its pod.
func playControllers(s *state.Cluster) {
	for k := range s.Live.Records() {
		if target, ok := strings.CutPrefix(k.Name, "controller-"); ok && k.Kind == "Pod" {
			if s.Live.Record(inside(k.Namespace, deployment(target))).IsZero() {
				remove(s, k)
			}
		}
	}
	for k := range s.Live.Records() {
		if target, ok := strings.CutPrefix(k.Name, "controller-"); ok && k.Kind == "Deployment" {
			mirrorFrom(s, k.Namespace, target)
		}
	}
}

// playShared is linkwright's own service mirror: it mirrors the Links that it selects, and releases the Leases of others.
func playShared(s *state.Cluster) {
	k := object.Key{Group: "apps", Kind: "Deployment", Namespace: mc, Name: linkerd.Shared(owner)}
	pod := object.Key{Kind: "Pod", Namespace: mc, Name: k.Name + "-1"}
	if s.Live.Record(k).IsZero() {
		remove(s, pod)
		return
	}
	put(s, pod, nil, metav1.ObjectMeta{Labels: map[string]string{linkerd.MirrorLabel: owner, "component": "controller"}})
	for k, body := range s.Live.Bodies() {
		if k.Kind == "Link" && linkerd.MirrorOf(body) == owner {
			mirrorFrom(s, mc, k.Name)
			if s.Live.Record(deployment(k.Name)).IsZero() {
				remove(s, object.Key{Kind: "Pod", Namespace: mc, Name: "controller-" + k.Name})
			}
		}
	}
	for k, r := range s.Live.Records() {
		if target, ok := strings.CutPrefix(k.Name, "service-mirror-write-"); ok && k.Kind == "Lease" && s.Live.Record(linkKey(target)).IsZero() {
			r.Health = object.HealthOf("Lease", []byte("{}"))
			record(&s.Live, k, r)
		}
	}
}

func deployment(target string) object.Key {
	return object.Key{Group: "apps", Kind: "Deployment", Namespace: mc, Name: "controller-" + target}
}

func linkKey(target string) object.Key {
	return object.Key{Group: linkerd.Group, Kind: "Link", Namespace: mc, Name: target}
}

// inside returns a key in another namespace.
func inside(namespace string, k object.Key) object.Key {
	k.Namespace = namespace
	return k
}

func mirror(s *state.Cluster, target string) { mirrorFrom(s, mc, target) }

// mirrorFrom does what one running controller does.
func mirrorFrom(s *state.Cluster, ns, target string) {
	of := map[string]string{linkerd.ClusterNameLabel: target}
	mirrored := map[string]string{linkerd.ClusterNameLabel: target, linkerd.MirroredLabel: "true"}
	put(s, object.Key{Kind: "Pod", Namespace: ns, Name: "controller-" + target}, nil,
		metav1.ObjectMeta{Labels: map[string]string{linkerd.ClusterNameLabel: target, "component": "controller"}})
	var link struct{ Spec linkerd.LinkSpec }
	if body, ok := s.Live.Body(inside(ns, linkKey(target))); !ok || json.Unmarshal(body.Bytes(), &link) != nil {
		return
	}
	put(s, object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: ns, Name: "service-mirror-write-" + target}, nil, metav1.ObjectMeta{})
	put(s, object.Key{Kind: "Endpoints", Namespace: ns, Name: "probe-" + target}, nil, metav1.ObjectMeta{Labels: of})
	if link.Spec.Selector == nil && link.Spec.RemoteDiscoverySelector == nil && link.Spec.FederatedServiceSelector == nil {
		drained(s, api.ClusterName(target))
		return
	}
	if link.Spec.Selector != nil {
		for _, kind := range []string{"Service", "Endpoints"} {
			put(s, object.Key{Kind: kind, Namespace: "shop", Name: "web-" + target}, nil, metav1.ObjectMeta{Labels: mirrored})
		}
	}
	if link.Spec.RemoteDiscoverySelector != nil {
		labels := map[string]string{linkerd.RemoteDiscovery: target}
		maps.Copy(labels, mirrored)
		put(s, object.Key{Kind: "Service", Namespace: "shop", Name: "db-" + target}, nil, metav1.ObjectMeta{Labels: labels})
	}
	if link.Spec.FederatedServiceSelector != nil {
		join(s, object.Key{Kind: "Service", Namespace: "shop", Name: "web-federated"}, "web@"+target)
	}
}

// drained takes away what the controller of a Link without any selector does.
func drained(s *state.Cluster, target api.ClusterName) {
	m := linkerd.MirrorsOf(api.Linkerd{Namespace: cp, MulticlusterNamespace: mc}, s.Live)[target]
	for _, k := range slices.Concat(m.Services, m.Endpoints) {
		remove(s, k)
	}
	for _, f := range m.Federated {
		members := strings.Split(f.Rest, ",")
		remove(s, f.Key)
		for _, member := range slices.DeleteFunc(members, func(m string) bool { return m == "" }) {
			join(s, f.Key, member)
		}
	}
}

func join(s *state.Cluster, k object.Key, member string) {
	var members []string
	if old := metaOf(bodyOf(s.Live, k)).Annotations[linkerd.RemoteDiscovery]; old != "" {
		members = strings.Split(old, ",")
	}
	if !slices.Contains(members, member) {
		members = append(members, member)
		slices.Sort(members)
	}
	put(s, k, nil, metav1.ObjectMeta{
		Labels:      map[string]string{linkerd.MirroredLabel: "true"},
		Annotations: map[string]string{linkerd.RemoteDiscovery: strings.Join(members, ",")},
	})
}

func remove(s *state.Cluster, k object.Key) {
	e := s.Live.Edit()
	e.Drop(k)
	s.Live = e.Observation()
}

// inventories returns what is recorded in a cluster now.
func inventories(t testing.TB, observed object.Observation) map[object.End]inventory.Inventory {
	t.Helper()
	list, err := inventory.Read(owner, observed)
	if err != nil {
		t.Fatal(err)
	}
	out := map[object.End]inventory.Inventory{}
	for _, i := range list {
		out[i.End] = i
	}
	return out
}

func recordedIn(t testing.TB, observed object.Observation, c object.Change) bool {
	t.Helper()
	return inventories(t, observed)[c.End].Has(c.Key)
}
