package rollout

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runningValues are those that runningPod was made with.
const runningValues = `
linkerdVersion: v1
proxy:
  image: {name: cr.example.com/proxy, version: ""}
  logLevel: warn,linkerd=info
  logHTTPHeaders: "off"
  logFormat: plain
  defaultInboundPolicy: all-unauthenticated
  accessLog: ""
  shutdownGracePeriod: ""
  inboundConnectTimeout: 100ms
  disableInboundProtocolDetectTimeout: false
  control: {streams: {idleTimeout: 5m}}
  nativeSidecar: false
  waitBeforeExitSeconds: 0
  await: true
  cores: 1
  opaquePorts: "25"
  livenessProbe: {initialDelaySeconds: 10, timeoutSeconds: 1}
  readinessProbe: {initialDelaySeconds: 2, timeoutSeconds: 1}
  additionalEnv: [{name: A, value: one}]
  resources: {cpu: {request: 100m, limit: ""}, memory: {request: "", limit: ""}}
proxyInit: {ignoreInboundPorts: "4567,4568", ignoreOutboundPorts: "4567", skipSubnets: "", closeWaitTimeoutSecs: 0, logFormat: "", logLevel: info}
`

// runningPod is a pod as Linkerd's chart renders it.
func runningPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{versionAnnotation: "v1"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: proxyContainer, Image: "cr.example.com/proxy:v1",
			Env: []corev1.EnvVar{
				{Name: "LINKERD2_PROXY_LOG", Value: "warn,linkerd=info" + withoutHeaders},
				{Name: "LINKERD2_PROXY_LOG_FORMAT", Value: "plain"},
				{Name: "LINKERD2_PROXY_INBOUND_DEFAULT_POLICY", Value: "all-unauthenticated"},
				{Name: "LINKERD2_PROXY_INBOUND_CONNECT_TIMEOUT", Value: "100ms"},
				{Name: "LINKERD2_PROXY_CONTROL_STREAM_IDLE_TIMEOUT", Value: "5m"},
				{Name: "A", Value: "one"},
				{Name: "LINKERD2_PROXY_INBOUND_DISCOVERY_IDLE_TIMEOUT", Value: "90s"},
				{Name: "LINKERD2_PROXY_OUTBOUND_DISCOVERY_IDLE_TIMEOUT", Value: "5s"},
				{Name: "LINKERD2_PROXY_CORES", Value: "1"},
				{Name: "LINKERD2_PROXY_INBOUND_PORTS_DISABLE_PROTOCOL_DETECTION", Value: "25"},
				{Name: "LINKERD2_PROXY_CONTROL_STREAM_INITIAL_TIMEOUT", Value: "3s"},
			},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.1")}, Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
			},
			Lifecycle:      &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{}},
			LivenessProbe:  &corev1.Probe{InitialDelaySeconds: 10, TimeoutSeconds: 1},
			ReadinessProbe: &corev1.Probe{InitialDelaySeconds: 2, TimeoutSeconds: 1},
		}}, InitContainers: []corev1.Container{{
			Name: initContainer, Args: []string{"--inbound-ports-to-ignore", "4190,4191,4567,4568", "--outbound-ports-to-ignore", "4567", "--log-level", "info"},
		}}},
	}
}

