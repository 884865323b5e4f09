package api

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rollout has linkwright restart workloads whose pods run another proxy than they would get now. It restarts only workloads whose owners allow it by the
// annotation or label config.linkerd.io/reconcile: auto of the pod template, or by that annotation of the namespace.
type Rollout struct {
	// MaxUnavailableWorkloads is how many workloads of a cluster restart at the same time.
	MaxUnavailableWorkloads *int `json:"maxUnavailableWorkloads,omitempty"`
	// PerNamespace is how many workloads of one namespace restart at the same time.
	PerNamespace *int `json:"perNamespace,omitempty"`
	// Waves are groups of clusters by their labels: a wave begins once nothing is left to restart in the waves before it. A cluster is in the first wave that
	// selects it. Clusters that no wave selects come last. Without waves, all clusters restart their workloads at the same time.
	Waves []metav1.LabelSelector `json:"waves,omitempty"`
	// PauseOnFailure sets whether a workload that does not become ready in time halts the rollout, in all clusters of this ProxyConfig. It goes on once
	// that workload is ready.
	PauseOnFailure *bool `json:"pauseOnFailure,omitempty"`
	// ArgoRollouts has linkwright restart Argo Rollouts, too. Their strategy, analyses and promotions count for a restart as for any new template. One with a
	// workloadRef is not restarted.
	ArgoRollouts bool `json:"argoRollouts,omitempty"`
	// Detection is how linkwright finds outdated proxies. DryRun compares each pod with one that linkwright creates as a dry run. Annotations needs no right to
	// create pods. It compares Linkerd's version, the trust anchors, and values that have one place in a pod.
	Detection Detection `json:"detection,omitempty"`
}

// Detection is how outdated proxies are found.
type Detection string

// Ways to find outdated proxies.
const (
	// DetectByDryRun compares a pod with one that the injector would change now. It is the default.
	DetectByDryRun Detection = "DryRun"
	// DetectByAnnotations compares annotations of the injector, and values that have one place in a pod.
	DetectByAnnotations Detection = "Annotations"
)

// Words are the ways to find outdated proxies.
func (Detection) Words() []string { return words(DetectByDryRun, DetectByAnnotations) }

// Defaults of a Rollout.
const (
	DefaultMaxUnavailableWorkloads = 5
	DefaultPerNamespace            = 1
)

// WithDefaults returns the rollout with every default written out.
func (r Rollout) WithDefaults() Rollout {
	setDefaultPtr(&r.MaxUnavailableWorkloads, DefaultMaxUnavailableWorkloads)
	setDefaultPtr(&r.PerNamespace, DefaultPerNamespace)
	setDefaultPtr(&r.PauseOnFailure, true)
	setDefault(&r.Detection, DetectByDryRun)
	return r
}

func (r *Rollout) check() []Finding {
	if r == nil {
		return nil
	}
	found := append(checkAtLeastOne("maxUnavailableWorkloads", r.MaxUnavailableWorkloads), checkAtLeastOne("perNamespace", r.PerNamespace)...)
	for i := range r.Waves {
		found = append(found, prefixed("waves", prefixed(strconv.Itoa(i), checkSelector(&r.Waves[i])))...)
	}
	return append(found, prefixed("detection", checkWord(r.Detection))...)
}

func checkAtLeastOne(field string, n *int) []Finding {
	if n == nil || *n > 0 {
		return nil
	}
	return prefixed(field, findingWithHint("declare 1 or more; linkwright rollout pause stops restarts", "%d is less than 1", *n))
}
