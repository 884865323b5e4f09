package linkerd

import (
	"bytes"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// GatewayHealth is the state of one target's gateway, by the mirrors in a source. Linkerd's controller writes all addresses of a mirror as not
// ready while its probe fails, and none if no pod serves in the target (linkerd2 multicluster/service-mirror/cluster_watcher.go).
type GatewayHealth struct {
	Serving  int          // mirrors with a ready address
	NotReady []object.Key // Endpoints of mirrors with addresses, none of them ready; by key
	Empty    []object.Key // mirrors without any address; by key
}

// Unreachable reports whether the gateway does not answer: mirrors have addresses, and none is ready.
func (p GatewayHealth) Unreachable() bool { return len(p.NotReady) > 0 && p.Serving == 0 }

// GatewayHealths computes the state for all targets of a source at once. It ignores federated services and mirrors that the control plane
// resolves in the target: they have no Endpoints.
func GatewayHealths(l api.Linkerd, observed object.Observation) map[api.ClusterName]GatewayHealth {
	out := map[api.ClusterName]GatewayHealth{}
	for k, r := range observed.Kind("", "Endpoints") {
		if name := targetOf(observed, k); name != "" && !isProbe(l, k, name) {
			p := out[name]
			switch r.Health.Cause() {
			case object.NoneReady:
				p.NotReady = append(p.NotReady, k)
			case object.NoAddress:
				p.Empty = append(p.Empty, k)
			default:
				p.Serving++
			}
			out[name] = p
		}
	}
	for k := range observed.Kind("", "Service") {
		at := object.Key{Kind: "Endpoints", Namespace: k.Namespace, Name: k.Name}
		if !observed.Record(at).IsZero() {
			continue
		}
		if name := targetOf(observed, k); name != "" && !hasLabel(observed, k, RemoteDiscovery) {
			p := out[name]
			p.Empty = append(p.Empty, at)
			out[name] = p
		}
	}
	return out
}

func isProbe(l api.Linkerd, k object.Key, name api.ClusterName) bool {
	return k.Namespace == l.MulticlusterNamespace && (k.Name == ProbeService(name) || k.Name == LegacyProbeService(name))
}

// targetOf is the target of a mirror or of its Endpoints; empty: it is no mirror. It searches the text instead of decoding it.
func targetOf(observed object.Observation, k object.Key) api.ClusterName {
	body, ok := observed.Body(k)
	if !ok {
		return ""
	}
	_, rest, ok := bytes.Cut(body.Bytes(), []byte(`"`+ClusterNameLabel+`":"`))
	if !ok {
		return ""
	}
	name, _, _ := bytes.Cut(rest, []byte(`"`))
	return api.ClusterName(name)
}

func hasLabel(observed object.Observation, k object.Key, label string) bool {
	body, _ := observed.Body(k)
	return bytes.Contains(body.Bytes(), []byte(`"`+label+`":"`))
}