// Values are compared with their place in a pod. An annotation counts before a value, and what a version does not have is not compared.
func TestValueDifferences(t *testing.T) {
	for name, tt := range map[string]struct {
		was, is        string // of the values
		pod, namespace map[string]string
		want           string
	}{
		"nothing changed":           {},
		"an empty one of the pod":   {was: "warn,linkerd=info", is: "debug", pod: map[string]string{"config.linkerd.io/proxy-log-level": ""}},
		"log level":                 {was: "warn,linkerd=info", is: "debug", want: "proxy.logLevel"},
		"log level of the pod":      {was: "warn,linkerd=info", is: "debug", pod: map[string]string{"config.linkerd.io/proxy-log-level": "warn"}},
		"of its namespace":          {was: "warn,linkerd=info", is: "debug", namespace: map[string]string{"config.linkerd.io/proxy-log-level": "warn"}},
		"headers":                   {was: `"off"`, is: "insecure", want: "proxy.logHTTPHeaders"},
		"format":                    {was: "plain", is: "json", want: "proxy.logFormat"},
		"policy":                    {was: "all-unauthenticated", is: "deny", want: "proxy.defaultInboundPolicy"},
		"an access log":             {was: `accessLog: ""`, is: "accessLog: json", want: "proxy.accessLog"},
		"grace period":              {was: `shutdownGracePeriod: ""`, is: "shutdownGracePeriod: 2m", want: "proxy.shutdownGracePeriod"},
		"timeout":                   {was: "100ms", is: "200ms", want: "proxy.inboundConnectTimeout"},
		"no timeout":                {was: "DetectTimeout: false", is: "DetectTimeout: true", want: "proxy.disableInboundProtocolDetectTimeout"},
		"streams":                   {was: "5m", is: "6m", want: "proxy.control.streams.idleTimeout"},
		"streams of a newer one":    {was: "{idleTimeout: 5m}", is: "{lifetime: 6m}"},
		"native sidecar":            {was: "nativeSidecar: false", is: "nativeSidecar: true", want: "proxy.nativeSidecar"},
		"wait":                      {was: "Seconds: 0", is: "Seconds: 30", want: "proxy.waitBeforeExitSeconds"},
		"another variable":          {was: "value: one", is: "value: two", want: "proxy.additionalEnv"},
		"one more variable":         {was: "[{name: A", is: "[{name: B, value: b}, {name: A", want: "proxy.additionalEnv"},
		"request":                   {was: "100m,", is: "200m,", want: "proxy.resources.cpu.request"},
		"one that is experimental":  {was: "nativeSidecar: false", is: "nativeSidecar: false\n  experimentalEnv: [{name: B, value: b}]", want: "proxy.experimentalEnv"},
		"the last of a name counts": {was: "nativeSidecar: false", is: "nativeSidecar: false\n  experimentalEnv: [{name: A, value: two}]", want: "proxy.experimentalEnv"},
		"one of the chart":          {was: "value: one}", is: "value: one}, {name: LINKERD2_PROXY_LOG_FORMAT, value: json}", want: "proxy.additionalEnv"},
		"outbound timeouts":         {was: "inboundConnectTimeout: 100ms", is: "inboundConnectTimeout: 100ms\n  outboundConnectTimeout: 2s\n  disableOutboundProtocolDetectTimeout: true", want: "proxy.outboundConnectTimeout proxy.disableOutboundProtocolDetectTimeout"},
		"caches":                    {was: "nativeSidecar: false", is: "nativeSidecar: false\n  inboundDiscoveryCacheUnusedTimeout: 1s\n  outboundDiscoveryCacheUnusedTimeout: 2s", want: "proxy.inboundDiscoveryCacheUnusedTimeout proxy.outboundDiscoveryCacheUnusedTimeout"},
		"first of a stream":         {was: "{idleTimeout: 5m}", is: "{initialTimeout: 9s}", want: "proxy.control.streams.initialTimeout"},
		"memory":                    {was: `memory: {request: ""`, is: `memory: {request: 1Mi`, want: "proxy.resources.memory.request"},
		"storage":                   {was: "resources: {", is: "resources: {ephemeral-storage: {limit: 1Gi}, ", want: "proxy.resources.ephemeral-storage.limit"},
		"an autoscaler's":           {was: "100m,", is: "200m,", pod: map[string]string{"vpaUpdates": "Pod resources updated by web"}},
		"request of the pod":        {was: "100m,", is: "200m,", pod: map[string]string{"config.linkerd.io/proxy-cpu-request": "100m"}},
		"a limit":                   {was: `limit: ""}, memory`, is: `limit: "1"}, memory`, want: "proxy.resources.cpu.limit"},
		"await":                     {was: "await: true", is: "await: false", want: "proxy.await"},
		"cores":                     {was: "cores: 1", is: "cores: 2", want: "proxy.cores"},
		"opaque ports":              {was: `opaquePorts: "25"`, is: `opaquePorts: ""`, want: "proxy.opaquePorts"},
		"of the pod":                {was: `opaquePorts: "25"`, is: `opaquePorts: ""`, pod: map[string]string{"config.linkerd.io/opaque-ports": "25"}},
		"liveness":                  {was: "initialDelaySeconds: 10, timeoutSeconds: 1", is: "initialDelaySeconds: 11, timeoutSeconds: 2", want: "proxy.livenessProbe.initialDelaySeconds proxy.livenessProbe.timeoutSeconds"},
		"readiness":                 {was: "initialDelaySeconds: 2, timeoutSeconds: 1", is: "initialDelaySeconds: 3, timeoutSeconds: 2", want: "proxy.readinessProbe.initialDelaySeconds proxy.readinessProbe.timeoutSeconds"},
		"no timeout of it":          {was: "initialDelaySeconds: 2, timeoutSeconds: 1", is: "initialDelaySeconds: 2, timeoutSeconds: 0"},
		"inbound ports":             {was: `"4567,4568"`, is: `"25"`, want: "proxyInit.ignoreInboundPorts"},
		"no inbound ports":          {was: `"4567,4568"`, is: `""`, want: "proxyInit.ignoreInboundPorts"},
		"outbound ports":            {was: `ignoreOutboundPorts: "4567"`, is: `ignoreOutboundPorts: ""`, want: "proxyInit.ignoreOutboundPorts"},
		"subnets":                   {was: `skipSubnets: ""`, is: "skipSubnets: 10.0.0.0/8", want: "proxyInit.skipSubnets"},
		"close wait":                {was: "Secs: 0", is: "Secs: 30", want: "proxyInit.closeWaitTimeoutSecs"},
		"log of linkerd-init":       {was: `logFormat: "", logLevel: info`, is: `logFormat: json, logLevel: debug`, want: "proxyInit.logFormat proxyInit.logLevel"},
		"another value":             {was: "linkerdVersion: v1", is: "linkerdVersion: v1\ncontrollerLogLevel: debug"},
	} {
		values := strings.Replace(runningValues, tt.was, tt.is, 1)
		if tt.was != "" && values == runningValues {
			t.Fatalf("%s: %q is not in the values", name, tt.was)
		}
		doc, err := parseValues(values)
		if err != nil {
			t.Fatal(err)
		}
		pod := runningPod()
		maps.Copy(pod.Annotations, tt.pod)
		got := valueDifferences(doc, pod, tt.namespace)
		if diff := cmp.Diff(strings.Fields(tt.want), got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// Whatever linkerd-config has: it is an error, or pods are compared.
func FuzzCurrentOf(f *testing.F) {
	for _, seed := range []string{runningValues, "", "linkerdVersion: v1\nproxy: 3", "linkerdVersion: v1\nproxy: {additionalEnv: [3]}", "linkerdVersion: v1\nproxy: {resources: {cpu: {request: x}}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, values string) {
		c, err := CurrentOf(values, "anchors")
		if err != nil {
			return
		}
		pod := runningPod()
		pod.Annotations[rootsAnnotation] = c.roots[0]
		for _, d := range mustDiffer(t, c, pod) {
			if d == "" || d == anchorsDifference {
				t.Errorf("difference %q", d)
			}
		}
	})
}

func mustDiffer(t *testing.T, c Current, pod *corev1.Pod) []string {
	t.Helper()
	out, err := c.Differences(pod, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
