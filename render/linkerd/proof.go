package linkerd

import (
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// What Linkerd's controller writes on what it makes (linkerd2 multicluster/service-mirror/cluster_watcher.go, pkg/k8s/labels.go).
const (
	RemoteServiceName     = "mirror.linkerd.io/remote-svc-fq-name"
	RemoteResourceVersion = "mirror.linkerd.io/remote-resource-version"
	RemoteIdentity        = "mirror.linkerd.io/remote-gateway-identity"

	federatedSuffix = "-federated"
)

// isMirror says that a controller of Linkerd's made a Service or Endpoints for a service of the target. Labels alone prove nothing,
// since people and tools copy them. All of this must hold:
//
//	the name         that of the service, or of the pod's host, in the target, and the target's
//	annotations      tell that service, in the same namespace, and of a Service the version of it that was seen
//	field manager    that of a mirror controller
//	no selector      a Service that selects pods here is no mirror
func (o made) isMirror(target api.ClusterName) bool {
	full := o.meta.Annotations[RemoteServiceName]
	service, _, _ := strings.Cut(full, ".")
	named := service != "" && o.key.Name == service+"-"+string(target) && strings.Contains(full, "."+o.key.Namespace+".svc")
	versioned := o.key.Kind != "Service" || o.meta.Annotations[RemoteResourceVersion] != ""
	return named && versioned && !o.record.Selects && o.byController()
}

// isFederated reports whether controllers of Linkerd's made a federated Service: by its name, its field manager and that it selects nothing.
func (o made) isFederated() bool {
	return strings.HasSuffix(o.key.Name, federatedSuffix) && !o.record.Selects && o.byController()
}

// isProbe reports whether a controller of Linkerd's wrote a probe's Endpoints: Endpoints of that name that a chart or a person made tell of no
// gateway, or were written by somebody else.
func (o made) isProbe() bool {
	_, told := o.meta.Annotations[RemoteIdentity]
	return told && o.byController()
}

// byController reports whether a mirror controller wrote some of the object. Its field manager is the name of its program: controller in
// Linkerd's images (linkerd2 controller/Dockerfile), which is also that of the legacy one; builds of one's own have mirror or
// linkerd in theirs.
func (o made) byController() bool { return byController(o.record) }

func byController(r object.Record) bool {
	return slices.ContainsFunc(r.Managers(), func(m string) bool {
		return m == "controller" || strings.Contains(m, "mirror") || strings.Contains(m, "linkerd")
	})
}
