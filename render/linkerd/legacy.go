package linkerd

import (
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// LegacyTargetOf is TargetOf for what `linkerd multicluster link` made (linkerd2 multicluster/charts/linkerd-multicluster-link).
// A name may be of the newer set for another target, too: probe-gateway-east is also the probe of a cluster gateway-east.
func LegacyTargetOf(l api.Linkerd, k object.Key) (api.ClusterName, bool) {
	prefix, namespace := "", l.MulticlusterNamespace
	switch k.Kind {
	case "Deployment", "PodDisruptionBudget", "ServiceAccount":
		prefix = LegacyController("")
	case "Service":
		prefix = LegacyProbeService("")
	case "Role", "RoleBinding":
		prefix = "linkerd-service-mirror-read-remote-creds-"
	case "ClusterRoleBinding":
		prefix, namespace = "linkerd-service-mirror-access-local-resources-", ""
	default:
		return "", false
	}
	name, ok := strings.CutPrefix(k.Name, prefix)
	target := api.ClusterName(name)
	return target, ok && k.Namespace == namespace && api.CheckClusterName(target) == nil
}
