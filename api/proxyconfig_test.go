package api

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Values that Linkerd's injector would reject, or that no proxy reads, are findings at their field; all others are none.
func TestProxyConfigCheck(t *testing.T) {
	for spec, want := range map[string]string{
		`{"proxy":{"logLevel":"warn","await":false,"cores":0,"accessLog":"apache","image":{"version":""}}}`:                              "",
		`{"proxy":{"shutdownGracePeriod":"90s","inboundConnectTimeout":"","outboundConnectTimeout":"1000ms"}}`:                           "",
		`{"proxy":{"shutdownGracePeriod":"1m30s"}}`:                                                                                      "spec.proxy.shutdownGracePeriod",
		`{"proxy":{"inboundConnectTimeout":"soon"}}`:                                                                                     "spec.proxy.inboundConnectTimeout",
		`{"proxy":{"control":{"streams":{"lifetime":"1"}}}}`:                                                                             "spec.proxy.control.streams.lifetime",
		`{"proxyInit":{"logLevel":"off","image":{"version":""}},"networkValidator":{"logLevel":"true"}}`:                                 "spec.proxyInit.logLevel spec.proxyInit.image.version spec.networkValidator.logLevel",
		`{"proxyInit":{"logLevel":"","logFormat":"","image":{"version":"v2.4.0"}},"networkValidator":{"logLevel":"warn"}}`:               "",
		`{"networkValidator":{"logLevel":"","logFormat":"","timeout":""},"proxyInit":{"iptablesMode":""}}`:                               "spec.proxyInit.iptablesMode spec.networkValidator.logLevel spec.networkValidator.logFormat spec.networkValidator.timeout",
		`{"proxy":{"accessLog":"","logHTTPHeaders":"","image":{"pullPolicy":"","version":"v1@sha256:` + strings.Repeat("0", 64) + `"}}}`: "",
		`{"proxy":{"logFormat":"","defaultInboundPolicy":"","image":{"version":"v1@sha256:00"}}}`:                                        "spec.proxy.image.version spec.proxy.logFormat spec.proxy.defaultInboundPolicy",
		`{"proxy":{"logLevel":" "}}`:                                                                                                               "spec.proxy.logLevel",
		`{"proxy":{"logFormat":"xml"}}`:                                                                                                            "spec.proxy.logFormat",
		`{"proxy":{"logHTTPHeaders":"on"}}`:                                                                                                        "spec.proxy.logHTTPHeaders",
		`{"proxy":{"defaultInboundPolicy":"allow"}}`:                                                                                               "spec.proxy.defaultInboundPolicy",
		`{"proxy":{"opaquePorts":"25,4000-4010"},"proxyInit":{"ignoreInboundPorts":""}}`:                                                           "",
		`{"proxy":{"opaquePorts":"25, 26"}}`:                                                                                                       "spec.proxy.opaquePorts",
		`{"proxyInit":{"ignoreOutboundPorts":"4010-4000"}}`:                                                                                        "spec.proxyInit.ignoreOutboundPorts",
		`{"proxyInit":{"skipSubnets":"10.0.0.0/8,fd00::/8"}}`:                                                                                      "",
		`{"proxyInit":{"skipSubnets":"10.0.0.0"}}`:                                                                                                 "spec.proxyInit.skipSubnets",
		`{"proxyInit":{"runAsUser":-1,"iptablesMode":"ebpf"}}`:                                                                                     "spec.proxyInit.iptablesMode spec.proxyInit.runAsUser",
		`{"proxy":{"cores":-1,"runtime":{"workers":{"minimum":-1,"maximumCPURatio":1.5}}}}`:                                                        "spec.proxy.cores spec.proxy.runtime.workers.minimum spec.proxy.runtime.workers.maximumCPURatio",
		`{"proxy":{"nativeSidecar":true,"waitBeforeExitSeconds":10}}`:                                                                              "spec.proxy.waitBeforeExitSeconds",
		`{"proxy":{"nativeSidecar":true,"waitBeforeExitSeconds":0}}`:                                                                               "",
		`{"proxy":{"resources":{"cpu":{"request":"100m","limit":""},"ephemeral-storage":{"limit":"1Gi"}}}}`:                                        "",
		`{"proxy":{"resources":{"memory":{"request":"much"},"cpu":{"limit":"-1"}}}}`:                                                               "spec.proxy.resources.cpu.limit spec.proxy.resources.memory.request",
		`{"proxy":{"image":{"name":"","version":"a b","pullPolicy":"Sometimes"}}}`:                                                                 "spec.proxy.image.name spec.proxy.image.version spec.proxy.image.pullPolicy",
		`{"debugContainer":{"image":{"name":"a b"}},"networkValidator":{"timeout":"x"}}`:                                                           "spec.networkValidator.timeout spec.debugContainer.image.name",
		`{"proxy":{"additionalEnv":[{"name":"A"},{"name":"A"},{"name":"1 B"}],"experimentalEnv":[{"name":"A","value":"true"}]}}`:                   "spec.proxy.additionalEnv[1] spec.proxy.additionalEnv[2].name",
		`{"proxyInit":{"logLevel":"info\ncommand: [sh]"},"networkValidator":{"logLevel":"debug\nimage: x","connectAddr":"a b"}}`:                   "spec.proxyInit.logLevel spec.networkValidator.connectAddr spec.networkValidator.logLevel",
		`{"proxy":{"image":{"name":"a\rb"},"logLevel":"warn\nx","tracing":{"collector":{"endpoint":"a\nb","meshIdentity":{"namespace":"a: b"}}}}}`: "spec.proxy.image.name spec.proxy.logLevel spec.proxy.tracing.collector.endpoint spec.proxy.tracing.collector.meshIdentity.namespace",
		`{"proxy":{"logLevel":"warn,linkerd=info,linkerd_proxy_http::client[{headers}]=off"}}`:                                                     "",
		`{"proxy":{"additionalEnv":[{"name":"LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS"},{"name":"_l5d_ns"},{"name":"LINKERD2_PROXY_ADMIN_LISTEN_ADDR"},{"name":"LINKERD2_PROXY_OUTBOUND_MAX_IN_FLIGHT"}]}}`: "spec.proxy.additionalEnv[0].name spec.proxy.additionalEnv[1].name spec.proxy.additionalEnv[2].name",
		`{"proxy":{"opaquePorts":"+25","additionalEnv":[]}}`:                                    "spec.proxy.opaquePorts",
		`{"proxy":{"livenessProbe":{"timeoutSeconds":-1},"startupProbe":{"periodSeconds":-1}}}`: "spec.proxy.startupProbe.periodSeconds spec.proxy.livenessProbe.timeoutSeconds",
	} {
		var d ProxyConfigDoc
		if err := json.Unmarshal([]byte(spec), &d.Spec); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, strings.Join(paths(d.Check()), " ")); diff != "" {
			t.Errorf("Check(%s): -want +got\n%s", spec, diff)
		}
	}
}

