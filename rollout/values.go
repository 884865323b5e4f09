package rollout

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// Without a dry run, a value of linkerd-config is compared with the one place of a running pod in which Linkerd's chart writes it (linkerd2
// charts/partials/templates/_proxy.tpl). A value that another version may write elsewhere is not compared, and neither is one that an annotation
// overrides, or that other tools often change: a restart that changes nothing is worse than one that is missing.

// comparison is about one value of linkerd-config.
type comparison struct {
	path      string   // of the value
	overrides []string // annotations of a pod or its namespace that count before it (linkerd2 pkg/k8s/labels.go)
	// differs reports whether a pod has another value.
	differs func(value string, pod *corev1.Pod, proxy *corev1.Container) bool
}

const (
	override      = "config.linkerd.io/"
	alphaOverride = "config.alpha.linkerd.io/"
	betaOverride  = "config.beta.linkerd.io/"
	variable      = "LINKERD2_PROXY_"
	// withoutHeaders is what the chart adds to the log level if proxies must not log headers.
	withoutHeaders = ",[{headers}]=off,[{request}]=off"
	// noTimeout is how the chart writes that there is no limit.
	noTimeout = "365d"
)

// comparisons are those of single values. additionalEnv and experimentalEnv are compared together.
func comparisons() []comparison {
	out := []comparison{
		{"proxy.logLevel", []string{override + "proxy-log-level"}, logLevelDiffers},
		{"proxy.logHTTPHeaders", []string{override + "proxy-log-level", override + "proxy-log-http-headers"}, logHeadersDiffer},
		{"proxy.logFormat", []string{override + "proxy-log-format"}, variableDiffers("LOG_FORMAT")},
		{"proxy.defaultInboundPolicy", []string{override + "default-inbound-policy"}, variableDiffers("INBOUND_DEFAULT_POLICY")},
		{"proxy.accessLog", []string{override + "access-log"}, optionalDiffers("ACCESS_LOG")},
		{"proxy.shutdownGracePeriod", []string{override + "shutdown-grace-period"}, optionalDiffers("SHUTDOWN_GRACE_PERIOD")},
		{"proxy.inboundConnectTimeout", []string{override + "proxy-inbound-connect-timeout"}, optionalDiffers("INBOUND_CONNECT_TIMEOUT")},
		{"proxy.outboundConnectTimeout", []string{override + "proxy-outbound-connect-timeout"}, optionalDiffers("OUTBOUND_CONNECT_TIMEOUT")},
		{"proxy.inboundDiscoveryCacheUnusedTimeout", []string{override + "proxy-inbound-discovery-cache-unused-timeout"}, variableDiffers("INBOUND_DISCOVERY_IDLE_TIMEOUT")},
		{"proxy.outboundDiscoveryCacheUnusedTimeout", []string{override + "proxy-outbound-discovery-cache-unused-timeout"}, variableDiffers("OUTBOUND_DISCOVERY_IDLE_TIMEOUT")},
		{"proxy.disableInboundProtocolDetectTimeout", []string{override + "proxy-disable-inbound-protocol-detect-timeout"}, limitDiffers("INBOUND_DETECT_TIMEOUT")},
		{"proxy.disableOutboundProtocolDetectTimeout", []string{override + "proxy-disable-outbound-protocol-detect-timeout"}, limitDiffers("OUTBOUND_DETECT_TIMEOUT")},
		{"proxy.control.streams.initialTimeout", nil, variableDiffers("CONTROL_STREAM_INITIAL_TIMEOUT")},
		{"proxy.control.streams.idleTimeout", nil, variableDiffers("CONTROL_STREAM_IDLE_TIMEOUT")},
		{"proxy.control.streams.lifetime", nil, variableDiffers("CONTROL_STREAM_LIFETIME")},
		{"proxy.nativeSidecar", []string{alphaOverride + "proxy-enable-native-sidecar", betaOverride + "proxy-enable-native-sidecar"}, sidecarDiffers},
		{"proxy.waitBeforeExitSeconds", []string{alphaOverride + "proxy-wait-before-exit-seconds"}, waitDiffers},
		{"proxy.await", []string{override + "proxy-await"}, awaitDiffers},
		{"proxy.cores", []string{override + "proxy-cpu-limit", override + "proxy-cpu-ratio-limit"}, variableDiffers("CORES")},
		{"proxy.opaquePorts", []string{override + "opaque-ports"}, optionalDiffers("INBOUND_PORTS_DISABLE_PROTOCOL_DETECTION")},
		{"proxy.livenessProbe.initialDelaySeconds", nil, probeDiffers(liveness, delay)},
		{"proxy.livenessProbe.timeoutSeconds", nil, probeDiffers(liveness, timeout)},
		{"proxy.readinessProbe.initialDelaySeconds", nil, probeDiffers(readiness, delay)},
		{"proxy.readinessProbe.timeoutSeconds", nil, probeDiffers(readiness, timeout)},
		{"proxyInit.ignoreInboundPorts", []string{override + "skip-inbound-ports"}, inboundPortsDiffer},
		{"proxyInit.ignoreOutboundPorts", []string{override + "skip-outbound-ports"}, argumentDiffers("--outbound-ports-to-ignore")},
		{"proxyInit.skipSubnets", []string{override + "skip-subnets"}, argumentDiffers("--subnets-to-ignore")},
		{"proxyInit.closeWaitTimeoutSecs", []string{override + "close-wait-timeout"}, argumentDiffers("--timeout-close-wait-secs")},
		{"proxyInit.logFormat", nil, argumentDiffers("--log-format")},
		{"proxyInit.logLevel", nil, argumentDiffers("--log-level")},
	}
	for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		prefix := override + "proxy-" + string(r)
		out = append(out,
			comparison{"proxy.resources." + string(r) + ".request", append(resourceWriters(), prefix+"-request"), amountDiffers(r, func(c *corev1.Container) corev1.ResourceList { return c.Resources.Requests })},
			comparison{"proxy.resources." + string(r) + ".limit", append(resourceWriters(), prefix+"-limit"), amountDiffers(r, func(c *corev1.Container) corev1.ResourceList { return c.Resources.Limits })},
		)
	}
	return out
}

