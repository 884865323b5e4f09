package prune

import (
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

const (
	cp = api.DefaultNamespace
	mc = api.DefaultMulticlusterNamespace
)

var (
	westEast = api.Pair{Source: "west", Target: "east"}
	source   = object.End{Cluster: "west", Link: westEast}
	target   = object.End{Cluster: "east", Link: westEast}

	deploymentKey = object.Key{Group: "apps", Kind: "Deployment", Namespace: mc, Name: "controller-east"}
	budgetKey     = object.Key{Group: "policy", Kind: "PodDisruptionBudget", Namespace: mc, Name: "controller-east"}
	accountKey    = object.Key{Kind: "ServiceAccount", Namespace: mc, Name: "controller-east"}
	probeKey      = object.Key{Kind: "Service", Namespace: mc, Name: "probe-east"}
	linkKey       = object.Key{Group: linkerd.Group, Kind: "Link", Namespace: mc, Name: "east"}
	mirrorSecret  = object.Key{Kind: "Secret", Namespace: mc, Name: "cluster-credentials-east"}
	planeSecret   = object.Key{Kind: "Secret", Namespace: cp, Name: "cluster-credentials-east"}

	podKey       = object.Key{Kind: "Pod", Namespace: mc, Name: "controller-east-1"}
	mirrorKey    = object.Key{Kind: "Service", Namespace: "shop", Name: "web-east"}
	endpointsKey = object.Key{Kind: "Endpoints", Namespace: "shop", Name: "web-east"}
	federatedKey = object.Key{Kind: "Service", Namespace: "shop", Name: "web-federated"}
	probeEnds    = object.Key{Kind: "Endpoints", Namespace: mc, Name: "probe-east"}
	leaseKey     = object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: mc, Name: "service-mirror-write-east"}
)

// perLink is what the source's end of a link with a controller of ours has recorded, external of one without.
func perLink() []object.Key {
	return sorted(deploymentKey, budgetKey, accountKey, probeKey, linkKey, mirrorSecret, planeSecret)
}

func external() []object.Key { return sorted(linkKey, mirrorSecret, planeSecret) }

func sorted(keys ...object.Key) []object.Key {
	slices.SortFunc(keys, object.Key.Compare)
	return keys
}

// ours is a live record of ours.
func ours(k object.Key) object.Record {
	return object.Record{UID: "uid of " + k.String(), ResourceVersion: "1", Mark: object.Ours}
}

// mirrorsFunc are mirrors as an Input has them.
func mirrorsFunc(m map[api.ClusterName]linkerd.Mirror) func() map[api.ClusterName]linkerd.Mirror {
	return func() map[api.ClusterName]linkerd.Mirror { return m }
}

// inventoryRecord is the ConfigMap of an inventory that is there.
func inventoryRecord() object.Record {
	return object.Record{UID: "uid of the inventory", Mark: object.Ours}
}

// input is a cluster that has recorded one end, all of it live and looked for.
func input(end object.End, recorded []object.Key, mirrors linkerd.Mirror) Input {
	in := Input{
		Live: Live{
			Linkerd: api.Cluster{}.WithDefaults().Linkerd, WasRead: func(object.Key) bool { return true },
			Mirrors: mirrorsFunc(map[api.ClusterName]linkerd.Mirror{end.Link.Target: mirrors}),
		},
		Ends:  Ends{Desired: map[object.End]object.Desired{}, Recorded: []inventory.Inventory{{End: end, Entries: recorded, Was: inventoryRecord()}}},
		Rules: Rules{Policy: api.SyncPolicy{}.WithDefaults()},
	}
	for _, k := range recorded {
		record(&in.Observation, k, ours(k))
	}
	for _, k := range slices.Concat(mirrors.Pods, mirrors.Services, mirrors.Endpoints, mirrors.Probe, mirrors.Lease) {
		record(&in.Observation, k, object.Record{UID: "uid of " + k.String(), ResourceVersion: "1"})
	}
	for _, m := range mirrors.Federated {
		record(&in.Observation, m.Key, object.Record{UID: "uid of " + m.Key.String(), ResourceVersion: "1"})
	}
	return in
}

func absentPeer() Peer { return Peer{State: PeerAbsent} }

func peerAlways(p Peer) func(object.End) Peer { return func(object.End) Peer { return p } }

// onlyVerdict is the verdict of the only end.
func onlyVerdict(t *testing.T, in Input, p Peer) Verdict {
	t.Helper()
	all := Select(in, peerAlways(p))
	if len(all) != 1 {
		t.Fatalf("%d verdicts", len(all))
	}
	return all[0]
}

// summarize puts a verdict into words.
func summarize(v Verdict) string {
	var out []string
	for _, c := range v.Changes {
		out = append(out, c.Action.String()+" "+c.Key.Kind+" "+c.Key.Name)
	}
	if v.Waiting != nil {
		out = append(out, "wait: "+v.Waiting.Message)
	}
	if v.Denied != nil {
		out = append(out, "refused: "+string(v.Denied.Code))
	}
	if v.Drop {
		out = append(out, "drop")
	}
	return strings.Join(out, "; ")
}
