package overlay

import "strings"

// field is a row of the table of fields that an overlay may change in a rendered object. Fields without a row stay as
// rendered: the account of the pods can read other clusters, so somebody who could choose their program, account or volumes
// would get its credentials.
type field struct {
	kind, path string              // kind as object.Key writes it; "*" in a path is the items of a list, by name
	check      func(any) string    // what is wrong with the new value, or empty; nil: any value is allowed
	keys       func(string) denial // the map may get keys, judged by this; what is rendered in it stays
}

// fields is the table.
func fields() []field {
	const (
		deployment = "Deployment.apps"
		disruption = "PodDisruptionBudget.policy"
		template   = "spec.template.metadata."
		pod        = "spec.template.spec."
		container  = "spec.template.spec.containers.*."
	)
	return []field{
		{kind: anyKind, path: "metadata.labels", keys: labelDenial},
		{kind: anyKind, path: "metadata.annotations", keys: annotationDenial},

		{kind: deployment, path: "spec.strategy"},
		{kind: deployment, path: "spec.minReadySeconds"},
		{kind: deployment, path: "spec.progressDeadlineSeconds"},
		{kind: deployment, path: "spec.revisionHistoryLimit"},
		{kind: deployment, path: template + "labels", keys: podLabelDenial},
		{kind: deployment, path: template + "annotations", keys: podAnnotationDenial},
		{kind: deployment, path: pod + "affinity"},
		{kind: deployment, path: pod + "nodeSelector"},
		{kind: deployment, path: pod + "tolerations"},
		{kind: deployment, path: pod + "topologySpreadConstraints"},
		{kind: deployment, path: pod + "priorityClassName"},
		{kind: deployment, path: pod + "terminationGracePeriodSeconds"},
		{kind: deployment, path: pod + "dnsConfig"},
		{kind: deployment, path: pod + "dnsPolicy"},
		{kind: deployment, path: pod + "imagePullSecrets"},
		{kind: deployment, path: pod + "runtimeClassName"},
		{kind: deployment, path: container + "resources", check: checkResources},
		{kind: deployment, path: container + "livenessProbe", check: checkProbe},
		{kind: deployment, path: container + "readinessProbe", check: checkProbe},
		{kind: deployment, path: container + "startupProbe", check: checkProbe},

		{kind: disruption, path: "spec.minAvailable"},
		{kind: disruption, path: "spec.maxUnavailable"},
		{kind: disruption, path: "spec.unhealthyPodEvictionPolicy"},

		{kind: "ServiceAccount", path: "imagePullSecrets"},

		// An annotation can make tools copy a Secret to other namespaces.
		{kind: secretKind, path: "metadata.annotations", keys: anyAnnotationDenial},
	}
}

const (
	anyKind    = "*"
	secretKind = "Secret"
)

// declared returns where users declare a field that overlays must not change; by kind and path.
func declared() map[string]string {
	const (
		deployment = "Deployment.apps "
		container  = "Deployment.apps spec.template.spec.containers.*."
		selector   = "a selector cannot change: use labels with includeSelectors: false instead of commonLabels"
		content    = "only linkwright writes the content of a Secret"
	)
	return map[string]string{
		anyKind + " spec.selector":                   selector,
		"Link.multicluster.linkerd.io spec":          "declare it in the Link, or in its target's Cluster",
		deployment + "spec.replicas":                 "declare controller.replicas of the Link",
		deployment + "spec.template.spec.containers": "an overlay must not add, remove or replace a container: its account can read other clusters",
		container + "args":                           "declare controller.logLevel and controller.headless of the Link",
		container + "image":                          "declare controller.image of the Link, if --allow-controller-image allows it",
		secretKind + " data":                         content,
		secretKind + " stringData":                   content,
	}
}

// tree is the table of one kind as a tree, by the words of its paths.
type tree struct {
	children map[string]*tree
	leaf     *field
}

// at returns the branch of a word; nil: nothing at or below it may change.
func (t *tree) at(word string) *tree {
	if t == nil {
		return nil
	}
	return t.children[word]
}

// add adds a row; a later one replaces an earlier one.
func (t *tree) add(words []string, f *field) {
	if len(words) == 0 {
		t.leaf = f
		return
	}
	if t.children == nil {
		t.children = map[string]*tree{}
	}
	next, ok := t.children[words[0]]
	if !ok {
		next = &tree{}
		t.children[words[0]] = next
	}
	next.add(words[1:], f)
}

// table is fields as trees, by kind.
type table map[string]*tree

// newTable returns every kind that has rows of its own, and the rows of any kind.
func newTable() table {
	rows, out := fields(), table{anyKind: {}}
	for _, f := range rows {
		out[f.kind] = &tree{}
	}
	for kind, t := range out {
		for _, f := range rows {
			if f.kind == anyKind || f.kind == kind {
				t.add(strings.Split(f.path, "."), &f)
			}
		}
	}
	return out
}

// of returns the rows of a kind.
func (t table) of(kind string) *tree {
	if own, ok := t[kind]; ok {
		return own
	}
	return t[anyKind]
}
