package api

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Check returns what is wrong with the values of the declaration. Which clusters it selects is a question to the fleet.
func (d ProxyConfigDoc) Check() []Finding {
	s := d.Spec
	found := slices.Concat(
		prefixed("clusters", checkSelector(&s.Clusters)),
		prefixed("rollout", s.Rollout.check()),
		prefixed("proxy", s.Proxy.check()),
		prefixed("proxyInit", s.ProxyInit.check()),
		prefixed("networkValidator", s.NetworkValidator.check()),
		s.checkExclusions(),
	)
	if d := s.DebugContainer; d != nil {
		found = append(found, prefixed("debugContainer", prefixed("image", d.Image.check()))...)
	}
	return slices.Concat(prefixed("metadata", d.Metadata.check()), prefixed("spec", found))
}

func (p *Proxy) check() []Finding {
	if p == nil {
		return nil
	}
	found := slices.Concat(
		prefixed("image", p.Image.check()),
		prefixed("resources", p.Resources.check()),
		prefixed("logLevel", checkText(p.LogLevel, proxyLogLevel)),
		prefixed("logFormat", wordAt(p.LogFormat)),
		prefixed("logHTTPHeaders", wordOrEmpty(p.LogHTTPHeaders)),
		prefixed("accessLog", wordOrEmpty(p.AccessLog)),
		prefixed("opaquePorts", checkPorts(p.OpaquePorts)),
		prefixed("defaultInboundPolicy", wordAt(p.DefaultInboundPolicy)),
		prefixed("additionalEnv", checkEnv(p.AdditionalEnv)),
		prefixed("experimentalEnv", checkEnv(p.ExperimentalEnv)),
		prefixed("tracing", p.Tracing.check()),
		p.checkRuntime(),
	)
	return append(found, checkTimes(map[string]*ProxyDuration{
		"shutdownGracePeriod": p.ShutdownGracePeriod, "inboundConnectTimeout": p.InboundConnectTimeout, "outboundConnectTimeout": p.OutboundConnectTimeout,
		"inboundDiscoveryCacheUnusedTimeout": p.InboundDiscoveryCacheUnusedTimeout, "outboundDiscoveryCacheUnusedTimeout": p.OutboundDiscoveryCacheUnusedTimeout,
	})...)
}

// checkRuntime checks how the proxy runs, and its probes.
func (p *Proxy) checkRuntime() []Finding {
	found := checkNumbers(map[string]*int64{"cores": p.Cores, "waitBeforeExitSeconds": p.WaitBeforeExitSeconds})
	if r := p.Runtime; r != nil && r.Workers != nil {
		workers := checkNumbers(map[string]*int64{"minimum": r.Workers.Minimum})
		if ratio := r.Workers.MaximumCPURatio; ratio != nil && (*ratio <= 0 || *ratio > 1) {
			workers = append(workers, prefixed("maximumCPURatio", finding("%v is not above 0 and at most 1", *ratio))...)
		}
		found = append(found, prefixed("runtime", prefixed("workers", workers))...)
	}
	if c := p.Control; c != nil && c.Streams != nil {
		found = append(found, prefixed("control", prefixed("streams", checkTimes(map[string]*ProxyDuration{
			"initialTimeout": c.Streams.InitialTimeout, "idleTimeout": c.Streams.IdleTimeout, "lifetime": c.Streams.Lifetime,
		})))...)
	}
	if s := p.StartupProbe; s != nil {
		found = append(found, prefixed("startupProbe", checkNumbers(map[string]*int64{
			"initialDelaySeconds": s.InitialDelaySeconds, "periodSeconds": s.PeriodSeconds, "failureThreshold": s.FailureThreshold,
		}))...)
	}
	return slices.Concat(found, prefixed("livenessProbe", p.LivenessProbe.check()), prefixed("readinessProbe", p.ReadinessProbe.check()))
}

func (p *ProxyProbe) check() []Finding {
	if p == nil {
		return nil
	}
	return checkNumbers(map[string]*int64{"initialDelaySeconds": p.InitialDelaySeconds, "timeoutSeconds": p.TimeoutSeconds})
}

func (i *ProxyImage) check() []Finding {
	if i == nil {
		return nil
	}
	return slices.Concat(prefixed("name", checkText(i.Name, imageName)), prefixed("version", checkText(i.Version, imageVersion)), prefixed("pullPolicy", wordOrEmpty(i.PullPolicy)))
}

