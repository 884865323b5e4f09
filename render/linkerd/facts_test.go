package linkerd

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

const (
	cp = api.DefaultNamespace
	mc = api.DefaultMulticlusterNamespace
)

// live is an observation in the making.
type live struct {
	t    *testing.T
	seen object.Observation
}

func (l *live) put(k object.Key, body any) {
	l.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		l.t.Fatal(err)
	}
	e := l.seen.Edit()
	e.Put(k, object.Record{UID: "uid of " + k.Name, ResourceVersion: "1"}, object.NewBody(b))
	l.seen = e.Observation()
}

func (l *live) remove(k object.Key) {
	e := l.seen.Edit()
	e.Drop(k)
	l.seen = e.Observation()
}

var (
	configKey  = object.Key{Kind: "ConfigMap", Namespace: cp, Name: config}
	rootKey    = object.Key{Kind: "ConfigMap", Namespace: kubeSystem, Name: rootCA}
	gatewayKey = object.Key{Kind: "Service", Namespace: mc, Name: "linkerd-gateway"}
)

func roleKey(name string) object.Key {
	return object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: name}
}

func namespaceKey(name string) object.Key { return object.Key{Kind: "Namespace", Name: name} }

// installed is a cluster that lacks nothing.
func installed(t *testing.T) *live {
	l := &live{t: t}
	for _, ns := range []string{kubeSystem, cp, mc} {
		l.put(namespaceKey(ns), nil)
	}
	l.put(roleKey(LocalAccessRole), nil)
	l.put(roleKey(RemoteAccessRole), nil)
	l.config("clusterDomain: cluster.local\nidentityTrustDomain: root.test\nlinkerdVersion: edge-26.6.3\n")
	l.put(rootKey, corev1.ConfigMap{Data: map[string]string{"ca.crt": "CA"}})
	l.put(gatewayKey, service(nil))
	return l
}

func (l *live) config(values string) {
	l.put(configKey, corev1.ConfigMap{Data: map[string]string{"values": values}})
}

// service is the gateway's, changed.
func service(change func(*corev1.Service)) corev1.Service {
	s := corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			gatewayIdentity: "gw.identity", probePath: "/ready", probePeriod: "3",
		}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{
			{Name: portGateway, Port: 4143, NodePort: 30143}, {Name: portProbe, Port: 4191, NodePort: 30191},
		}},
		Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.10"}}}},
	}
	if change != nil {
		change(&s)
	}
	return s
}

func read(l *live, c api.Cluster) Facts {
	return FactsOf(c.WithDefaults(), "https://own.example.com:6443", l.seen)
}

func TestFactsOf(t *testing.T) {
	want := Facts{
		UID: "uid of kube-system", Version: "edge-26.6.3",
		Domains: Domains{Cluster: "cluster.local", Trust: "root.test"},
		Gateway: Gateway{Addresses: []string{"192.0.2.10"}, Port: "4143", Identity: "gw.identity", Probe: Probe{"/ready", "4191", "3s"}},
		API:     Endpoint{Server: "https://own.example.com:6443", CA: "CA"},
	}
	if diff := cmp.Diff(want, read(installed(t), api.Cluster{})); diff != "" {
		t.Errorf("FactsOf(installed): -want +got\n%s", diff)
	}
}

// What the gateway's Service says, and what is declared, which wins.
func TestFactsOfGateway(t *testing.T) {
	off := false
	ingress := func(in ...corev1.LoadBalancerIngress) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = in }
	}
	tests := []struct {
		name     string
		service  func(*corev1.Service)
		declared api.Gateway
		want     string // addresses port identity path port period
	}{
		{"load balancer", nil, api.Gateway{}, "[192.0.2.10] 4143 gw.identity /ready 4191 3s"},
		{"host name", ingress(corev1.LoadBalancerIngress{Hostname: "lb.test"}), api.Gateway{}, "[lb.test] 4143 gw.identity /ready 4191 3s"},
		{"IP before host name", ingress(corev1.LoadBalancerIngress{IP: "192.0.2.1", Hostname: "lb.test"}), api.Gateway{}, "[192.0.2.1] 4143 gw.identity /ready 4191 3s"},
		{
			"several", ingress(corev1.LoadBalancerIngress{IP: "192.0.2.1"}, corev1.LoadBalancerIngress{}, corev1.LoadBalancerIngress{Hostname: "lb.test"}),
			api.Gateway{},
			"[192.0.2.1 lb.test] 4143 gw.identity /ready 4191 3s",
		},
		{
			"node port", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort },
			api.Gateway{Addresses: []string{"192.0.2.9"}},
			"[192.0.2.9] 30143 gw.identity /ready 30191 3s",
		},
		{
			"declared", nil,
			api.Gateway{Addresses: []string{"gw.test"}, Port: 443, Identity: "other", Probe: api.Probe{Path: "/live", Port: 81, Period: "9s"}},
			"[gw.test] 443 other /live 81 9s",
		},
		{"disabled", nil, api.Gateway{Enabled: &off, Port: 443}, "disabled"},
		{"period as duration", func(s *corev1.Service) { s.Annotations[probePeriod] = "1m30s" }, api.Gateway{}, "[192.0.2.10] 4143 gw.identity /ready 4191 1m30s"},
	}
	for _, tt := range tests {
		l := installed(t)
		l.put(gatewayKey, service(tt.service))
		f := read(l, api.Cluster{Gateway: tt.declared})
		g := f.Gateway
		got := fmt.Sprint(g.Addresses, " ", g.Port, " ", g.Identity, " ", g.Probe.Path, " ", g.Probe.Port, " ", g.Probe.Period)
		if g.Disabled {
			got = "disabled"
		}
		if got != tt.want || len(f.Missing) > 0 {
			t.Errorf("%s: %s, want %s; missing %v", tt.name, got, tt.want, f.Missing)
		}
	}
}

