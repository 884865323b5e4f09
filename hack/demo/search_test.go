package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
)

func TestMatchers(t *testing.T) {
	link := api.Pair{Source: "west", Target: "east"}
	source, target := sourceMatcher(link), targetMatcher(link)
	tests := []struct {
		name    string
		matcher matcher
		in      metav1.ObjectMeta
		want    bool
	}{
		{"Linkerd Link", source, metav1.ObjectMeta{Namespace: "linkerd-multicluster", Name: "east"}, true},
		{"pod", source, metav1.ObjectMeta{Namespace: "linkerd-multicluster", Name: "controller-east-5d4f-x7k2p"}, true},
		{"inventory", source, metav1.ObjectMeta{Namespace: "linkwright-access", Name: "linkwright.west.east"}, true},
		{"mirror by label", source, metav1.ObjectMeta{Namespace: "shop", Name: "w", Labels: map[string]string{targetLabel: "east"}}, true},
		{"membership", source, metav1.ObjectMeta{Namespace: "shop", Name: "web-federated", Annotations: map[string]string{remoteDiscovery: "web@north,web@east"}}, true},
		{"membership of others", source, metav1.ObjectMeta{Namespace: "shop", Name: "web-federated", Annotations: map[string]string{remoteDiscovery: "web@north,web@northeast"}}, false},
		{"kubeconfig of the target", source, metav1.ObjectMeta{Namespace: "linkwright", Name: "east"}, false},
		{"account of the link in the opposite direction", source, metav1.ObjectMeta{Namespace: "linkwright-access", Name: "linkwright.east-token"}, false},
		{"its binding", source, metav1.ObjectMeta{Name: "linkwright-access.linkwright.east"}, false},
		{"its inventory", source, metav1.ObjectMeta{Namespace: "linkwright-access", Name: "linkwright.east.west"}, false},
		{"another link", source, metav1.ObjectMeta{Namespace: "linkerd-multicluster", Name: "controller-northeast"}, false},
		{"token", target, metav1.ObjectMeta{Namespace: "linkwright-access", Name: "linkwright.west-token"}, true},
		{"binding", target, metav1.ObjectMeta{Name: "linkwright-access.linkwright.west"}, true},
		{"account of another source", target, metav1.ObjectMeta{Namespace: "linkwright-access", Name: "linkwright.north"}, false},
		{"inventory of the link in the opposite direction", target, metav1.ObjectMeta{Namespace: "linkwright-access", Name: "linkwright.east.west"}, false},
	}
	for _, tt := range tests {
		if got := tt.matcher.matches(&tt.in); got != tt.want {
			t.Errorf("%s: on(%s/%s): got %v, want %v", tt.name, tt.in.Namespace, tt.in.Name, got, tt.want)
		}
	}
}
