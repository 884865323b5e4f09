package linkerd

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Mirror is what Linkerd's controller of one link has made and left, by key in order.
type Mirror struct {
	Pods       []object.Key // of the controller, also of one that `linkerd multicluster link` made
	Services   []object.Key // mirrors of the target's services
	Discovered []object.Key // those of them that the control plane resolves in the target
	Endpoints  []object.Key // of mirrors, and without a Service too
	Probe      []object.Key // the probe's Endpoints
	Lease      []object.Key
	Federated  []Membership
}

// Membership is one federated Service that lists the target.
type Membership struct {
	Key    object.Key
	Rest   string // the annotation without the target's members
	Others bool   // members of other clusters or of this one remain: the Service lives on
}

// Resolved lists, in order, the Services for which the control plane still needs its credential for the target: one that
// refers to a cluster without one is answered NotFound (linkerd2 controller/api/destination/server.go).
func (m Mirror) Resolved() []object.Key { return m.and(m.Discovered) }

// Selected lists, in order, the Services that are there for what the Link selects in the target.
func (m Mirror) Selected() []object.Key { return m.and(m.Services) }

func (m Mirror) and(mirrors []object.Key) []object.Key {
	out := slices.Clone(mirrors)
	for _, f := range m.Federated {
		out = append(out, f.Key)
	}
	return out
}

// Left says that something would still be mirrored if the rest were taken away now.
func (m Mirror) Left() bool { return len(m.Services)+len(m.Endpoints)+len(m.Federated) > 0 }

// MirrorWatches lists what has to be looked at in a source so that MirrorOf can answer. Mirrors live
// in all namespaces and are read by Linkerd's own labels, as metadata.
func MirrorWatches(l api.Linkerd) []object.Watch {
	return []object.Watch{
		{Version: "v1", Kind: "Service", Selector: MirroredLabel, Depth: object.Metadata},
		{Version: "v1", Kind: "Endpoints", Selector: ClusterNameLabel, Depth: object.Metadata, Health: true},
		{Version: "v1", Kind: "Pod", Namespace: l.MulticlusterNamespace, Selector: ClusterNameLabel + "," + ComponentLabel + " in (" + Component + "," + LegacyComponent + ")", Depth: object.Metadata},
		{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease", Namespace: l.MulticlusterNamespace, Health: true},
	}
}

// MirrorsOf sorts what was seen in a source by the target it belongs to; keys are in order.
func MirrorsOf(l api.Linkerd, seen object.Observation) map[api.ClusterName]Mirror {
	out := map[api.ClusterName]Mirror{}
	for key, body := range seen.Bodies() {
		if key.Group == "" && (key.Kind == "Service" || key.Kind == "Endpoints" || key.Kind == "Pod") {
			var o struct {
				Metadata metav1.ObjectMeta `json:"metadata"`
			}
			if json.Unmarshal(body.Bytes(), &o) == nil {
				file(out, l, key, o.Metadata)
			}
		}
	}
	for key := range seen.Records() {
		if name, ok := strings.CutPrefix(key.Name, Lease("")); ok && key.Kind == "Lease" && key.Namespace == l.MulticlusterNamespace {
			m := out[api.ClusterName(name)]
			m.Lease = append(m.Lease, key)
			out[api.ClusterName(name)] = m
		}
	}
	return out
}

// file puts one object where it belongs:
//
//	Pod        cluster-name: foo                             foo's controller
//	Endpoints  cluster-name: foo, named probe[-gateway]-foo  foo's probe
//	Endpoints  cluster-name: foo                             of a mirror
//	Service    mirrored, cluster-name: foo                   a mirror
//	Service    mirrored, lists svc@foo                       a federated service with foo as member
func file(out map[api.ClusterName]Mirror, l api.Linkerd, key object.Key, meta metav1.ObjectMeta) {
	name := api.ClusterName(meta.Labels[ClusterNameLabel])
	mirrored := meta.Labels[MirroredLabel] != ""
	if mirrored && key.Kind == "Service" && name == "" {
		members(out, key, meta)
		return
	}
	if name == "" {
		return
	}
	m := out[name]
	switch {
	case key.Kind == "Pod":
		m.Pods = append(m.Pods, key)
	case key.Kind == "Endpoints" && key.Namespace == l.MulticlusterNamespace && (key.Name == ProbeService(name) || key.Name == LegacyProbeService(name)):
		m.Probe = append(m.Probe, key)
	case key.Kind == "Endpoints" && mirrored:
		m.Endpoints = append(m.Endpoints, key)
	case key.Kind == "Service" && mirrored:
		m.Services = append(m.Services, key)
		if meta.Labels[RemoteDiscovery] != "" {
			m.Discovered = append(m.Discovered, key)
		}
	}
	out[name] = m
}

func members(out map[api.ClusterName]Mirror, key object.Key, meta metav1.ObjectMeta) {
	all := splitMembers(meta.Annotations[RemoteDiscovery])
	local := meta.Annotations[LocalDiscovery] != ""
	seen := map[api.ClusterName]bool{}
	for _, member := range all {
		_, cluster, _ := strings.Cut(member, "@")
		name := api.ClusterName(cluster)
		if seen[name] {
			continue
		}
		seen[name] = true
		rest := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return strings.HasSuffix(s, "@"+cluster) })
		m := out[name]
		m.Federated = append(m.Federated, Membership{key, strings.Join(rest, ","), local || len(rest) > 0})
		out[name] = m
	}
}

func splitMembers(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}
