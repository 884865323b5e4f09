package testbed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// Injector injects proxies into the pods of a cluster as Linkerd's does, by a real
// mutating webhook. It renders a part of what Linkerd's chart renders (linkerd2
// charts/partials/templates/_proxy.tpl), from the values in linkerd-config, which
// it reads at each admission: there is no kubelet to mount them.
type Injector struct {
	client kubernetes.Interface
	server *httptest.Server
	calls  atomic.Int64
	delay  atomic.Int64 // nanoseconds
}

const injectorName = "linkerd-proxy-injector-webhook-config"

// StartInjector starts an injector for a cluster. It must be closed.
func StartInjector(ctx context.Context, cfg *rest.Config) (*Injector, error) {
	client, err := kubernetes.NewForConfig(as(cfg, manager))
	if err != nil {
		return nil, err
	}
	i := &Injector{client: client}
	i.server = httptest.NewTLSServer(http.HandlerFunc(i.admit))
	url := i.server.URL + "/"
	fail, none, equivalent := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Equivalent
	hook := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: injectorName},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "linkerd-proxy-injector.linkerd.io", FailurePolicy: &fail, SideEffects: &none, MatchPolicy: &equivalent, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
	if _, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, hook, metav1.CreateOptions{}); err != nil {
		i.server.Close()
		return nil, err
	}
	return i, nil
}

// Calls is how many admissions it was asked for so far.
func (i *Injector) Calls() int64 { return i.calls.Load() }

// Delay has each answer take so long.
func (i *Injector) Delay(d time.Duration) { i.delay.Store(int64(d)) }

// Ignore has API servers go on without an answer after a second, as Linkerd's webhook does after some (failurePolicy: Ignore).
func (i *Injector) Ignore(ctx context.Context) error {
	patch := `[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}, {"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 1}]`
	_, err := i.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Patch(ctx, injectorName, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// Close ends it, and has the cluster ask it no more.
func (i *Injector) Close(ctx context.Context) error {
	err := i.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(ctx, injectorName, metav1.DeleteOptions{})
	i.server.Close()
	return err
}

func (i *Injector) admit(w http.ResponseWriter, req *http.Request) {
	i.calls.Add(1)
	time.Sleep(time.Duration(i.delay.Load()))
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "it is no review", http.StatusBadRequest)
		return
	}
	answer := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	patch, err := i.patch(req.Context(), review.Request)
	switch {
	case err != nil:
		answer.Allowed, answer.Result = false, &metav1.Status{Message: err.Error()}
	case patch != nil:
		json := admissionv1.PatchTypeJSONPatch
		answer.Patch, answer.PatchType = patch, &json
	}
	review.Request, review.Response = nil, answer
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// injected are the values that the injector renders.
type injected struct {
	LinkerdVersion          string `json:"linkerdVersion"`
	IdentityTrustAnchorsPEM string `json:"identityTrustAnchorsPEM"`
	Proxy                   struct {
		Image                                     struct{ Name, Version string }
		Await, NativeSidecar                      bool
		LogLevel, LogFormat, DefaultInboundPolicy string
		OpaquePorts                               string
		WaitBeforeExitSeconds                     int
		Resources                                 map[string]struct{ Limit, Request string }
		AdditionalEnv                             []corev1.EnvVar
	} `json:"proxy"`
	ProxyInit struct{ IgnoreInboundPorts, IgnoreOutboundPorts string } `json:"proxyInit"`
}

func (i *Injector) patch(ctx context.Context, req *admissionv1.AdmissionRequest) ([]byte, error) {
	var pod corev1.Pod
	if err := json.Unmarshal(req.Object.Raw, &pod); err != nil {
		return nil, err
	}
	if pod.Annotations["linkerd.io/inject"] != "enabled" {
		return nil, nil
	}
	cm, err := i.client.CoreV1().ConfigMaps(ControlPlane).Get(ctx, "linkerd-config", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	var v injected
	if err := yaml.Unmarshal([]byte(cm.Data["values"]), &v); err != nil {
		return nil, err
	}
	if v.Proxy.NativeSidecar && v.Proxy.WaitBeforeExitSeconds > 0 {
		return nil, errors.New("proxy.nativeSidecar and waitBeforeExitSeconds cannot be used simultaneously")
	}
	return v.patch(&pod)
}

// patch is the JSON patch that gives a pod its proxy. Annotations of the pod count before the values.
func (v injected) patch(pod *corev1.Pod) ([]byte, error) {
	if level := pod.Annotations["config.linkerd.io/proxy-log-level"]; level != "" {
		v.Proxy.LogLevel = level
	}
	version := v.Proxy.Image.Version
	if version == "" {
		version = v.LinkerdVersion
	}
	roots := sha256.Sum256([]byte(strings.TrimSpace(v.IdentityTrustAnchorsPEM)))
	next := pod.DeepCopy()
	if next.Labels == nil {
		next.Labels = map[string]string{}
	}
	next.Labels["linkerd.io/control-plane-ns"] = ControlPlane
	next.Annotations["linkerd.io/proxy-version"], next.Annotations["linkerd.io/trust-root-sha256"] = version, hex.EncodeToString(roots[:])
	proxy := v.container(version)
	next.Spec.Volumes = append(next.Spec.Volumes, corev1.Volume{Name: "linkerd-identity-end-entity", VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory},
	}})
	next.Spec.InitContainers = append([]corev1.Container{{
		Name: "linkerd-init", Image: proxy.Image, Args: []string{"--inbound-ports-to-ignore", strings.TrimSuffix("4190,4191,"+v.ProxyInit.IgnoreInboundPorts, ","), "--outbound-ports-to-ignore", v.ProxyInit.IgnoreOutboundPorts},
	}}, next.Spec.InitContainers...)
	if v.Proxy.NativeSidecar {
		always := corev1.ContainerRestartPolicyAlways
		proxy.RestartPolicy = &always
		next.Spec.InitContainers = append(next.Spec.InitContainers, proxy)
	} else {
		next.Spec.Containers = append([]corev1.Container{proxy}, next.Spec.Containers...)
	}
	return json.Marshal([]map[string]any{
		{"op": "add", "path": "/metadata/labels", "value": next.Labels},
		{"op": "add", "path": "/metadata/annotations", "value": next.Annotations},
		{"op": "replace", "path": "/spec", "value": next.Spec},
	})
}

