package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/linkwright/linkwright/hack/testbed"
)

// Names, labels and annotations by which Linkerd marks what belongs to a link.
const (
	mirroredLabel   = "mirror.linkerd.io/mirrored-service"
	targetLabel     = "mirror.linkerd.io/cluster-name"
	remoteDiscovery = "multicluster.linkerd.io/remote-discovery"
	credentials     = "cluster-credentials-"
)

// fact is one property of a cluster's links: what is compared is also what is shown.
type fact struct {
	what   string
	values []string // sorted
}

// The facts that the screen shows in columns of their own.
const (
	linkTargets      = "targets of Links"
	mirroredServices = "mirrored Services"
)

// facts sorts every list, so that two results compare.
func facts(lists ...[]string) []fact {
	names := []string{
		linkTargets, "gateways of Links", "running controllers", "Secrets for controllers", "Secrets for linkerd-destination",
		"probe endpoints", mirroredServices, "endpoints of mirrored Services", "members of " + exported + "-federated",
	}
	out := make([]fact, len(names))
	for i, name := range names {
		out[i] = fact{name, slices.Sorted(slices.Values(lists[i]))}
	}
	return out
}

// expected is what a cluster has that is linked to these targets and to nothing else.
func expected(targets []*cluster) []fact {
	var names, gateways, mirrors, members []string
	for _, t := range targets {
		names = append(names, t.Name)
		gateways = append(gateways, t.Gateway)
		mirrors = append(mirrors, exported+"-"+t.Name)
		members = append(members, exported+"@"+t.Name)
	}
	return facts(names, gateways, names, names, names, gateways, mirrors, gateways, members)
}

// readState reads the same facts from the cluster.
func (c *cluster) readState(ctx context.Context) ([]fact, error) {
	links, gateways, err := c.linked(ctx)
	if err != nil {
		return nil, fmt.Errorf("list Links of %s: %w", c.Name, err)
	}
	controllers, err := c.controllers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list controllers of %s: %w", c.Name, err)
	}
	own, err := c.secrets(ctx, testbed.Multicluster)
	if err != nil {
		return nil, fmt.Errorf("list Secrets of %s: %w", c.Name, err)
	}
	destination, err := c.secrets(ctx, testbed.ControlPlane)
	if err != nil {
		return nil, fmt.Errorf("list Secrets of %s: %w", c.Name, err)
	}
	mirrors, members, err := c.mirrors(ctx)
	if err != nil {
		return nil, fmt.Errorf("list mirrors of %s: %w", c.Name, err)
	}
	probes, err := c.addresses(ctx, testbed.Multicluster, "probe-")
	if err != nil {
		return nil, fmt.Errorf("list endpoints of %s: %w", c.Name, err)
	}
	points, err := c.addresses(ctx, shop, exported+"-")
	if err != nil {
		return nil, fmt.Errorf("list endpoints of %s: %w", c.Name, err)
	}
	return facts(links, gateways, controllers, own, destination, probes, mirrors, points, members), nil
}

func (c *cluster) linked(ctx context.Context) (names, gateways []string, err error) {
	list, err := c.links.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	for _, l := range list.Items {
		address, _, err := unstructured.NestedString(l.Object, "spec", "gatewayAddress")
		if err != nil {
			return nil, nil, err
		}
		names, gateways = append(names, l.GetName()), append(gateways, address)
	}
	return names, gateways, nil
}

// controllers returns the targets whose controller is fully available.
func (c *cluster) controllers(ctx context.Context) (up []string, err error) {
	list, err := c.kube.AppsV1().Deployments(testbed.Multicluster).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, d := range list.Items {
		target, ok := strings.CutPrefix(d.Name, "controller-")
		if ok && available(&d) {
			up = append(up, target)
		}
	}
	return up, nil
}

func available(d *appsv1.Deployment) bool {
	s := d.Status
	return s.ObservedGeneration == d.Generation && s.AvailableReplicas > 0 && s.AvailableReplicas == s.Replicas
}

// secrets returns the targets for which a namespace has credentials.
func (c *cluster) secrets(ctx context.Context, namespace string) (targets []string, err error) {
	list, err := c.kube.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, s := range list.Items {
		if target, ok := strings.CutPrefix(s.Name, credentials); ok && len(s.Data["kubeconfig"]) > 0 {
			targets = append(targets, target)
		}
	}
	return targets, nil
}

// mirrors returns the mirrored Services, and the members of the federated one.
func (c *cluster) mirrors(ctx context.Context) (names, members []string, err error) {
	list, err := c.kube.CoreV1().Services("").List(ctx, metav1.ListOptions{LabelSelector: mirroredLabel})
	if err != nil {
		return nil, nil, err
	}
	for _, s := range list.Items {
		if s.Labels[targetLabel] != "" {
			names = append(names, s.Name)
			continue
		}
		members = append(members, strings.FieldsFunc(s.Annotations[remoteDiscovery], func(r rune) bool { return r == ',' })...)
	}
	return names, members, nil
}

// addresses returns the endpoints of the Services with a prefix.
func (c *cluster) addresses(ctx context.Context, namespace, prefix string) (out []string, err error) {
	list, err := c.kube.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, s := range list.Items {
		if !strings.HasPrefix(s.Labels["kubernetes.io/service-name"], prefix) {
			continue
		}
		for _, e := range s.Endpoints {
			out = append(out, e.Addresses...)
		}
	}
	return out, nil
}
