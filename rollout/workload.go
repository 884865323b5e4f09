package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations of a pod template that linkwright restarted: a digest of the configuration that it restarted the workload for, and when. They are why a
// workload is not restarted twice for the same configuration, whoever leads.
const (
	RestartedFor = "linkwright.dev/restarted-for"
	RestartedAt  = "linkwright.dev/restarted-at"
)

// Ref names a workload.
type Ref struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String returns it as messages name it.
func (r Ref) String() string { return r.Kind + " " + r.Namespace + "/" + r.Name }

// Workload is a Deployment, StatefulSet, DaemonSet or Argo Rollout, as far as a rollout needs it.
type Workload struct {
	Ref
	UID             string
	ResourceVersion string
	Generation      int64
	Template        string            // digest of its pod template, without linkwright's annotations
	Labels          map[string]string // of its pods
	OptIn           OptIn             // what its template says
	Restarted       Restarted
	State           State
	Status          string // its numbers
	Wanted          int    // replicas that a StatefulSet or DaemonSet is to have
	Done            int    // replicas that are of its template, and those that are available: it proceeds if that grows; 0: its controller has not seen it
}

// Restarted is what linkwright's annotations say; zero: it never restarted the workload.
type Restarted struct {
	For string
	At  time.Time
}

// RestartedBy reads it from annotations.
func RestartedBy(annotations map[string]string) Restarted {
	at, _ := time.Parse(time.RFC3339, annotations[RestartedAt]) // zero: it says nothing
	return Restarted{annotations[RestartedFor], at}
}

// Stamp returns the time as the annotation has it.
func (r Restarted) Stamp() string { return r.At.UTC().Format(time.RFC3339) }

// State says whether a workload may restart now.
//
//	Settled      all its pods are of its template, and available
//	Progressing  its controller replaces pods, or some are not available
//	Failed       its controller gave up: the deadline of its progress is over, or Argo Rollouts calls it degraded
//	Paused       its owner paused it
//	Fixed        a new template does not replace its pods: updateStrategy OnDelete, or a partition
type State string

// States of workloads.
const (
	Settled     State = "Settled"
	Progressing State = "Progressing"
	Failed      State = "Failed"
	Paused      State = "Paused"
	Fixed       State = "Fixed"
)

// deadlineExceeded is the reason of a Deployment's condition Progressing once its controller gave up (kubernetes pkg/controller/deployment/util).
const deadlineExceeded = "ProgressDeadlineExceeded"

// OfDeployment returns what a rollout needs of a Deployment.
func OfDeployment(d *appsv1.Deployment) Workload {
	w := workloadOf("Deployment", &d.ObjectMeta, &d.Spec.Template)
	s := d.Status
	w.Status, w.Done = statusOf(s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas), int(s.UpdatedReplicas+s.AvailableReplicas)
	w.State = progress(s.ObservedGeneration == d.Generation && s.UpdatedReplicas == wanted(d.Spec.Replicas) &&
		s.Replicas == s.UpdatedReplicas && s.AvailableReplicas == s.UpdatedReplicas)
	for _, c := range s.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Reason == deadlineExceeded && s.ObservedGeneration == d.Generation {
			w.State = Failed
		}
	}
	if d.Spec.Paused {
		w.State = Paused
	}
	return w.seen(s.ObservedGeneration == d.Generation)
}

// OfStatefulSet returns what a rollout needs of a StatefulSet.
func OfStatefulSet(d *appsv1.StatefulSet) Workload {
	w := workloadOf("StatefulSet", &d.ObjectMeta, &d.Spec.Template)
	s, strategy := d.Status, d.Spec.UpdateStrategy
	w.Status, w.Done = statusOf(s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas), int(s.UpdatedReplicas+s.AvailableReplicas)
	w.Wanted = int(wanted(d.Spec.Replicas))
	w.State = progress(s.ObservedGeneration == d.Generation && s.CurrentRevision == s.UpdateRevision && s.AvailableReplicas == wanted(d.Spec.Replicas))
	if r := strategy.RollingUpdate; strategy.Type == appsv1.OnDeleteStatefulSetStrategyType || r != nil && r.Partition != nil && *r.Partition > 0 {
		w.State = Fixed
	}
	return w.seen(s.ObservedGeneration == d.Generation)
}

// OfDaemonSet returns what a rollout needs of a DaemonSet.
func OfDaemonSet(d *appsv1.DaemonSet) Workload {
	w := workloadOf("DaemonSet", &d.ObjectMeta, &d.Spec.Template)
	s := d.Status
	w.Status = statusOf(s.DesiredNumberScheduled, s.UpdatedNumberScheduled, s.NumberReady, s.NumberAvailable)
	w.Done, w.Wanted = int(s.UpdatedNumberScheduled+s.NumberAvailable), int(s.DesiredNumberScheduled)
	w.State = progress(s.ObservedGeneration == d.Generation && s.UpdatedNumberScheduled == s.DesiredNumberScheduled && s.NumberAvailable == s.DesiredNumberScheduled)
	if d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		w.State = Fixed
	}
	return w.seen(s.ObservedGeneration == d.Generation)
}

// seen takes back how far a workload is, unless its controller has seen it.
func (w Workload) seen(observed bool) Workload {
	if !observed {
		w.Done = 0
	}
	return w
}

func workloadOf(kind string, meta *metav1.ObjectMeta, t *corev1.PodTemplateSpec) Workload {
	return Workload{
		Ref: Ref{kind, meta.Namespace, meta.Name}, UID: string(meta.UID), ResourceVersion: meta.ResourceVersion, Generation: meta.Generation, Template: TemplateDigest(t), Labels: t.Labels,
		OptIn: OptInOf(t), Restarted: RestartedBy(t.Annotations),
	}
}

// TemplateDigest returns a digest of a pod template without linkwright's annotations.
func TemplateDigest(t *corev1.PodTemplateSpec) string {
	bare := *t
	bare.Annotations = maps.Clone(t.Annotations)
	delete(bare.Annotations, RestartedFor)
	delete(bare.Annotations, RestartedAt)
	return digest(bare)
}

// Configuration returns a digest of what the proxies of a workload are configured by: what the injector reads, and the settings of its namespace. Those
// of its template show in the template.
func Configuration(inputs, settings string) string { return digest([]string{inputs, settings}) }

// digest returns a short digest of a value that encodes as JSON.
func digest(v any) string {
	text, _ := json.Marshal(v) //nolint:errchkjson // what the API server sent encodes
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func progress(done bool) State {
	if done {
		return Settled
	}
	return Progressing
}

// wanted returns how many replicas are declared: 1 by default.
func wanted(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

func statusOf(numbers ...int32) string {
	text, _ := json.Marshal(numbers) //nolint:errchkjson // numbers encode
	return string(text)
}
