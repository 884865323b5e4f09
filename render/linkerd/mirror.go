package linkerd

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Mirror are the objects of Linkerd's controller for one link, in order of their keys. Apart from Discovered and Unverified, it has only
// objects that such a controller provably made (controller_made.go).
type Mirror struct {
	Pods       []object.Key // of the link's own controller, also of one that `linkerd multicluster link` made
	Services   []object.Key // mirrors of the target's services
	Discovered []object.Key // those of them that the control plane resolves in the target
	Endpoints  []object.Key // of mirrors, and without a Service too
	Probe      []object.Key // the probe's Endpoints
	Lease      []object.Key
	Federated  []Membership
	Unverified []object.Key // have Linkerd's labels for the target, and nothing shows that Linkerd's controller made them
}

// Membership is one federated Service that lists the target.
type Membership struct {
	Key    object.Key
	Rest   string // the annotation without the target's members
	Others bool   // members of other clusters or of this one remain, so the Service stays
}

// Resolved lists, in order, the Services for which the control plane still needs its credential for the target: without it
// the answer is NotFound (linkerd2 controller/api/destination/server.go).
func (m Mirror) Resolved() []object.Key { return m.withFederated(m.Discovered) }

// Selected lists, in order, the Services that exist because the Link selects services in the target.
func (m Mirror) Selected() []object.Key { return m.withFederated(m.Services) }

func (m Mirror) withFederated(mirrors []object.Key) []object.Key {
	out := slices.Clone(mirrors)
	for _, f := range m.Federated {
		out = append(out, f.Key)
	}
	return out
}

// HasMirrors reports whether mirrors are left.
func (m Mirror) HasMirrors() bool { return len(m.Services)+len(m.Endpoints)+len(m.Federated) > 0 }

// MirrorWatches lists what MirrorsOf reads in a source. Mirrors live in all namespaces and are selected by Linkerd's own
// labels; only their metadata is read.
func MirrorWatches(l api.Linkerd) []object.Watch {
	return []object.Watch{
		{Version: "v1", Kind: "Service", Selector: MirroredLabel, Depth: object.Metadata},
		{Version: "v1", Kind: "Endpoints", Selector: ClusterNameLabel, Depth: object.Metadata, Health: true},
		{Version: "v1", Kind: "Pod", Namespace: l.MulticlusterNamespace, Selector: ComponentLabel + " in (" + Component + "," + LegacyComponent + ")", Depth: object.Metadata},
		{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease", Namespace: l.MulticlusterNamespace, Health: true},
	}
}

// MirrorsOf groups the objects of Linkerd's controllers in a source by target; keys are in order. The empty target has the pods of shared
// controllers.
func MirrorsOf(l api.Linkerd, observed object.Observation) map[api.ClusterName]Mirror {
	out := map[api.ClusterName]Mirror{}
	for key, body := range observed.Bodies() {
		if key.Group == "" && (key.Kind == "Service" || key.Kind == "Endpoints" || key.Kind == "Pod") {
			var o struct {
				Metadata metav1.ObjectMeta `json:"metadata"`
			}
			if json.Unmarshal(body.Bytes(), &o) == nil {
				classify(out, l, controllerObject{key, o.Metadata, observed.Record(key)})
			}
		}
	}
	for key, r := range observed.Records() {
		if name, ok := strings.CutPrefix(key.Name, Lease("")); ok && key.Kind == "Lease" && key.Namespace == l.MulticlusterNamespace {
			m := out[api.ClusterName(name)]
			if byController(r) {
				m.Lease = append(m.Lease, key)
			} else {
				m.Unverified = append(m.Unverified, key)
			}
			out[api.ClusterName(name)] = m
		}
	}
	return out
}

// controllerObject is one object of a source that Linkerd's controller may have made.
type controllerObject struct {
	key    object.Key
	meta   metav1.ObjectMeta
	record object.Record
}

// classify adds one object to the Mirror of its target:
//
//	Pod        cluster-name: foo                             foo's controller
//	Pod        linkwright.dev/mirror                         a shared controller
//	Endpoints  cluster-name: foo, named probe[-gateway]-foo  foo's probe
//	Endpoints  cluster-name: foo                             of a mirror
//	Service    mirrored, cluster-name: foo                   a mirror
//	Service    mirrored, lists svc@foo                       a federated service with foo as member
//
// Objects other than pods must pass the checks of controller_made.go. The control plane resolves every Service with its label,
// whoever made it.
func classify(out map[api.ClusterName]Mirror, l api.Linkerd, o controllerObject) {
	name := api.ClusterName(o.meta.Labels[ClusterNameLabel])
	mirrored := o.meta.Labels[MirroredLabel] != ""
	if mirrored && o.key.Kind == "Service" && name == "" {
		addMembers(out, o)
		return
	}
	if name == "" && (o.key.Kind != "Pod" || o.meta.Labels[MirrorLabel] == "") {
		return
	}
	m := out[name]
	switch {
	case o.key.Kind == "Pod":
		m.Pods = append(m.Pods, o.key)
	case o.key.Kind == "Endpoints" && o.key.Namespace == l.MulticlusterNamespace && (o.key.Name == ProbeService(name) || o.key.Name == LegacyProbeService(name)):
		o.addTo(&m.Probe, &m.Unverified, o.isProbe())
	case o.key.Kind == "Endpoints" && mirrored:
		o.addTo(&m.Endpoints, &m.Unverified, o.isMirror(name))
	case o.key.Kind == "Service" && mirrored:
		o.addTo(&m.Services, &m.Unverified, o.isMirror(name))
		if o.meta.Labels[RemoteDiscovery] != "" {
			m.Discovered = append(m.Discovered, o.key)
		}
	}
	out[name] = m
}

// addTo adds the object to one of two lists.
func (o controllerObject) addTo(proven, unproven *[]object.Key, proof bool) {
	if !proof {
		proven = unproven
	}
	*proven = append(*proven, o.key)
}

func addMembers(out map[api.ClusterName]Mirror, o controllerObject) {
	all := splitMembers(o.meta.Annotations[RemoteDiscovery])
	local := o.meta.Annotations[LocalDiscovery] != ""
	seen := map[api.ClusterName]bool{}
	for _, member := range all {
		_, cluster, _ := strings.Cut(member, "@")
		name := api.ClusterName(cluster)
		if seen[name] {
			continue
		}
		seen[name] = true
		m := out[name]
		if o.isFederated() {
			rest := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return strings.HasSuffix(s, "@"+cluster) })
			m.Federated = append(m.Federated, Membership{o.key, strings.Join(rest, ","), local || len(rest) > 0})
		} else {
			m.Unverified = append(m.Unverified, o.key)
		}
		out[name] = m
	}
}

func splitMembers(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}
