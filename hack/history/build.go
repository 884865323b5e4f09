package history

import (
	"encoding/json"
	"fmt"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// build makes a cluster that Linkerd and its multicluster extension are installed in, and nothing else.
func build(name api.ClusterName, uid string, at int) *simCluster {
	p := &simCluster{
		name: name, originalName: name, index: at, uid: uid, mc: mc, endedTokens: map[object.Key]string{}, objects: map[object.Key]*simObject{}, sorted: map[kind][]*simObject{},
		linked: map[api.ClusterName]bool{}, relinked: map[api.ClusterName]bool{}, foreign: map[object.Key]bool{}, chartRan: map[api.ClusterName]bool{}, began: map[api.Pair]int{}, lagging: map[object.Key]bool{},
	}
	p.addLinkerd(object.Key{Kind: "Namespace", Name: cp}, nil, nil)
	p.addLinkerd(object.Key{Kind: "Namespace", Name: mc}, nil, nil)
	p.addLinkerd(object.Key{Kind: "Namespace", Name: other}, nil, nil)
	p.addLinkerd(object.Key{Kind: "Namespace", Name: shop}, nil, nil)
	system := object.Key{Kind: "Namespace", Name: "kube-system"}
	p.addLinkerd(system, nil, nil)
	p.objects[system].rec.UID = uid
	for _, role := range []string{linkerd.LocalAccessRole, linkerd.RemoteAccessRole} {
		p.addLinkerd(object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role}, nil, nil)
	}
	p.addLinkerd(object.Key{Kind: "ConfigMap", Namespace: cp, Name: "linkerd-config"}, nil, map[string]any{"data": map[string]string{
		"values": "clusterDomain: cluster.local\nidentityTrustDomain: root.test\nlinkerdVersion: edge-26.6.3\n",
	}})
	p.addLinkerd(object.Key{Kind: "ConfigMap", Namespace: "kube-system", Name: "kube-root-ca.crt"}, nil,
		map[string]any{"data": map[string]string{"ca.crt": "CA of " + string(name)}})
	for _, mc := range []string{mc, other} {
		p.gateway(mc, name, at)
	}
	return p
}

func (p *simCluster) gateway(mc string, name api.ClusterName, at int) {
	p.addLinkerd(object.Key{Kind: "Service", Namespace: mc, Name: "linkerd-gateway"}, map[string]string{
		"mirror.linkerd.io/gateway-identity": "gw." + string(name), "mirror.linkerd.io/probe-path": "/ready", "mirror.linkerd.io/probe-period": "3",
	}, map[string]any{
		"spec": map[string]any{"type": "LoadBalancer", "ports": []any{
			map[string]any{"name": "mc-gateway", "port": 4143}, map[string]any{"name": "mc-probe", "port": 4191},
		}},
		"status": map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": fmt.Sprintf("192.0.2.%d", at+1)}}}},
	})
}

func (p *simCluster) addLinkerd(k object.Key, annotations map[string]string, more map[string]any) {
	t := p.foreignObject(k, nil, more)
	t.ofLinkerd = true
	if annotations != nil {
		t = t.edited(func(o map[string]any) { field(o, "metadata")["annotations"] = annotations })
	}
	p.put(t)
}

// readable reports whether an inventory can be read at all.
func readable(t *simObject) bool {
	var cm struct{ Data map[string]string }
	var inv map[string]any
	return json.Unmarshal(t.body.Bytes(), &cm) == nil && json.Unmarshal([]byte(cm.Data["inventory.json"]), &inv) == nil
}