// A schema and Check agree on whether a field with words may be empty.
func TestProxyConfigEmptyWords(t *testing.T) {
	f, err := Declaration("ProxyConfig")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := f.Find("spec")
	if err != nil {
		t.Fatal(err)
	}
	count := map[bool]int{}
	for _, part := range spec.Fields {
		if part.Name == "rollout" { // an empty word of it is no value, as everywhere but in values of Linkerd
			continue
		}
		eachWord(part, Path{part.Name}, func(f Field, at Path) {
			text := `""`
			for i := range at {
				text = `{"` + at[len(at)-1-i] + `":` + text + `}`
			}
			var d ProxyConfigDoc
			if err := json.Unmarshal([]byte(text), &d.Spec); err != nil {
				t.Fatal(err)
			}
			empty := !slices.Contains(paths(d.Check()), "spec."+at.String())
			if got := slices.Contains(f.schema().Enum, ""); got != empty {
				t.Errorf("%s may be empty: the schema says %t, Check %t", at, got, empty)
			}
			count[empty]++
		})
	}
	if count[true] != 6 || count[false] != 4 {
		t.Errorf("fields that may be empty, and others: %v", count)
	}
}

// eachWord calls do for each field with words below the objects of a field.
func eachWord(f Field, at Path, do func(Field, Path)) {
	if f.Words != nil {
		do(f, at)
	}
	if f.Of != nil || at[0] == "clusters" { // matchExpressions are Kubernetes' own
		return
	}
	for _, below := range f.Fields {
		eachWord(below, append(slices.Clone(at), below.Name), do)
	}
}
