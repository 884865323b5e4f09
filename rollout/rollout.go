// Package rollout answers: which workloads run other proxies than the proxy injector would give them now?
//
// A workload's pods got their proxies when they were created. Linkerd's injector has no side effects in a dry run (its webhook declares
// sideEffects: None), so a dry-run creation of a pod from the workload's template shows what a new pod would get. What a restart would change is
// the difference between that and the pods that run.
package rollout

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Names of what the injector adds to a pod (linkerd2 pkg/k8s/labels.go, charts/partials/templates).
const (
	proxyContainer   = "linkerd-proxy"
	initContainer    = "linkerd-init"
	networkValidator = "linkerd-network-validator"
	volumePrefix     = "linkerd-"
	// tokenVolume is the prefix of a volume that the API server adds to each pod with a random name.
	tokenVolume = "kube-api-access-"
)

// Meshed is a label that the injector sets on each pod that it gives a proxy; its value is the control plane's namespace.
const Meshed = "linkerd.io/control-plane-ns"

// Reconcile is the label or annotation of a pod template, or the annotation of a namespace, by which its owner lets a controller restart it; Auto and
// Disabled are its values. A no counts before a yes.
const (
	Reconcile = "config.linkerd.io/reconcile"
	Auto      = "auto"
	Disabled  = "disabled"
)

// OptIn is what a pod template says of restarts: Auto, Disabled, or nothing.
type OptIn string

// OptInOf returns what a template says. A no counts before a yes, and each word but auto is a no.
func OptInOf(template *corev1.PodTemplateSpec) OptIn {
	annotation, label := template.Annotations[Reconcile], template.Labels[Reconcile]
	switch {
	case annotation == "" && label == "":
		return ""
	case (annotation == "" || annotation == Auto) && (label == "" || label == Auto):
		return Auto
	}
	return Disabled
}

// With reports whether the owner of a workload lets a controller restart it. A no of its template or of its namespace counts before a yes of the other.
func (o OptIn) With(namespace string) bool {
	return namespace != Disabled && (o == Auto || o == "" && namespace == Auto)
}

// DryRunPod returns a pod to create in a dry run: what the workload's controller would create next. A StatefulSet's volumes are claims of its own.
func DryRunPod(namespace, name string, template corev1.PodTemplateSpec, claims []corev1.PersistentVolumeClaim) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Name, pod.GenerateName, pod.Namespace = "", name+"-", namespace
	for _, c := range claims {
		pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == c.Name })
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: c.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name + "-" + name + "-0"},
		}})
	}
	return pod
}

// HasProxy reports whether a pod has a proxy.
func HasProxy(pod *corev1.Pod) bool { return containerOf(pod, proxyContainer) != nil }

// Differences returns what a restart would change of a pod's proxy, in words; none: nothing. It shows names of environment variables, and no values.
func Differences(running, next *corev1.Pod) []string {
	var out []string
	for _, name := range []string{proxyContainer, initContainer, networkValidator} {
		out = append(out, containerDifferences(name, containerOf(running, name), containerOf(next, name))...)
	}
	if isSidecar(running) != isSidecar(next) {
		out = append(out, "native sidecar")
	}
	return append(out, volumeDifferences(running, next)...)
}

// containerOf returns a container of a pod, or an init container; nil: there is none.
func containerOf(pod *corev1.Pod, name string) *corev1.Container {
	for _, all := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		if at := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == name }); at >= 0 {
			return &all[at]
		}
	}
	return nil
}

// isSidecar reports whether the proxy is a native sidecar: an init container.
func isSidecar(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == proxyContainer })
}

func containerDifferences(name string, was, is *corev1.Container) (out []string) {
	switch {
	case was == nil && is == nil:
		return nil
	case was == nil:
		return []string{"container " + name + " (new)"}
	case is == nil:
		return []string{"container " + name + " (removed)"}
	}
	if was.Image != is.Image {
		out = append(out, fmt.Sprintf("image %s, now %s", was.Image, is.Image))
	}
	out = append(out, envDifferences(was.Env, is.Env)...)
	a, b := fieldsOf(was), fieldsOf(is)
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, field := range slices.Sorted(maps.Keys(names)) {
		if !reflect.DeepEqual(a[field], b[field]) {
			out = append(out, field+" of "+name)
		}
	}
	return out
}

// anchors is the variable with the trust anchors.
const anchors = "LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS"

func envDifferences(was, is []corev1.EnvVar) (out []string) {
	before, now := map[string]corev1.EnvVar{}, map[string]corev1.EnvVar{}
	for _, v := range was {
		before[v.Name] = v
	}
	for _, v := range is {
		now[v.Name] = v
	}
	names := maps.Clone(before)
	maps.Copy(names, now)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := before[name], now[name]
		if name == anchors { // compared without space around them, as Linkerd's check does
			a.Value, b.Value = strings.TrimSpace(a.Value), strings.TrimSpace(b.Value)
		}
		switch {
		case reflect.DeepEqual(a, b):
		case name == anchors:
			out = append(out, "trust anchors")
		default:
			out = append(out, name)
		}
	}
	return out
}

// fieldsOf returns the fields of a container that are compared as a whole: all but its name, image and variables, and the mount of its account's token.
func fieldsOf(c *corev1.Container) map[string]any {
	bare := *c.DeepCopy()
	bare.Name, bare.Image, bare.Env = "", "", nil
	bare.VolumeMounts = slices.DeleteFunc(bare.VolumeMounts, func(m corev1.VolumeMount) bool { return strings.HasPrefix(m.Name, tokenVolume) })
	var out map[string]any
	text, err := json.Marshal(bare)
	if err != nil || json.Unmarshal(text, &out) != nil {
		return nil // a container encodes
	}
	delete(out, "restartPolicy") // of a native sidecar, which is compared by itself
	return out
}

// volumeDifferences compares the volumes that the injector adds.
func volumeDifferences(running, next *corev1.Pod) (out []string) {
	was, is := volumesOf(running), volumesOf(next)
	names := maps.Clone(was)
	maps.Copy(names, is)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !reflect.DeepEqual(was[name], is[name]) {
			out = append(out, "volume "+name)
		}
	}
	return out
}

func volumesOf(pod *corev1.Pod) map[string]corev1.VolumeSource {
	out := map[string]corev1.VolumeSource{}
	for _, v := range pod.Spec.Volumes {
		if strings.HasPrefix(v.Name, volumePrefix) {
			out[v.Name] = v.VolumeSource
		}
	}
	return out
}
