package confine

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/render/marks"
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
		return destination + " || " + kept + " || variables.restart || " + expression
	}
	loaded := linkerd.LoadedAnnotation(a.Owner)
	return rules{
		resource: "apps/deployments", verbs: written(),
		variables: append(template(), []admissionv1.Variable{
			{Name: "oldPodLabels", Expression: `oldObject != null && "labels" in variables.oldMeta ? variables.oldMeta.labels : {}`},
			{Name: "target", Expression: `variables.name.replace("` + linkerd.Controller("") + `", "", 1)`},
			{Name: "pod", Expression: "object.spec.template.spec"},
			{Name: "podFields", Expression: "dyn(object.spec.template.spec)"},
			{Name: "podLabels", Expression: `"labels" in variables.meta ? variables.meta.labels : {}`},
			{Name: "oldPod", Expression: "oldObject != null ? dyn(oldObject.spec.template.spec) : {}"},
			{Name: "oldContainers", Expression: "oldObject != null ? oldObject.spec.template.spec.containers : []"},
			{Name: "containers", Expression: "variables.pod.containers.filter(c, !(c in variables.oldContainers))"}, // others may have added some
			{Name: "oldVolumes", Expression: `"volumes" in variables.oldPod ? variables.oldPod.volumes : []`},
			{Name: "volumes", Expression: "has(variables.pod.volumes) ? variables.pod.volumes : []"},
		}...),
		checks: append([]check{
			{
				"variables.restart || (" + destination + ` ? request.operation == "UPDATE" : ` + a.isShared() + " || " + startsWith("variables.name", linkerd.Controller(""), linkerd.LegacyController("")) + ")",
				"linkwright changes only the Deployments of links' controllers, and of others only " + restartMarks(),
			},
			{
				"!(" + destination + ` && request.operation == "UPDATE") || variables.restart || (` + onlyMarks(loaded) + ")",
				"linkwright changes only the annotation " + loaded + " in the pod template of " + linkerd.DestinationName,
			},
		}, pods(a, controller)...),
	}
}

// onlyKeys is the CEL expression that a map, or an object taken for one, has no keys but these.
func onlyKeys(what string, keys ...string) string {
	return fmt.Sprintf("%s.all(k, k in [%s])", what, celList(keys))
}

func celList(words []string) string {
	quotedWords := make([]string, len(words))
	for i, w := range words {
		quotedWords[i] = quoted(w)
	}
	return strings.Join(quotedWords, ", ")
}

// pods are the checks of a controller's pods; controller makes each one about these alone. They allow what package render makes, what an
// overlay may change of it, and what an API server fills in; a field that is not named may not be set.
func pods(a Account, controller func(string) string) []check {
	return []check{
		{
			controller(`variables.podFields.all(k, k in variables.oldPod && variables.oldPod[k] == variables.podFields[k] || k in [` + celList(podFields()) + `]) && has(variables.pod.serviceAccountName) && variables.pod.serviceAccountName == variables.name` +
				` && (!has(variables.pod.serviceAccount) || variables.pod.serviceAccount == variables.name)` +
				` && (!has(variables.pod.schedulerName) || variables.pod.schedulerName == "default-scheduler")` +
				` && (!has(variables.pod.securityContext) || ` + onlyKeys("dyn(variables.pod.securityContext)", "seccompProfile") +
				` && (!has(variables.pod.securityContext.seccompProfile) || variables.pod.securityContext.seccompProfile.type == "RuntimeDefault"))`),
			"a link's controller runs as the account of its own name, without access to its node, and only with fields that linkwright renders",
		},
		{
			controller("variables.containers.size() <= 1 && variables.containers.all(c, c.image.matches(" + quoted(a.images()) + `) && has(c.args) && c.args.size() > 0 && (` + a.isShared() + ` ? ` +
				`c.args[0] == "mirror" && c.args.all(a, a.matches(` + quoted(sharedArguments) + `) || a == "--multicluster-namespace=" + request.namespace || ` +
				`a == ` + quoted("--selector="+linkerd.MirrorLabel+"="+a.Owner) + `) : c.args[0] == "service-mirror" && ` +
				`c.args[c.args.size() - 1] == variables.target && c.args.all(a, a.matches(` + quoted(arguments) + `) || a == variables.target || ` +
				`a == "-namespace=" + request.namespace || a == "-probe-service=` + linkerd.ProbeService("") + `" + variables.target)))`),
			"a controller is one container that runs service-mirror, or mirror if links share it, from Linkerd's image or one of linkwright rbac --allow-controller-image",
		},
		{
			controller("variables.volumes.all(v, v in variables.oldVolumes || v.name == " + quoted(tokenVolume) + ` && has(v.projected) && v.projected.sources.all(s, ` +
				`has(s.serviceAccountToken) && !has(s.serviceAccountToken.audience) || has(s.downwardAPI) || has(s.configMap) && s.configMap.name == "kube-root-ca.crt"))`),
			"a link's controller mounts only its own account's token",
		},
		{
			controller("variables.containers.all(c, dyn(c).all(k, variables.oldContainers.exists(o, o.name == c.name && k in dyn(o) && dyn(o)[k] == dyn(c)[k]) || k in [" + celList(containerFields()) + "]) && " +
				harmlessProbe("c.livenessProbe") + " && " + harmlessProbe("c.readinessProbe") + " && " + harmlessProbe("c.startupProbe") +
				" && (!has(c.ports) || c.ports.all(p, !has(p.hostPort) && !has(p.hostIP)))" +
				` && (!has(c.terminationMessagePath) || c.terminationMessagePath == "/dev/termination-log") && (!has(c.terminationMessagePolicy) || c.terminationMessagePolicy == "File"))`),
			"a link's controller runs only the command of its image, reads no Secret or ConfigMap, is probed at its own address, and has no port of its node",
		},
		{
			controller("variables.containers.all(c, has(c.securityContext) && " + onlyKeys("dyn(c.securityContext)", "allowPrivilegeEscalation", "readOnlyRootFilesystem",
				"runAsNonRoot", "runAsUser", "runAsGroup", "capabilities", "seccompProfile") +
				" && has(c.securityContext.allowPrivilegeEscalation) && !c.securityContext.allowPrivilegeEscalation && has(c.securityContext.runAsNonRoot) && c.securityContext.runAsNonRoot" +
				" && (!has(c.securityContext.runAsUser) || c.securityContext.runAsUser > 0)" +
				` && has(c.securityContext.capabilities) && !has(c.securityContext.capabilities.add) && has(c.securityContext.capabilities.drop) && "ALL" in c.securityContext.capabilities.drop` +
				` && has(c.securityContext.seccompProfile) && c.securityContext.seccompProfile.type == "RuntimeDefault")`),
			"a link's controller has no privileges",
		},
		{
			controller(`variables.marks.all(k, ` + sameValue("oldMarks", "marks") + ` || k in ["linkerd.io/inject", "config.alpha.linkerd.io/proxy-wait-before-exit-seconds", ` + celList(exactNames(marks.PodAnnotations(), marks.ProxySettings())) +
				"] || " + startsWith("k", namePrefixes(marks.PodAnnotations(), marks.ProxySettings())...) + `) && (!("linkerd.io/inject" in variables.marks) || variables.marks["linkerd.io/inject"] == "enabled")`),
			"a link's controller has no annotations by which other tools would change its pods",
		},
		{
			controller("variables.headMarks.all(k, " + sameValue("oldHeadMarks", "headMarks") + ` || !k.startsWith("keel.sh/"))`),
			"a link's controller has no annotations by which other tools would change its image",
		},
		{
			controller("variables.podLabels.all(k, " + sameValue("oldPodLabels", "podLabels") + " || k == " + quoted(linkerd.ExtensionLabel) + ` || !k.startsWith("linkerd.io/") && !(k == "app" && variables.podLabels[k] == "linkerd-gateway") && !` +
				startsWith("k", names(marks.OfPods(), marks.Clouds())...) + " && !k.lowerAscii().matches(" + quoted(strings.Join(marks.Suspects(), "|")) + "))"),
			"a link's controller has no labels by which other tools would change its pods",
		},
	}
}

