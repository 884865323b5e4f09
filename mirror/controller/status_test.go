package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/linkwright/linkwright/mirror"
)

// TestNextStatus: what is known replaces what was listed, and what is not known yet stays. A condition keeps its time until it becomes another one.
func TestNextStatus(t *testing.T) {
	const before = "2026-01-01T00:00:00Z"
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	entry := func(name, status, reason, message, at, local string) serviceStatus {
		c := condition{Type: "Mirrored", Status: status, Reason: reason, Message: message, LastTransitionTime: at}
		if local != "" {
			c.LocalRef = service("shop", local)
		}
		return serviceStatus{ControllerName: "linkerd.io/service-mirror", RemoteRef: *service("shop", name), Conditions: []condition{c}}
	}
	was := linkStatus{MirrorServices: []serviceStatus{
		entry("failed", "False", "Error", "x", before, ""), entry("gone", "True", "Mirrored", "", before, "gone-east"),
		entry("unknown", "True", "Mirrored", "", before, "unknown-east"), entry("worse", "False", "Error", "x", before, ""),
	}}
	known := map[types.NamespacedName][]mirror.Status{
		{Namespace: "shop", Name: "failed"}: {{Link: "east", Reason: mirror.Mirrored, Local: "failed-east"}},
		{Namespace: "shop", Name: "gone"}:   nil,
		{Namespace: "shop", Name: "worse"}:  {{Link: "east", Reason: mirror.ObjectExists, Message: "y"}},
		{Namespace: "shop", Name: "both"}:   {{Link: "east", Reason: mirror.Mirrored, Local: "both-east"}, {Link: "east", Federated: true, Reason: mirror.Mirrored, Local: "both-federated"}},
	}
	later := now.Format(time.RFC3339)
	want := linkStatus{
		MirrorServices: []serviceStatus{
			entry("both", "True", "Mirrored", "", later, "both-east"), entry("failed", "True", "Mirrored", "", later, "failed-east"),
			entry("unknown", "True", "Mirrored", "", before, "unknown-east"), entry("worse", "False", "ObjectExists", "y", before, ""),
		},
		FederatedServices: []serviceStatus{entry("both", "True", "Mirrored", "", later, "both-federated")},
	}
	got := was.next(known, now)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("next: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(got, got.next(known, now.Add(time.Hour))); diff != "" {
		t.Errorf("next of what is as it should be: -want +got\n%s", diff)
	}
	empty := linkStatus{}.next(nil, now)
	if empty.MirrorServices == nil || empty.FederatedServices == nil {
		t.Error("an empty list is null in the patch, which would change nothing")
	}
}

// TestRecord: a Service that a link does not mirror leaves nothing behind, unless the Link's status lists it. What another process adds to the status is
// looked at, unless this one knows of it.
func TestRecord(t *testing.T) {
	listed, other := types.NamespacedName{Namespace: "shop", Name: "listed"}, types.NamespacedName{Namespace: "shop", Name: "other"}
	status := linkStatus{MirrorServices: []serviceStatus{{RemoteRef: *service("shop", "listed")}}}
	c := &Controller{linkKeys: workqueue.NewTypedRateLimitingQueue(backOff[string]())}
	defer c.linkKeys.ShutDown()
	l := &target{Controller: c, name: "east", link: link{Status: status}, results: map[types.NamespacedName][]mirror.Status{}}
	if got := l.addedByOthers(linkStatus{}, status); len(got) != 1 || got[0] != listed {
		t.Errorf("added by others: %v", got)
	}
	if got := l.addedByOthers(status, status); len(got) != 0 {
		t.Errorf("added by others, although nothing was: %v", got)
	}
	l.record(other, nil, nil)
	if len(l.results) != 0 || !l.unwritten.IsZero() {
		t.Errorf("a Service that is not mirrored: %v, unwritten since %s", l.results, l.unwritten)
	}
	l.record(listed, nil, nil)
	if _, known := l.results[listed]; !known || l.unwritten.IsZero() {
		t.Errorf("a Service that the status lists: %v, unwritten since %s", l.results, l.unwritten)
	}
	if got := l.addedByOthers(linkStatus{}, status); len(got) != 0 {
		t.Errorf("added by others, although it is known: %v", got)
	}
	if got := l.link.Status.next(l.results, time.Now()); len(got.MirrorServices) != 0 {
		t.Errorf("the next status lists %v", got.MirrorServices)
	}
}

// TestDecodeLink: a Link is decoded once. A field that cannot be read is an error of the Link, and not of the cache.
func TestDecodeLink(t *testing.T) {
	read := func(spec map[string]any) *cachedLink {
		t.Helper()
		once, err := decodeLink(&unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"namespace": "linkerd-multicluster", "name": "east", "resourceVersion": "7", "managedFields": []any{}}, "spec": spec,
		}})
		if err != nil {
			t.Fatal(err)
		}
		twice, err := decodeLink(once)
		if err != nil || twice != once {
			t.Fatalf("decoded again: %v, %v", twice, err)
		}
		return once.(*cachedLink)
	}
	good := read(map[string]any{"targetClusterName": "east", "gatewayPort": "4143"})
	if good.err != nil || good.GetName() != "east" || good.link.Metadata.ResourceVersion != "7" || good.link.Spec.TargetClusterName != "east" {
		t.Errorf("%+v", good)
	}
	if bad := read(map[string]any{"targetClusterName": []any{}}); bad.err == nil || bad.GetName() != "east" || bad.GetNamespace() != "linkerd-multicluster" {
		t.Errorf("%+v", bad)
	}
}
