package linkerd

import "github.com/linkwright/linkwright/object"

// Lists are what readers of a link's credential list in the target. The service mirror: services and endpoints (linkerd2
// multicluster/service-mirror/cluster_watcher.go). The source's control plane, which ends when it cannot: pods, services, endpointslices,
// Servers, and metadata of replicasets (linkerd2 controller/api/destination/watcher/cluster_store.go, controller/k8s/api.go).
func Lists(controlPlane bool) []object.List {
	if !controlPlane {
		return []object.List{{Version: "v1", Resource: "services"}, {Version: "v1", Resource: "endpoints"}}
	}
	return []object.List{
		{Version: "v1", Resource: "services"},
		{Version: "v1", Resource: "endpoints"},
		{Version: "v1", Resource: "pods"},
		{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
		{Group: "policy.linkerd.io", Version: "v1beta3", Resource: "servers", Optional: true},
		{Group: "apps", Version: "v1", Resource: "replicasets"},
	}
}
