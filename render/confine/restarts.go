package confine

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/linkwright/linkwright/rollout"
)

// templateGeneration is an annotation by which API servers count the templates of a DaemonSet (kubernetes pkg/apis/apps, DeprecatedTemplateGeneration).
const templateGeneration = "deprecated.daemonset.template.generation"

// template are the variables of the pod template of a workload, now and before, and whether a request is a restart.
func template() []admissionv1.Variable {
	return []admissionv1.Variable{
		{Name: "spec", Expression: "dyn(object.spec)"},
		{Name: "oldSpec", Expression: "dyn(oldObject.spec)"},
		{Name: "template", Expression: "dyn(object.spec.template)"},
		{Name: "oldTemplate", Expression: "dyn(oldObject.spec.template)"},
		head(), oldHead(),
		{Name: "meta", Expression: "dyn(object.spec.template.metadata)"},
		{Name: "oldMeta", Expression: "dyn(oldObject.spec.template.metadata)"},
		{Name: "marks", Expression: `"annotations" in variables.meta ? variables.meta.annotations : {}`},
		{Name: "oldMarks", Expression: `oldObject != null && "annotations" in variables.oldMeta ? variables.oldMeta.annotations : {}`},
		{Name: "headMarks", Expression: mapOrEmpty("object", "annotations")},
		{Name: "oldHeadMarks", Expression: mapOrEmpty("oldObject", "annotations")},
		{Name: "restart", Expression: `request.operation == "UPDATE" && ` + onlyTemplateMarks(rollout.RestartedFor, rollout.RestartedAt) + " && " +
			sameFields("labels", "ownerReferences", "finalizers") + " && " + equalExcept("variables.headMarks", "variables.oldHeadMarks", templateGeneration)},
	}
}

// restartMarks are the annotations of a restart, in words.
func restartMarks() string {
	return strings.Join([]string{rollout.RestartedFor, rollout.RestartedAt}, " and ") + " of the pod template"
}

// onlyMarks is the CEL expression that an update changes nothing but annotations of the pod template, and of these only some.
func onlyMarks(names ...string) string { return onlyTemplateMarks(names...) + " && " + sameHead() }

// onlyTemplateMarks is onlyMarks but for the metadata of the workload.
func onlyTemplateMarks(names ...string) string {
	return equalExcept("variables.spec", "variables.oldSpec", "template") + " && " +
		equalExcept("variables.template", "variables.oldTemplate", "metadata") + " && " +
		equalExcept("variables.meta", "variables.oldMeta", "annotations") + " && " +
		equalExcept("variables.marks", "variables.oldMarks", names...)
}

// statefulSets, daemonSets and argoRollouts: linkwright restarts them, and changes nothing else.
func statefulSets(Account) rules { return restartsOf("apps/statefulsets") }

func daemonSets(Account) rules { return restartsOf("apps/daemonsets") }

func argoRollouts(Account) rules {
	return restartsOf(rollout.ArgoRollouts().Group + "/" + rollout.ArgoRollouts().Resource)
}

func restartsOf(resource string) rules {
	return rules{
		resource: resource, verbs: written(), variables: template(),
		checks: []check{{"variables.restart", "linkwright changes only " + restartMarks()}},
	}
}

// dryRunPods: linkwright creates pods to see what Linkerd's injector makes of them. None of them may come to be.
func dryRunPods(Account) rules {
	return rules{
		resource: "/pods", verbs: written(),
		checks: []check{{`request.operation == "CREATE" && has(request.dryRun) && request.dryRun`, "linkwright creates pods only as a dry run"}},
	}
}
