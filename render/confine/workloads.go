package confine

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/linkwright/linkwright/render/linkerd"
)

// tokenVolume is the only volume of a controller: its own account's token.
const tokenVolume = "kube-api-access"

// deployments: of linkerd-destination one annotation of the pod template may differ, since everything else would run a program beside
// the key of Linkerd's issuer. A controller runs an allowed image as its own account, with that account's token and nothing else.
func deployments(a Account) rules {
	const destination = `variables.name == "` + linkerd.DestinationName + `"`
	// What is made of a live object without its spec, as by adopt and release, changes nothing of what runs.
	const kept = `(request.operation == "DELETE" || request.operation == "UPDATE" && object.spec == oldObject.spec)`
	controller := func(expression string) string {
		return destination + " || " + kept + " || " + expression
	}
	told := linkerd.ToldAnnotation(a.Owner)
	return rules{
		resource: "apps/deployments", verbs: written(),
		variables: []admissionv1.Variable{
			{Name: "spec", Expression: "dyn(object.spec)"},
			{Name: "oldSpec", Expression: "dyn(oldObject.spec)"},
			{Name: "template", Expression: "dyn(object.spec.template)"},
			{Name: "oldTemplate", Expression: "dyn(oldObject.spec.template)"},
			{Name: "head", Expression: "dyn(object.metadata)"},
			{Name: "oldHead", Expression: "dyn(oldObject.metadata)"},
			{Name: "meta", Expression: "dyn(object.spec.template.metadata)"},
			{Name: "oldMeta", Expression: "dyn(oldObject.spec.template.metadata)"},
			{Name: "marks", Expression: `"annotations" in variables.meta ? variables.meta.annotations : {}`},
			{Name: "oldMarks", Expression: `"annotations" in variables.oldMeta ? variables.oldMeta.annotations : {}`},
			{Name: "pod", Expression: "object.spec.template.spec"},
			{Name: "volumes", Expression: "has(variables.pod.volumes) ? variables.pod.volumes : []"},
		},
		checks: append([]check{
			{
				destination + ` ? request.operation == "UPDATE" : ` + starts("variables.name", linkerd.Controller(""), linkerd.LegacyController("")),
				"linkwright changes only the Deployments of links' controllers, and " + linkerd.DestinationName,
			},
			{
				"!(" + destination + ` && request.operation == "UPDATE") || (` +
					same("variables.spec", "variables.oldSpec", "template") + " && " +
					same("variables.template", "variables.oldTemplate", "metadata") + " && " +
					same("variables.meta", "variables.oldMeta", "annotations") + " && " +
					same("variables.marks", "variables.oldMarks", told) +
					` && ["labels", "annotations", "ownerReferences", "finalizers"].all(k, (k in variables.head) == (k in variables.oldHead) && ` +
					`(!(k in variables.head) || variables.head[k] == variables.oldHead[k])))`,
				"of " + linkerd.DestinationName + " linkwright changes only the annotation " + told + " of its pod template",
			},
		}, pods(a, controller)...),
	}
}

// pods are the checks of a controller's pods; controller makes each one about these alone.
func pods(a Account, controller func(string) string) []check {
	return []check{
		{
			controller("has(variables.pod.serviceAccountName) && variables.pod.serviceAccountName == variables.name"),
			"a link's controller runs as the account of its own name",
		},
		{
			controller(fmt.Sprintf("!has(variables.pod.initContainers) && variables.pod.containers.all(c, c.image.matches(%s))", quoted(a.images()))),
			"a link's controller runs Linkerd's image, or one that linkwright rbac --confine was given by --allow-controller-image",
		},
		{
			controller("variables.volumes.all(v, v.name == " + quoted(tokenVolume) + ` && has(v.projected) && v.projected.sources.all(s, ` +
				`has(s.serviceAccountToken) && !has(s.serviceAccountToken.audience) || has(s.downwardAPI) || has(s.configMap) && s.configMap.name == "kube-root-ca.crt"))`),
			"a link's controller has no volume but its own account's token",
		},
		{
			controller("!(has(variables.pod.hostNetwork) && variables.pod.hostNetwork) && !(has(variables.pod.hostPID) && variables.pod.hostPID) && " +
				"!(has(variables.pod.hostIPC) && variables.pod.hostIPC) && variables.pod.containers.all(c, " +
				"!has(c.command) && !has(c.lifecycle) && !(has(c.livenessProbe) && has(c.livenessProbe.exec)) && " +
				"!(has(c.readinessProbe) && has(c.readinessProbe.exec)) && !(has(c.startupProbe) && has(c.startupProbe.exec)) && " +
				"(!has(c.ports) || c.ports.all(p, !has(p.hostPort) || p.hostPort == 0)) && (!has(c.securityContext) || " +
				"!(has(c.securityContext.privileged) && c.securityContext.privileged) && !(has(c.securityContext.allowPrivilegeEscalation) && c.securityContext.allowPrivilegeEscalation) && " +
				"!(has(c.securityContext.capabilities) && has(c.securityContext.capabilities.add))))"),
			"a link's controller has nothing of its node, no privileges, and runs no command but its image's",
		},
		{
			controller("variables.pod.containers.all(c, !has(c.envFrom) && (!has(c.env) || c.env.all(e, !has(e.valueFrom) || has(e.valueFrom.fieldRef))))"),
			"a link's controller reads no Secret or ConfigMap",
		},
	}
}
