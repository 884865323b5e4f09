package linkerd

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unique"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// testObject is one live object of a source.
type testObject struct {
	key    object.Key
	labels map[string]string
	notes  map[string]string
}

func core(kind, ns, name string) object.Key {
	return object.Key{Kind: kind, Namespace: ns, Name: name}
}

func lease(name string) object.Key {
	return object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: mc, Name: name}
}

func of(cluster string, more ...string) map[string]string {
	out := map[string]string{ClusterNameLabel: cluster}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

func observed(t *testing.T, things []testObject) object.Observation {
	t.Helper()
	l := live{t: t}
	for _, x := range things {
		if x.notes == nil {
			x.notes = mirrorObject(x)
		}
		l.put(x.key, map[string]any{"metadata": metav1.ObjectMeta{Labels: x.labels, Annotations: x.notes}})
		e, r := l.seen.Edit(), l.seen.Record(x.key)
		body, _ := l.seen.Body(x.key)
		r.UID, r.ForeignManagers = "uid", unique.Make("controller")
		e.Put(x.key, r, body)
		l.seen = e.Observation()
	}
	return l.seen
}

// mirrorObject are the annotations by which a controller of Linkerd's says what it made a thing for.
func mirrorObject(x testObject) map[string]string {
	target := x.labels[ClusterNameLabel]
	switch service, named := strings.CutSuffix(x.key.Name, "-"+target); {
	case strings.HasPrefix(x.key.Name, "probe-"):
		return map[string]string{RemoteIdentity: ""}
	case named:
		return map[string]string{RemoteServiceName: service + ".shop.svc.cluster.local", RemoteResourceVersion: "1"}
	}
	return nil
}

// Whatever lacks one mark of what a controller of Linkerd's makes is not taken for that, though it has all labels.
func TestMadeByController(t *testing.T) {
	web, probe, federated := core("Service", "shop", "web-east"), core("Endpoints", mc, "probe-east"), core("Service", "shop", "web-federated")
	mirrored, member := of("east", MirroredLabel, "true"), map[string]string{MirroredLabel: "true"}
	fq := func(name string) map[string]string {
		return map[string]string{RemoteServiceName: name, RemoteResourceVersion: "1"}
	}
	lists := map[string]string{RemoteDiscovery: "web@east"}
	tests := []struct {
		name    string
		key     object.Key
		labels  map[string]string
		notes   map[string]string
		manager string
		selects bool
		proven  bool
	}{
		{"a mirror", web, mirrored, fq("web.shop.svc.cluster.local"), "controller", false, true},
		{"of a program of one's own", web, mirrored, fq("web.shop.svc.cluster.local"), "service-mirror", false, true},
		{"one that others wrote, too", web, mirrored, fq("web.shop.svc.cluster.local"), "controller,kubectl-label", false, true},
		{"of a pod", core("Service", "shop", "web-0-east"), mirrored, fq("web-0.web.shop.svc.cluster.local"), "controller", false, true},
		{"Endpoints of a mirror", core("Endpoints", "shop", "web-east"), mirrored, map[string]string{RemoteServiceName: "web.shop.svc"}, "controller", false, true},
		{"labels alone", web, mirrored, map[string]string{}, "controller", false, false},
		{"without a version", web, mirrored, map[string]string{RemoteServiceName: "web.shop.svc"}, "controller", false, false},
		{"a copy under another name", core("Service", "shop", "copy-east"), mirrored, fq("web.shop.svc.cluster.local"), "controller", false, false},
		{"a copy in another namespace", core("Service", "backup", "web-east"), mirrored, fq("web.shop.svc.cluster.local"), "controller", false, false},
		{"of another target", core("Service", "shop", "web-west"), mirrored, fq("web.shop.svc.cluster.local"), "controller", false, false},
		{"one that selects pods", web, mirrored, fq("web.shop.svc.cluster.local"), "controller", true, false},
		{"written by kubectl", web, mirrored, fq("web.shop.svc.cluster.local"), "kubectl-create", false, false},
		{"by a controller of Kubernetes", web, mirrored, fq("web.shop.svc.cluster.local"), "kube-controller-manager", false, false},
		{"by nobody that is known", web, mirrored, fq("web.shop.svc.cluster.local"), "", false, false},
		{"a probe", probe, of("east"), map[string]string{RemoteIdentity: ""}, "controller", false, true},
		{"a probe of somebody's chart", probe, of("east"), map[string]string{}, "helm", false, false},
		{"a probe that a person copied", probe, of("east"), map[string]string{RemoteIdentity: "gw"}, "kubectl-create", false, false},
		{"a lease", lease("service-mirror-write-east"), nil, nil, "controller", false, true},
		{"a lease that a person made", lease("service-mirror-write-east"), nil, nil, "kubectl-create", false, false},
		{"a federated Service", federated, member, lists, "controller", false, true},
		{"one of another name", core("Service", "shop", "web"), member, lists, "controller", false, false},
		{"one that selects pods", federated, member, lists, "controller", true, false},
		{"one that a person made", federated, member, lists, "kubectl-create", false, false},
	}
	for _, tt := range tests {
		l := live{t: t}
		l.put(tt.key, map[string]any{"metadata": metav1.ObjectMeta{Labels: tt.labels, Annotations: tt.notes}})
		body, _ := l.seen.Body(tt.key)
		e := l.seen.Edit()
		e.Put(tt.key, object.Record{UID: "uid", ForeignManagers: unique.Make(tt.manager), HasSelector: tt.selects}, body)
		got := MirrorsOf(api.Cluster{}.WithDefaults().Linkerd, e.Observation())["east"]
		proven := len(got.Services)+len(got.Endpoints)+len(got.Probe)+len(got.Lease)+len(got.Federated) == 1
		if unproven := slices.Equal(got.Unverified, []object.Key{tt.key}); proven != tt.proven || unproven == tt.proven {
			t.Errorf("%s: proven %t, want %t: %+v", tt.name, proven, tt.proven, got)
		}
	}
}

func TestMirrorsOf(t *testing.T) {
	tests := []struct {
		name   string
		things []testObject
		want   map[api.ClusterName]Mirror
	}{
		{"a mirror through the gateway", []testObject{
			{core("Service", "shop", "web-east"), of("east", MirroredLabel, "true"), nil},
			{core("Endpoints", "shop", "web-east"), of("east", MirroredLabel, "true"), nil},
		}, map[api.ClusterName]Mirror{"east": {
			Services: []object.Key{core("Service", "shop", "web-east")}, Endpoints: []object.Key{core("Endpoints", "shop", "web-east")},
		}}},
		{"what `linkerd multicluster link` made", []testObject{
			{core("Endpoints", mc, "probe-gateway-east"), of("east"), nil},
			{core("Endpoints", mc, "probe-gateway-west"), of("east"), nil},
			{core("Pod", mc, "linkerd-service-mirror-east-1"), of("east", ComponentLabel, LegacyComponent), nil},
		}, map[api.ClusterName]Mirror{"east": {
			Probe: []object.Key{core("Endpoints", mc, "probe-gateway-east")}, Pods: []object.Key{core("Pod", mc, "linkerd-service-mirror-east-1")},
		}}},
		{"a mirror of remote discovery", []testObject{
			{core("Service", "shop", "db-east"), of("east", MirroredLabel, "true", RemoteDiscovery, "east"), nil},
		}, map[api.ClusterName]Mirror{"east": {
			Services: []object.Key{core("Service", "shop", "db-east")}, Discovered: []object.Key{core("Service", "shop", "db-east")},
		}}},
		{"the probe, the lease and the pod", []testObject{
			{core("Endpoints", mc, "probe-east"), of("east"), nil},
			{core("Pod", mc, "controller-east-1"), of("east", ComponentLabel, Component), nil},
			{lease("service-mirror-write-east"), nil, nil},
			{lease("local-service-mirror-write"), nil, nil},
		}, map[api.ClusterName]Mirror{"east": {
			Probe: []object.Key{core("Endpoints", mc, "probe-east")}, Pods: []object.Key{core("Pod", mc, "controller-east-1")},
			Lease: []object.Key{lease("service-mirror-write-east")},
		}}},
		{"pods of a shared controller, and of another one of the chart", []testObject{
			{core("Pod", mc, "linkwright-mirror-1"), map[string]string{MirrorLabel: "linkwright", ComponentLabel: Component}, nil},
			{core("Pod", mc, "other-1"), map[string]string{ComponentLabel: Component}, nil},
			{core("Service", "shop", "web"), map[string]string{MirrorLabel: "linkwright"}, nil},
		}, map[api.ClusterName]Mirror{"": {Pods: []object.Key{core("Pod", mc, "linkwright-mirror-1")}}}},
		{"the probe Service, and Endpoints of somebody else's", []testObject{
			{core("Service", mc, "probe-east"), of("east", GatewayLabel, "true"), nil},
			{core("Endpoints", "shop", "probe-east"), of("east"), nil},
			{core("Endpoints", "shop", "web"), nil, nil},
		}, map[api.ClusterName]Mirror{"east": {}}},
		{"a federated service of several clusters", []testObject{{
			core("Service", "shop", "web-federated"),
			map[string]string{MirroredLabel: "true"},
			map[string]string{RemoteDiscovery: "web@east,web@north", LocalDiscovery: "web"},
		}}, map[api.ClusterName]Mirror{
			"east":  {Federated: []Membership{{core("Service", "shop", "web-federated"), "web@north", true}}},
			"north": {Federated: []Membership{{core("Service", "shop", "web-federated"), "web@east", true}}},
		}},
		{"the last remote member, beside a local one", []testObject{{
			core("Service", "shop", "web-federated"),
			map[string]string{MirroredLabel: "true"},
			map[string]string{RemoteDiscovery: "web@east", LocalDiscovery: "web"},
		}}, map[api.ClusterName]Mirror{"east": {Federated: []Membership{{core("Service", "shop", "web-federated"), "", true}}}}},
		{"the last member of all", []testObject{{
			core("Service", "shop", "web-federated"),
			map[string]string{MirroredLabel: "true"},
			map[string]string{RemoteDiscovery: "web@east"},
		}}, map[api.ClusterName]Mirror{"east": {Federated: []Membership{{core("Service", "shop", "web-federated"), "", false}}}}},
		{"clusters whose names end alike", []testObject{{
			core("Service", "shop", "web-federated"),
			map[string]string{MirroredLabel: "true"},
			map[string]string{RemoteDiscovery: "web@east, web@us-east"},
		}}, map[api.ClusterName]Mirror{
			"east":    {Federated: []Membership{{core("Service", "shop", "web-federated"), "web@us-east", true}}},
			"us-east": {Federated: []Membership{{core("Service", "shop", "web-federated"), "web@east", true}}},
		}},
		{"a federated service without members", []testObject{
			{core("Service", "shop", "web-federated"), map[string]string{MirroredLabel: "true"}, nil},
		}, map[api.ClusterName]Mirror{}},
	}
	for _, tt := range tests {
		got := MirrorsOf(api.Cluster{}.WithDefaults().Linkerd, observed(t, tt.things))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}

// TestSharedBinding: the RoleBinding of the shared controller is part of its link, and no other object has such a name.
func TestSharedBinding(t *testing.T) {
	at := api.Cluster{}.WithDefaults().Linkerd
	k := SharedBinding(at, "east")
	for key, shared := range map[object.Key]bool{
		k: true,
		{Group: k.Group, Kind: k.Kind, Namespace: mc, Name: ReadCredentials("east")}: false,
		{Group: k.Group, Kind: "Role", Namespace: mc, Name: k.Name}:                  false,
		{Group: k.Group, Kind: k.Kind, Namespace: "shop", Name: k.Name}:              false,
		{Group: k.Group, Kind: k.Kind, Namespace: mc, Name: Shared("linkwright")}:    false,
	} {
		if IsSharedBinding(at, key) != shared {
			t.Errorf("IsSharedBinding(%s): %t", key, !shared)
		}
	}
	if target, ok := TargetOf(at, k); target != "east" || !ok {
		t.Errorf("TargetOf(%s): %s, %t", k, target, ok)
	}
	if _, ok := BelongsTo(at, k, "east"); !ok {
		t.Errorf("%s cannot be adopted", k)
	}
}

func TestResolvedAndLeft(t *testing.T) {
	k := core("Service", "shop", "x")
	tests := []struct {
		mirror         Mirror
		resolved, left bool
	}{
		{Mirror{}, false, false},
		{Mirror{Services: []object.Key{k}}, false, true},
		{Mirror{Services: []object.Key{k}, Discovered: []object.Key{k}}, true, true},
		{Mirror{Federated: []Membership{{Key: k}}}, true, true},
		{Mirror{Endpoints: []object.Key{k}}, false, true},
		{Mirror{Pods: []object.Key{k}, Probe: []object.Key{k}, Lease: []object.Key{k}}, false, false},
	}
	for _, tt := range tests {
		if got := tt.mirror; len(got.Resolved()) > 0 != tt.resolved || got.HasMirrors() != tt.left {
			t.Errorf("%+v: resolved %v, left %t", tt.mirror, got.Resolved(), got.HasMirrors())
		}
	}
}

func TestSelected(t *testing.T) {
	web, all := core("Service", "shop", "web-east"), core("Service", "shop", "web-federated")
	m := Mirror{Services: []object.Key{web}, Endpoints: []object.Key{core("Endpoints", "shop", "web-east")}, Federated: []Membership{{Key: all}}}
	if diff := cmp.Diff([]object.Key{web, all}, m.Selected()); diff != "" || len(m.Services) != 1 {
		t.Errorf("Selected(%+v): -want +got\n%s", m, diff)
	}
	if got := (Mirror{}).Selected(); len(got) != 0 {
		t.Errorf("Selected() of none: got %v", got)
	}
}

// Whatever the order of what was seen, keys come out sorted.
func TestMirrorsOfIsSorted(t *testing.T) {
	var things []testObject
	for _, name := range []string{"c", "a", "d", "b"} {
		things = append(things,
			testObject{core("Service", "shop", name), of("east", MirroredLabel, "true"), nil},
			testObject{core("Endpoints", "shop", name), of("east", MirroredLabel, "true"), nil},
			testObject{core("Service", "shop", name+"-federated"), map[string]string{MirroredLabel: "true"}, map[string]string{RemoteDiscovery: "x@east"}})
	}
	l := api.Cluster{}.WithDefaults().Linkerd
	want := MirrorsOf(l, observed(t, things))
	for range 20 {
		rand.Shuffle(len(things), func(i, j int) { things[i], things[j] = things[j], things[i] })
		if diff := cmp.Diff(want, MirrorsOf(l, observed(t, things))); diff != "" {
			t.Fatalf("MirrorsOf: -want +got\n%s", diff)
		}
	}
	if !slices.IsSortedFunc(want["east"].Services, object.Key.Compare) {
		t.Errorf("not sorted: %v", want["east"].Services)
	}
}

func TestDrains(t *testing.T) {
	const gateway = `{"selector":{"matchLabels":{"a":"b"}}}`
	const federated = `{"selector":{"matchLabels":{"a":"b"}},"federatedServiceSelector":{"matchLabels":{"c":"d"}}}`
	tests := []struct {
		was, now          string
		drains, discovers bool // discovers: of what was
	}{
		{`{}`, `{}`, false, false},
		{`[]`, `{}`, false, false},
		{`{}`, gateway, false, false},
		{gateway, gateway, false, false},
		{gateway, `{"selector":{"matchLabels":{"x":"y"}}}`, true, false}, // other ones, perhaps
		{gateway, `{}`, true, false},
		{gateway, `{"selector":{}}`, true, false},
		{`{"selector":{"matchExpressions":[{"key":"a","operator":"Exists"}]}}`, `{}`, true, false},
		{federated, gateway, true, true},
		{federated, `{"federatedServiceSelector":{"matchLabels":{"c":"d"}}}`, true, true},
		{`{"remoteDiscoverySelector":{"matchLabels":{"a":"b"}}}`, gateway, true, true},
		{`{"federatedServiceSelector":{}}`, `{}`, false, false},
	}
	for _, tt := range tests {
		was, now := object.NewBody([]byte(`{"spec":`+tt.was+`}`)), object.NewBody([]byte(`{"spec":`+tt.now+`}`))
		if got := SelectorsIn(now).Narrows(SelectorsIn(was)); got != tt.drains {
			t.Errorf("%s narrows %s: %t", tt.now, tt.was, got)
		}
		if got := UsesDiscovery(was); got != tt.discovers {
			t.Errorf("Discovers(%s) = %t", tt.was, got)
		}
	}
	if SelectorsIn(object.Body{}).Narrows(Selectors{}) || UsesDiscovery(object.Body{}) {
		t.Error("nothing selects something")
	}
}

// Pods of both generations of controllers are looked for.
func TestControllerWatches(t *testing.T) {
	for component, want := range map[string]bool{Component: true, LegacyComponent: true, "gateway": false} {
		got := false
		for _, w := range MirrorWatches(api.Cluster{}.WithDefaults().Linkerd) {
			if selector, err := labels.Parse(w.Selector); w.Kind == "Pod" && err == nil {
				got = selector.Matches(labels.Set(of("east", ComponentLabel, component)))
			}
		}
		if got != want {
			t.Errorf("a pod of component %s is looked for: %t", component, got)
		}
	}
}
