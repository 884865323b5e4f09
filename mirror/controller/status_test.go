package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

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
