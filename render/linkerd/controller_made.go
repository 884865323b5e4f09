package linkerd

import (
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Annotations of Linkerd's controller on its objects (linkerd2 multicluster/service-mirror/cluster_watcher.go, pkg/k8s/labels.go).
const (
	RemoteServiceName     = "mirror.linkerd.io/remote-svc-fq-name"
	RemoteResourceVersion = "mirror.linkerd.io/remote-resource-version"
	RemoteIdentity        = "mirror.linkerd.io/remote-gateway-identity"

	federatedSuffix = "-federated"
)

// Federated is the name of the federated Service that Services of a name are members of.
func Federated(service string) string { return service + federatedSuffix }

// isMirror reports whether Linkerd's controller made a Service or Endpoints for a service of the target. Labels alone prove nothing,
// because people and tools copy them. All of this must hold:
//
//	the name         that of the service, or of the pod's host, in the target, and the target's
//	annotations      name that service, in the same namespace, and for a Service its resourceVersion in the target
//	field manager    that of a mirror controller
//	no selector      a Service that selects pods here is no mirror
func (o controllerObject) isMirror(target api.ClusterName) bool {
	full := o.meta.Annotations[RemoteServiceName]
	service, _, _ := strings.Cut(full, ".")
	named := service != "" && o.key.Name == service+"-"+string(target) && strings.Contains(full, "."+o.key.Namespace+".svc")
	versioned := o.key.Kind != "Service" || o.meta.Annotations[RemoteResourceVersion] != ""
	return named && versioned && !o.record.HasSelector && o.byController()
}

// isFederated reports whether Linkerd's controllers made a federated Service: by its name, its field manager, and that it has no selector.
func (o controllerObject) isFederated() bool {
	return strings.HasSuffix(o.key.Name, federatedSuffix) && !o.record.HasSelector && o.byController()
}

// isProbe reports whether Linkerd's controller wrote a probe's Endpoints: Endpoints of that name that a chart or a person made name no
// gateway, or have another field manager.
func (o controllerObject) isProbe() bool {
	_, hasIdentity := o.meta.Annotations[RemoteIdentity]
	return hasIdentity && o.byController()
}

// byController reports whether a mirror controller is a field manager of the object. The manager's name is that of the program: controller
// in Linkerd's images (linkerd2 controller/Dockerfile), also in the legacy ones; custom builds have mirror or linkerd in theirs.
func (o controllerObject) byController() bool { return byController(o.record) }

func byController(r object.Record) bool {
	return slices.ContainsFunc(r.Managers(), func(m string) bool {
		return m == "controller" || strings.Contains(m, "mirror") || strings.Contains(m, "linkerd")
	})
}