func (v injected) container(version string) corev1.Container {
	env := []corev1.EnvVar{
		{Name: "_pod_ns", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}},
		{Name: "LINKERD2_PROXY_LOG", Value: v.Proxy.LogLevel},
		{Name: "LINKERD2_PROXY_LOG_FORMAT", Value: v.Proxy.LogFormat},
		{Name: "LINKERD2_PROXY_INBOUND_DEFAULT_POLICY", Value: v.Proxy.DefaultInboundPolicy},
		{Name: "LINKERD2_PROXY_INBOUND_PORTS_DISABLE_PROTOCOL_DETECTION", Value: v.Proxy.OpaquePorts},
		{Name: "LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS", Value: v.IdentityTrustAnchorsPEM},
	}
	out := corev1.Container{
		Name: "linkerd-proxy", Image: v.Proxy.Image.Name + ":" + version, Env: append(env, v.Proxy.AdditionalEnv...),
		VolumeMounts: []corev1.VolumeMount{{Name: "linkerd-identity-end-entity", MountPath: "/var/run/linkerd/identity/end-entity"}},
	}
	limits, requests := corev1.ResourceList{}, corev1.ResourceList{}
	for name, amount := range v.Proxy.Resources {
		if q, err := resource.ParseQuantity(amount.Limit); err == nil {
			limits[corev1.ResourceName(name)] = q
		}
		if q, err := resource.ParseQuantity(amount.Request); err == nil {
			requests[corev1.ResourceName(name)] = q
		}
	}
	out.Resources.Limits, out.Resources.Requests = limits, requests
	if wait := v.Proxy.WaitBeforeExitSeconds; !v.Proxy.NativeSidecar && (v.Proxy.Await || wait > 0) {
		out.Lifecycle = &corev1.Lifecycle{}
		if v.Proxy.Await {
			out.Lifecycle.PostStart = &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/usr/lib/linkerd/linkerd-await", "--timeout=2m"}}}
		}
		if wait > 0 {
			out.Lifecycle.PreStop = &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sleep", strconv.Itoa(wait)}}}
		}
	}
	return out
}