// A period of zero would make Linkerd's controller panic.
func TestPeriodOf(t *testing.T) {
	for in, want := range map[string]string{
		"3": "3s", "3s": "3s", "1500ms": "1500ms", "0": "", "0s": "", "-3": "", "-1s": "", "": "", "3 s": "", "soon": "", "99999999999": "",
	} {
		if got := periodOf(in); got != want {
			t.Errorf("periodOf(%q) = %q, want %q", in, got, want)
		}
	}
}

// Each missing piece, the role it is missing for, its code, and words that help.
func TestFactsOfMissing(t *testing.T) {
	gateway := func(change func(*corev1.Service)) func(*live) {
		return func(l *live) { l.put(gatewayKey, service(change)) }
	}
	without := func(k object.Key) func(*live) { return func(l *live) { l.remove(k) } }
	const both = "source target"
	tests := []struct {
		name  string
		do    func(*live)
		roles string
		words string // of the first reason
	}{
		{"control plane's namespace", without(namespaceKey(cp)), both, "LinkerdNotInstalled namespace linkerd is missing"},
		{"multicluster namespace", without(namespaceKey(mc)), both, "LinkerdNotInstalled namespace linkerd-multicluster is missing"},
		{"Link not served", func(l *live) { l.seen.Unserved = nil }, "", ""},
		{"local role", without(roleKey(LocalAccessRole)), "source", "LinkerdNotInstalled ClusterRole " + LocalAccessRole},
		{"remote role", without(roleKey(RemoteAccessRole)), "target", "LinkerdNotInstalled ClusterRole " + RemoteAccessRole},
		{"configuration", without(configKey), both, "LinkerdNotInstalled ConfigMap linkerd/linkerd-config is missing"},
		{"configuration of another kind", func(l *live) { l.config("a: b: c") }, both, "LinkerdConfigInvalid"},
		{"no domain", func(l *live) { l.config("linkerdVersion: x\nidentityTrustDomain: y\n") }, "target", "LinkerdConfigInvalid clusterDomain"},
		{"no version", func(l *live) { l.config("clusterDomain: x\n") }, "source", "LinkerdConfigInvalid linkerdVersion"},
		{"CA", without(rootKey), "target", "ClusterCAMissing kube-root-ca.crt"},
		{"CA without a key", func(l *live) { l.put(rootKey, corev1.ConfigMap{}) }, "target", "ClusterCAMissing ca.crt"},
		{"gateway", without(gatewayKey), "target", "GatewayIncomplete is missing enabled: false"},
		{"no address", gateway(func(s *corev1.Service) { s.Status = corev1.ServiceStatus{} }), "target", "GatewayIncomplete spec.gateway.addresses"},
		{"no gateway port", gateway(func(s *corev1.Service) { s.Spec.Ports = s.Spec.Ports[1:] }), "target", "GatewayIncomplete spec.gateway.port mc-gateway"},
		{"no identity", gateway(func(s *corev1.Service) { delete(s.Annotations, gatewayIdentity) }), "target", "GatewayIncomplete spec.gateway.identity"},
		{"no probe path", gateway(func(s *corev1.Service) { delete(s.Annotations, probePath) }), "target", "GatewayIncomplete spec.gateway.probe.path"},
		{"no probe port", gateway(func(s *corev1.Service) { s.Spec.Ports = s.Spec.Ports[:1] }), "target", "GatewayIncomplete spec.gateway.probe.port mc-probe"},
		{"no probe period", gateway(func(s *corev1.Service) { delete(s.Annotations, probePeriod) }), "target", "GatewayIncomplete spec.gateway.probe.period"},
		{"probe period of zero", gateway(func(s *corev1.Service) { s.Annotations[probePeriod] = "0" }), "target", "GatewayIncomplete spec.gateway.probe.period"},
		{"node port not given yet", gateway(func(s *corev1.Service) {
			s.Spec.Type = corev1.ServiceTypeNodePort
			s.Spec.Ports[0].NodePort = 0
		}), "target", "GatewayIncomplete spec.gateway.port"},
	}
	for _, tt := range tests {
		l := installed(t)
		tt.do(l)
		roles, why := lacks(read(l, api.Cluster{}))
		if roles != tt.roles {
			t.Errorf("%s: missing for %q, want %q", tt.name, roles, tt.roles)
		}
		for word := range strings.FieldsSeq(tt.words) {
			if !strings.Contains(why, word) {
				t.Errorf("%s: %q does not say %q", tt.name, why, word)
			}
		}
	}
}