func (t *ProxyTracing) check() []Finding {
	if t == nil {
		return nil
	}
	found := prefixed("traceServiceName", checkText(t.TraceServiceName, simpleName))
	if c := t.Collector; c != nil {
		collector := prefixed("endpoint", checkText(c.Endpoint, address))
		if id := c.MeshIdentity; id != nil {
			collector = slices.Concat(collector, prefixed("meshIdentity", slices.Concat(
				prefixed("serviceAccountName", checkText(id.ServiceAccountName, simpleName)), prefixed("namespace", checkText(id.Namespace, simpleName)),
			)))
		}
		found = append(found, prefixed("collector", collector)...)
	}
	return found
}

// Patterns of texts. Linkerd's chart writes some of them into a pod without quotes, so no text may continue as YAML.
const (
	proxyLogLevel  = `^[-A-Za-z0-9_=,:.*\[\]{}]+$`
	initLogLevel   = `^(trace|debug|info|warn|warning|error|fatal|panic)?$`
	validatorLevel = `^(trace|debug|info|warn|error)$`
	imageName      = `^[-A-Za-z0-9_.:/]+$`
	imageVersion   = `^([-A-Za-z0-9_.]+(@sha256:[0-9a-f]{64})?)?$`
	simpleName     = `^[-A-Za-z0-9_.]*$`
	address        = `^[-A-Za-z0-9_.:\[\]]*$`
)

// checkText checks a text by a pattern.
func checkText(text *string, pattern string) []Finding {
	switch {
	case text == nil || regexp.MustCompile(pattern).MatchString(*text):
		return nil
	case *text == "":
		return finding("must not be empty")
	}
	return finding("%q is not allowed here: it must match %s", *text, pattern)
}

func (r *ProxyResources) check() []Finding {
	if r == nil {
		return nil
	}
	return slices.Concat(prefixed("cpu", r.CPU.check()), prefixed("memory", r.Memory.check()), prefixed("ephemeral-storage", r.EphemeralStorage.check()))
}

func (a *ResourceAmount) check() []Finding {
	if a == nil {
		return nil
	}
	return slices.Concat(prefixed("request", a.Request.check()), prefixed("limit", a.Limit.check()))
}

func (q *ProxyQuantity) check() []Finding {
	if q == nil || *q == "" {
		return nil
	}
	amount, err := resource.ParseQuantity(string(*q))
	switch {
	case err != nil:
		return findingWithHint("write an amount such as 100m or 64Mi", "%q is not an amount of a resource", *q)
	case amount.Sign() < 0:
		return finding("%q is negative", *q)
	}
	return nil
}

func (i *ProxyInit) check() []Finding {
	if i == nil {
		return nil
	}
	image := i.Image.check()
	if i.Image != nil && i.Image.Version != nil && *i.Image.Version == "" {
		image = append(image, prefixed("version", findingWithHint("declare it with a version, or not at all", "must not be empty: this image has no default version"))...)
	}
	return slices.Concat(
		prefixed("ignoreInboundPorts", checkPorts(i.IgnoreInboundPorts)),
		prefixed("ignoreOutboundPorts", checkPorts(i.IgnoreOutboundPorts)),
		prefixed("kubeAPIServerPorts", checkPorts(i.KubeAPIServerPorts)),
		prefixed("skipSubnets", checkSubnets(i.SkipSubnets)),
		prefixed("iptablesMode", wordAt(i.IptablesMode)),
		prefixed("logLevel", checkText(i.LogLevel, initLogLevel)),
		prefixed("logFormat", wordOrEmpty(i.LogFormat)),
		prefixed("image", image),
		checkNumbers(map[string]*int64{"closeWaitTimeoutSecs": i.CloseWaitTimeoutSecs, "runAsUser": i.RunAsUser, "runAsGroup": i.RunAsGroup}),
	)
}

func (v *NetworkValidator) check() []Finding {
	if v == nil {
		return nil
	}
	found := checkTimes(map[string]*ProxyDuration{"timeout": v.Timeout})
	if v.Timeout != nil && *v.Timeout == "" {
		found = prefixed("timeout", finding("must not be empty"))
	}
	return slices.Concat(prefixed("connectAddr", checkText(v.ConnectAddr, address)), prefixed("listenAddr", checkText(v.ListenAddr, address)),
		prefixed("logLevel", checkText(v.LogLevel, validatorLevel)), prefixed("logFormat", wordAt(v.LogFormat)), found)
}

// wordAt is checkWord for an optional value, which must be a word if it is there.
func wordAt[E enum](value *E) []Finding {
	if value != nil && *value == "" {
		return findingWithHint("write one of its words, or remove the field", "must not be empty")
	}
	return wordOrEmpty(value)
}

// wordOrEmpty is checkWord for an optional value of which Linkerd's own default may be empty, too.
func wordOrEmpty[E enum](value *E) []Finding {
	if value == nil {
		return nil
	}
	return checkWord(*value)
}