// arguments are those that package render gives a controller, beside its namespace, its probe and its target.
const arguments = `^(service-mirror|-log-level=[a-z]+|-log-format=plain|-event-requeue-limit=[0-9]+|-enable-headless-services|-enable-pprof=false)$`

// sharedArguments are those that it gives the controller that links share, beside its namespace and the links it mirrors.
const sharedArguments = `^(mirror|--local=false|--log-level=[a-z]+)$`

// podFields are those of a controller's pod: rendered, of overlays (docs/how-to/overlays.md), filled in by the API server.
func podFields() []string {
	return []string{
		"serviceAccountName", "automountServiceAccountToken", "securityContext", "containers", "volumes", "affinity",
		"nodeSelector", "tolerations", "topologySpreadConstraints", "priorityClassName", "terminationGracePeriodSeconds", "dnsConfig", "dnsPolicy", "imagePullSecrets", "runtimeClassName",
		"serviceAccount", "restartPolicy", "schedulerName",
	}
}

// containerFields are those of its container, likewise.
func containerFields() []string {
	return []string{
		"name", "image", "args", "ports", "securityContext", "volumeMounts", "resources",
		"livenessProbe", "readinessProbe", "startupProbe",
		"terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy",
	}
}

// harmlessProbe is the CEL expression that a probe of a container, if there is one, asks the container itself, and runs nothing.
func harmlessProbe(probe string) string {
	return fmt.Sprintf("(!has(%[1]s) || !has(%[1]s.exec) && (!has(%[1]s.httpGet) || !has(%[1]s.httpGet.host) && !has(%[1]s.httpGet.httpHeaders)) && (!has(%[1]s.tcpSocket) || !has(%[1]s.tcpSocket.host)))", probe)
}

// sameValue is the CEL expression that a key of a map has the value that it had before.
func sameValue(was, now string) string {
	return fmt.Sprintf("k in variables.%[1]s && variables.%[1]s[k] == variables.%[2]s[k]", was, now)
}

// exactNames are the names that are no beginnings of others.
func exactNames(lists ...[]string) []string {
	return slices.DeleteFunc(slices.Concat(lists...), func(name string) bool { return strings.HasSuffix(name, "/") })
}

// namePrefixes are the others.
func namePrefixes(lists ...[]string) []string {
	return slices.DeleteFunc(slices.Concat(lists...), func(name string) bool { return !strings.HasSuffix(name, "/") })
}

func names(rows []marks.Mark, more []string) []string {
	out := make([]string, 0, len(rows)+len(more))
	for _, m := range rows {
		out = append(out, m.Name)
	}
	return append(out, more...)
}