// valueDifferences returns which values differ between linkerd-config and a pod.
func valueDifferences(doc map[string]any, pod *corev1.Pod, namespace map[string]string) (out []string) {
	proxy := containerOf(pod, proxyContainer)
	if proxy == nil {
		return nil
	}
	for _, c := range comparisons() {
		value, ok := valueAt(doc, c.path)
		if ok && !overridden(c.overrides, pod.Annotations, namespace) && c.differs(value, pod, proxy) {
			out = append(out, c.path)
		}
	}
	if overridden([]string{override + "proxy-additional-env"}, pod.Annotations, namespace) { // of newer releases: it replaces single variables
		return out
	}
	return append(out, moreVariables(doc, proxy)...)
}

func overridden(names []string, pod, namespace map[string]string) bool {
	for _, name := range names {
		_, ofPod := pod[name]
		_, ofNamespace := namespace[name]
		if ofPod || ofNamespace { // also if it is empty
			return true
		}
	}
	return false
}

// parseValues reads the values of linkerd-config. Numbers stay as they are written.
func parseValues(text string) (map[string]any, error) {
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	d := json.NewDecoder(strings.NewReader(string(asJSON)))
	d.UseNumber()
	err = d.Decode(&doc)
	return doc, err
}

// valueAt returns a value as text: a list as JSON; false: the document has none there.
func valueAt(doc map[string]any, path string) (string, bool) {
	var at any = doc
	for name := range strings.SplitSeq(path, ".") {
		fields, _ := at.(map[string]any)
		at = fields[name]
	}
	switch v := at.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return v.String(), true
	case []any:
		text, err := json.Marshal(v)
		return string(text), err == nil
	}
	return "", false
}

// envOf returns a variable of a container; false: it has none of that name.
func envOf(c *corev1.Container, name string) (string, bool) {
	for _, v := range c.Env {
		if v.Name == name {
			return v.Value, true
		}
	}
	return "", false
}

// variableDiffers is about a variable that only some versions have: a proxy without it is not compared.
func variableDiffers(name string) func(string, *corev1.Pod, *corev1.Container) bool {
	return func(value string, _ *corev1.Pod, proxy *corev1.Container) bool {
		running, ok := envOf(proxy, variable+name)
		return ok && running != value
	}
}

// optionalDiffers is about a variable that is absent if its value is empty.
func optionalDiffers(name string) func(string, *corev1.Pod, *corev1.Container) bool {
	return func(value string, _ *corev1.Pod, proxy *corev1.Container) bool {
		running, _ := envOf(proxy, variable+name)
		return running != value
	}
}

// limitDiffers is about a variable that takes a limit away.
func limitDiffers(name string) func(string, *corev1.Pod, *corev1.Container) bool {
	return func(value string, _ *corev1.Pod, proxy *corev1.Container) bool {
		running, _ := envOf(proxy, variable+name)
		return (running == noTimeout) != (value == "true")
	}
}

func logLevelDiffers(value string, _ *corev1.Pod, proxy *corev1.Container) bool {
	running, ok := envOf(proxy, variable+"LOG")
	return ok && strings.TrimSuffix(running, withoutHeaders) != value
}

func logHeadersDiffer(value string, _ *corev1.Pod, proxy *corev1.Container) bool {
	running, ok := envOf(proxy, variable+"LOG")
	return ok && strings.HasSuffix(running, withoutHeaders) == (value == "insecure")
}