func checkTimes(times map[string]*ProxyDuration) (found []Finding) {
	for _, name := range sortedKeys(times) {
		if t := times[name]; t != nil {
			found = append(found, prefixed(name, t.check())...)
		}
	}
	return found
}

func (t ProxyDuration) check() []Finding {
	text := string(t)
	if text == "" {
		return nil
	}
	number := strings.TrimRight(text, "mshd")
	unit := text[len(number):]
	if _, err := strconv.ParseUint(number, 10, 32); err == nil && slices.Contains([]string{"ms", "s", "m", "h", "d"}, unit) {
		return nil
	}
	hint := "write a whole number with ms, s, m, h or d"
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		hint = "write it with one unit, such as " + strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	}
	return findingWithHint(hint, "%q is not a duration that the proxy reads", text)
}

func checkNumbers(numbers map[string]*int64) (found []Finding) {
	for _, name := range sortedKeys(numbers) {
		if n := numbers[name]; n != nil && *n < 0 {
			found = append(found, prefixed(name, finding("%d is negative", *n))...)
		}
	}
	return found
}

// checkPorts checks ports and ranges with commas between them.
func checkPorts(list *PortList) []Finding {
	if list == nil || *list == "" {
		return nil
	}
	for word := range strings.SplitSeq(string(*list), ",") {
		from, to, ranged := strings.Cut(word, "-")
		first, okFirst := portNumber(from)
		last, okLast := portNumber(to)
		if !okFirst || ranged && (!okLast || last < first) {
			return findingWithHint("write ports and ranges with commas between them, such as 25,4000-4010", "%q is not a port or a range of ports", word)
		}
	}
	return nil
}

func portNumber(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && strings.Trim(text, "0123456789") == "" && len(validation.IsValidPortNum(n)) == 0
}

// checkSubnets checks CIDRs with commas between them.
func checkSubnets(list *SubnetList) []Finding {
	if list == nil || *list == "" {
		return nil
	}
	for word := range strings.SplitSeq(string(*list), ",") {
		if _, err := netip.ParsePrefix(word); err != nil {
			return findingWithHint("write networks with commas between them, such as 10.0.0.0/8,192.168.0.0/16", "%q is not a network", word)
		}
	}
	return nil
}

// setByChart reports whether Linkerd's chart sets a variable itself, so that another value would replace identity, trust or policy of a proxy (linkerd2
// charts/partials/templates/_proxy.tpl).
func setByChart(name string) bool {
	const proxy = "LINKERD2_PROXY_"
	for _, prefix := range []string{"_", proxy + "IDENTITY_", proxy + "DESTINATION_", proxy + "POLICY_", proxy + "INBOUND_DEFAULT_POLICY", proxy + "INBOUND_PORTS", proxy + "INBOUND_IPS", proxy + "INBOUND_GATEWAY"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.HasPrefix(name, proxy) && strings.Contains(name, "LISTEN_ADDR")
}

// checkEnv checks names of variables: each is there once, and none is one that Linkerd's chart sets itself.
func checkEnv(vars []EnvVar) (found []Finding) {
	first := map[string]int{}
	for i, v := range vars {
		before, twice := first[v.Name]
		at := strconv.Itoa(i)
		switch wrong := validation.IsEnvVarName(v.Name); {
		case v.Name == "": // the decoder's
		case len(wrong) > 0:
			found = append(found, prefixed(at, prefixed("name", finding("%q is not a name of an environment variable", v.Name)))...)
		case setByChart(v.Name):
			found = append(found, prefixed(at, prefixed("name", finding("Linkerd sets %s itself: another value would change the identity, trust or policy of a proxy", v.Name)))...)
		case twice:
			found = append(found, prefixed(at, findingWithHint("remove one", "%s is declared twice, first in item %d", v.Name, before))...)
		default:
			first[v.Name] = i
		}
	}
	return found
}

// InstallationOnly returns why a value of Linkerd's installation cannot be declared in a ProxyConfig; empty: there is no such value. The path is that
// of the values, such as proxy.ports.
func InstallationOnly(path string) string {
	flags := []string{"linkerdVersion", "clusterDomain", "identityTrustDomain", "clusterNetworks", "cniEnabled", "disableIPv6", "proxy.ports"}
	switch {
	case slices.Contains(flags, path):
		return "the control plane has it as a flag, too: change it with Linkerd's own installation"
	case path == "identityTrustAnchorsPEM":
		return "proxies get their anchors from ConfigMap linkerd-identity-trust-roots: change them with Linkerd's own installation"
	}
	return ""
}