func lacks(f Facts) (roles, why string) {
	var out []string
	for _, r := range []Role{AsSource, AsTarget} {
		if lack := f.MissingFor(r); lack != nil {
			out = append(out, string(r))
			why = string(lack.Code) + " " + lack.Message
		}
	}
	return strings.Join(out, " "), why
}

// The address peers use: the declared one, else our own where it means something to them.
func TestFactsOfEndpoint(t *testing.T) {
	secret := api.Access{KubeconfigSecret: &api.SecretKey{Name: "east"}}
	tests := []struct {
		access            api.Access
		declared, own     string
		server, missingOf string
	}{
		{secret, "", "https://east.test:6443", "https://east.test:6443", ""},
		{secret, "https://peers.test", "https://east.test:6443", "https://peers.test", ""},
		{secret, "", "https://127.0.0.1:6443", "https://127.0.0.1:6443", "APIServerAddressInvalid"},
		{secret, "", "https://127.8.8.8:6443", "https://127.8.8.8:6443", "APIServerAddressInvalid"},
		{secret, "", "https://[::1]:6443", "https://[::1]:6443", "APIServerAddressInvalid"},
		{secret, "", "https://0.0.0.0:6443", "https://0.0.0.0:6443", "APIServerAddressInvalid"},
		{secret, "", "https://LOCALHOST:6443", "https://LOCALHOST:6443", "APIServerAddressInvalid"},
		{secret, "", "https://k.localhost:6443", "https://k.localhost:6443", "APIServerAddressInvalid"},
		{secret, "", "https://127.example.com", "https://127.example.com", ""},
		{secret, "https://peers.test", "https://127.0.0.1:6443", "https://peers.test", ""},
		{api.Access{InCluster: true}, "", "https://10.0.0.1:443", "https://10.0.0.1:443", "APIServerAddressInvalid"},
		{api.Access{InCluster: true}, "https://peers.test", "https://10.0.0.1:443", "https://peers.test", ""},
	}
	for _, tt := range tests {
		f := FactsOf(api.Cluster{Access: tt.access, APIServer: tt.declared}.WithDefaults(), tt.own, installed(t).seen)
		got := ""
		if why := f.MissingFor(AsTarget); why != nil {
			got = string(why.Code)
		}
		if f.API.Server != tt.server || got != tt.missingOf || f.MissingFor(AsSource) != nil {
			t.Errorf("%s, declared %q: %s, lacks %q, want %s, %q", tt.own, tt.declared, f.API.Server, got, tt.server, tt.missingOf)
		}
	}
}

// A facts file is strict, and what is written down is read back.
func TestParseFacts(t *testing.T) {
	want := read(installed(t), api.Cluster{})
	b, err := json.Marshal(map[string]Facts{"east": want})
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseFacts(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[api.ClusterName]Facts{"east": want}, got); diff != "" {
		t.Errorf("ParseFacts: -want +got\n%s", diff)
	}
	for _, bad := range []string{"east: {gatway: {}}", "east: []", "\t", "east: {anchors: [{fingerprint: abc}]}", "east: {anchors: [{fingerprint: " + strings.Repeat("x", 64) + "}]}"} {
		if _, err := ParseFacts([]byte(bad)); err == nil {
			t.Errorf("ParseFacts(%q): no error", bad)
		}
	}
}

// All that facts are read from is looked for.
func TestWatchesCoverFacts(t *testing.T) {
	l := installed(t)
	for k := range l.seen.Records() {
		found := false
		for _, w := range Watches(api.Cluster{}.WithDefaults()) {
			if w.Kind != k.Kind || w.Namespace != k.Namespace {
				continue
			}
			for _, name := range w.Names {
				found = found || name == k.Name
			}
		}
		if !found {
			t.Errorf("Watches: nobody looks for %s", k)
		}
	}
	off := false
	for _, w := range Watches(api.Cluster{Gateway: api.Gateway{Enabled: &off}}.WithDefaults()) {
		if w.Kind == "Service" {
			t.Error("Watches: a disabled gateway is looked for")
		}
	}
}