func sidecarDiffers(value string, pod *corev1.Pod, _ *corev1.Container) bool {
	return isSidecar(pod) != (value == "true")
}

// waitDiffers compares how long the proxy waits before it ends. A native sidecar does not.
func waitDiffers(value string, pod *corev1.Pod, proxy *corev1.Container) bool {
	running := "0"
	if l := proxy.Lifecycle; l != nil && l.PreStop != nil && l.PreStop.Exec != nil && len(l.PreStop.Exec.Command) > 0 {
		command := l.PreStop.Exec.Command
		running = command[len(command)-1]
	}
	return !isSidecar(pod) && running != value
}

// awaitDiffers compares whether other containers wait for the proxy. For a native sidecar, that is a probe of newer releases.
func awaitDiffers(value string, pod *corev1.Pod, proxy *corev1.Container) bool {
	waits := proxy.Lifecycle != nil && proxy.Lifecycle.PostStart != nil
	return !isSidecar(pod) && waits != (value == "true")
}

func liveness(c *corev1.Container) *corev1.Probe  { return c.LivenessProbe }
func readiness(c *corev1.Container) *corev1.Probe { return c.ReadinessProbe }
func delay(p *corev1.Probe) int32                 { return p.InitialDelaySeconds }
func timeout(p *corev1.Probe) int32               { return p.TimeoutSeconds }

// probeDiffers compares seconds of a probe. API servers replace a timeout of 0.
func probeDiffers(probe func(*corev1.Container) *corev1.Probe, seconds func(*corev1.Probe) int32) func(string, *corev1.Pod, *corev1.Container) bool {
	return func(value string, _ *corev1.Pod, proxy *corev1.Container) bool {
		p := probe(proxy)
		return p != nil && value != "0" && strconv.Itoa(int(seconds(p))) != value
	}
}

// argumentOf returns the argument of linkerd-init after a flag; false: the pod has no such container, because Linkerd's CNI plugin does its work.
func argumentOf(pod *corev1.Pod, flag string) (string, bool) {
	c := containerOf(pod, initContainer)
	if c == nil {
		return "", false
	}
	if at := slices.Index(c.Args, flag); at >= 0 && at+1 < len(c.Args) {
		return c.Args[at+1], true
	}
	return "", true
}

// argumentDiffers is about an argument that is absent if its value is empty or 0 (linkerd2 charts/partials/templates/_proxy-init.tpl).
func argumentDiffers(flag string) func(string, *corev1.Pod, *corev1.Container) bool {
	return func(value string, pod *corev1.Pod, _ *corev1.Container) bool {
		running, ok := argumentOf(pod, flag)
		if value == "0" {
			value = ""
		}
		return ok && running != value
	}
}

// inboundPortsDiffer compares the ports after the two of the proxy itself.
func inboundPortsDiffer(value string, pod *corev1.Pod, _ *corev1.Container) bool {
	running, ok := argumentOf(pod, "--inbound-ports-to-ignore")
	own := strings.SplitN(running, ",", 3)
	return ok && len(own) > 1 && strings.Join(own[2:], "") != value
}

// moreVariables returns additionalEnv or experimentalEnv if a proxy has another value of one of their variables. They come last, so the last variable of a
// name counts. One that is in no list any more is not found.
func moreVariables(doc map[string]any, proxy *corev1.Container) []string {
	running, from := map[string]corev1.EnvVar{}, map[string]string{}
	for _, v := range proxy.Env {
		running[v.Name] = v
	}
	want := map[string]string{}
	for _, path := range []string{"proxy.additionalEnv", "proxy.experimentalEnv"} {
		text, _ := valueAt(doc, path)
		var vars []corev1.EnvVar
		if json.Unmarshal([]byte(cmp.Or(text, "[]")), &vars) != nil {
			continue // the injector cannot read it, either
		}
		for _, v := range vars {
			if delete(want, v.Name); v.ValueFrom == nil {
				want[v.Name], from[v.Name] = v.Value, path
			}
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if v, ok := running[name]; !ok || v.ValueFrom != nil || v.Value != want[name] {
			out = append(out, from[name])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// resourceWriters are annotations of pods whose resources another tool set: Kubernetes' Vertical Pod Autoscaler, and GKE Autopilot.
func resourceWriters() []string {
	return []string{"vpaUpdates", "vpaInPlaceUpdated", "autopilot.gke.io/resource-adjustment"}
}

// amountDiffers compares an amount of a resource. One that is not declared may come from a LimitRange.
func amountDiffers(name corev1.ResourceName, of func(*corev1.Container) corev1.ResourceList) func(string, *corev1.Pod, *corev1.Container) bool {
	return func(value string, _ *corev1.Pod, proxy *corev1.Container) bool {
		amount, err := resource.ParseQuantity(value)
		running := of(proxy)[name]
		return value != "" && err == nil && running.Cmp(amount) != 0
	}
}
