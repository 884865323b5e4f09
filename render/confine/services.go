package confine

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/linkwright/linkwright/render/linkerd"
)

// probes is the CEL expression that a request is about the probe of a link, in the namespace of links.
func (a Account) probes() string {
	return a.inMulticluster("request.namespace") + " && " + startsWith("variables.name", linkerd.ProbeService(""))
}

// inMulticluster is the CEL expression that an expression is the namespace of links.
func (a Account) inMulticluster(expression string) string {
	return expression + " == " + quoted(a.Multicluster)
}

// services: it has rights on those of all namespaces, since mirrors stand there. Of these it deletes mirrors, and takes a member out of a
// federated Service. A selector, an external IP or another name would lead the traffic of others elsewhere.
func services(a Account) rules {
	mirror := quoted(linkerd.MirroredLabel) + " in variables.oldLabels"
	return rules{
		resource: "/services", verbs: written(),
		variables: []admissionv1.Variable{
			{Name: "labels", Expression: mapOrEmpty("object", "labels")},
			{Name: "oldLabels", Expression: mapOrEmpty("oldObject", "labels")},
			{Name: "annotations", Expression: mapOrEmpty("object", "annotations")},
			{Name: "oldAnnotations", Expression: mapOrEmpty("oldObject", "annotations")},
			{Name: "probe", Expression: a.probes()},
		},
		checks: []check{
			{
				`variables.probe || request.operation != "CREATE" && ` + mirror,
				"linkwright writes only the probe Services of links, and mirrors",
			},
			{
				`variables.probe || request.operation != "UPDATE" || object.spec == oldObject.spec && variables.labels == variables.oldLabels && ` +
					equalExcept("variables.annotations", "variables.oldAnnotations", linkerd.RemoteDiscovery),
				"linkwright changes only one annotation of a mirror: " + linkerd.RemoteDiscovery,
			},
			{
				`!variables.probe || request.operation == "DELETE" || request.operation == "UPDATE" && object.spec == oldObject.spec || ` +
					`object.spec.type == "ClusterIP" && !has(object.spec.selector) && !has(object.spec.externalIPs) && !has(object.spec.externalName)`,
				"the probe Service of a link has only ports",
			},
		},
	}
}

// endpoints: those of mirrors, and of probes, which outlive their Service.
func endpoints(a Account) rules {
	return rules{
		resource: "/endpoints", verbs: written(),
		variables: []admissionv1.Variable{
			{Name: "oldLabels", Expression: mapOrEmpty("oldObject", "labels")},
			{Name: "probe", Expression: a.probes()},
		},
		checks: []check{{
			`request.operation == "DELETE" && (variables.probe || ` + quoted(linkerd.MirroredLabel) + " in variables.oldLabels)",
			"linkwright only deletes Endpoints of mirrors and of probes",
		}},
	}
}
