package prune

import (
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// The lease and the probe's Endpoints of their Link are not swept: a controller of theirs leads and probes by the same names.
func TestLeftoversOfForeignLink(t *testing.T) {
	for _, mark := range []object.Mark{object.Unmarked, object.Theirs, object.Copied} {
		m := all()
		m.Pods = nil
		in := input(source, perLink(), m)
		record(&in.Observation, linkKey, object.Record{UID: "x", Mark: mark})
		for _, want := range []string{
			"delete Deployment controller-east; delete PodDisruptionBudget controller-east",
			"delete Service probe-east; delete ServiceAccount controller-east",
			"delete Secret cluster-credentials-east",
		} {
			v := onlyVerdict(t, in, absentPeer())
			if got := summarize(v); got != want {
				t.Errorf("%s: %s, want %s", mark, got, want)
			}
			for _, c := range v.Changes {
				drop(&in.Observation, c.Key)
			}
		}
	}
}

// The lease and the probe's Endpoints are left to whoever may still use them: a controller that is not ours, its pods, a probe
// Service that is not ours. Pods that end are waited for.
func TestLeftoversOfOthers(t *testing.T) {
	swept := linkerd.Mirror{Probe: []object.Key{probeEnds}, Lease: []object.Key{leaseKey}}
	run := swept
	run.Pods = []object.Key{podKey}
	theirs := object.Record{UID: "theirs", ResourceVersion: "1"}
	for name, tt := range map[string]struct {
		mirrors linkerd.Mirror
		live    object.Key
		record  object.Record
		want    string
	}{
		"nobody":       {swept, object.Key{Kind: "Secret", Name: "else"}, theirs, "delete Endpoints probe-east"},
		"a controller": {swept, deploymentKey, theirs, "drop"},
		"its pod":      {run, podKey, theirs, "drop"},
		"a pod ends":   {run, podKey, object.Record{UID: "theirs", Terminating: true}, "wait: controller: 1 not gone yet, the first is " + podKey.String()},
		"a Service":    {swept, probeKey, theirs, "delete Lease service-mirror-write-east"},
		"a Link":       {swept, linkKey, theirs, "drop"},
	} {
		in := input(source, nil, tt.mirrors)
		in.Recorded[0].Leaving = true
		record(&in.Observation, tt.live, tt.record)
		if got := summarize(onlyVerdict(t, in, absentPeer())); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	in := input(source, nil, swept)
	in.WasRead = func(k object.Key) bool { return k != deploymentKey }
	if got := summarize(onlyVerdict(t, in, absentPeer())); got != "drop" {
		t.Errorf("where controllers were not looked for: %s", got)
	}
}
