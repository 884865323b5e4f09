package object

import (
	"encoding/json"
	"fmt"
	"strings"
	"unique"

	exactly "k8s.io/apimachinery/pkg/util/json"
)

// Health is why an object is not ready. Zero: it is ready, or its health is not known. It is comparable, and equal values
// share their memory.
type Health struct{ value unique.Handle[finding] }

type finding struct {
	message string
	cause   Cause
	failed  bool
}

// IsZero reports whether the object is ready as far as is known.
func (h Health) IsZero() bool { return h == Health{} }

// String is the message, or empty.
func (h Health) String() string {
	if h.IsZero() {
		return ""
	}
	return h.value.Value().message
}

// Failed reports whether the object's controller has given up: waiting does not help.
func (h Health) Failed() bool { return !h.IsZero() && h.value.Value().failed }

// Cause is OtherCause unless the object is Endpoints or a Lease that is not ready.
func (h Health) Cause() Cause {
	if h.IsZero() {
		return OtherCause
	}
	return h.value.Value().cause
}

func notReady(format string, a ...any) Health {
	return Health{unique.Make(finding{message: fmt.Sprintf(format, a...)})}
}

func notReadyFor(c Cause) Health { return Health{unique.Make(finding{message: c.String(), cause: c})} }

func failed(c condition) Health {
	return Health{unique.Make(finding{message: c.String(), failed: true})}
}

// HealthOf computes a live object's health from its status, as kstatus does (sigs.k8s.io/cli-utils pkg/kstatus/status, core.go
// and generic.go). JSON that it cannot read gives the zero value. The first row that applies counts:
//
//	generation above status.observedGeneration    not processed by its controller yet
//	Stalled True                                  failed, with the condition's message
//	Reconciling True, Ready or Available not True with the condition's message
//	Deployment: progress deadline exceeded        failed, with the condition's message
//	Deployment: replicas                          how many are updated, old, available
//	Endpoints                                     NoAddress, NoneReady
//	Lease                                         NoHolder
//
// An absent condition does not count.
func HealthOf(kind string, raw []byte) Health {
	if !json.Valid(raw) {
		return Health{}
	}
	return HealthIn(kind, raw)
}

// HealthIn is HealthOf for what is known to be JSON. It decodes only the fields that it needs.
func HealthIn(kind string, raw []byte) Health {
	switch kind {
	case "Endpoints":
		return endpoints(raw)
	case "Lease":
		return lease(raw)
	}
	var o liveObject
	if exactly.Unmarshal(judgedFields(raw), &o) != nil { // a field Status of a custom resource is no status
		return Health{}
	}
	if kind == "Deployment" {
		return o.deployment()
	}
	return o.generic()
}

// judgedFields are the fields of an object that its health depends on, as JSON.
func judgedFields(raw []byte) []byte {
	out := []byte{'{'}
	add := func(part []byte) {
		if len(out) > 1 && out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		out = append(out, part...)
	}
	parts, ok := Parts(raw)
	if !ok {
		return raw
	}
	for _, p := range parts {
		field := map[string]string{"metadata": "generation", "spec": "replicas"}[p.Name]
		members, ok := Parts(raw[p.From:p.To])
		switch {
		case p.Name == "status", field != "" && !ok:
			add(raw[p.Begin:p.To])
		case field != "":
			add(raw[p.Begin:p.From])
			out = append(out, '{')
			for _, q := range members {
				if q.Name == field {
					add(raw[p.From+q.Begin : p.From+q.To])
				}
			}
			out = append(out, '}')
		}
	}
	return append(out, '}')
}

// liveObject has the fields of an object that its health depends on.
type liveObject struct {
	Metadata struct {
		Generation int64 `json:"generation"`
	} `json:"metadata"`
	Spec struct {
		Replicas any `json:"replicas"` // a number in a Deployment; anything elsewhere
	} `json:"spec"`
	Status struct {
		ObservedGeneration *int64          `json:"observedGeneration"`
		Conditions         []condition     `json:"conditions"`
		Replicas           json.RawMessage `json:"replicas"`
		Updated            json.RawMessage `json:"updatedReplicas"`
		Available          json.RawMessage `json:"availableReplicas"`
	} `json:"status"`
}

type condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

const maxConditionBytes = 300 // bytes of a condition that are kept

// String is the condition as a message. Others wrote its text, so it is bounded.
func (c condition) String() string {
	out := c.Type + " is " + c.Status
	if c.Reason != "" {
		out += ": " + c.Reason
	}
	if c.Message != "" {
		out += ": " + c.Message
	}
	if len(out) > maxConditionBytes {
		out = strings.ToValidUTF8(out[:maxConditionBytes], "") + "…"
	}
	return out
}

func (o liveObject) condition(kind string) (condition, bool) {
	for _, c := range o.Status.Conditions {
		if c.Type == kind {
			return c, true
		}
	}
	return condition{}, false
}

// notObserved is zero unless status.observedGeneration lags behind.
func (o liveObject) notObserved() Health {
	if at := o.Status.ObservedGeneration; at != nil && *at < o.Metadata.Generation {
		return notReady("its controller has not processed the last change yet")
	}
	return Health{}
}

func (o liveObject) generic() Health {
	if h := o.notObserved(); !h.IsZero() {
		return h
	}
	if c, ok := o.condition("Stalled"); ok && c.Status == "True" {
		return failed(c)
	}
	if c, ok := o.condition("Reconciling"); ok && c.Status == "True" {
		return notReady("%s", c)
	}
	for _, kind := range []string{"Ready", "Available"} {
		c, ok := o.condition(kind)
		switch {
		case ok && c.Status != "True":
			return notReady("%s", c)
		case ok && c.ObservedGeneration > 0 && c.ObservedGeneration < o.Metadata.Generation:
			return notReady("condition %s is from before the last change", kind)
		}
	}
	return Health{}
}

// progressDeadlineExceeded is the reason of a Deployment's condition Progressing after spec.progressDeadlineSeconds.
const progressDeadlineExceeded = "ProgressDeadlineExceeded"

func (o liveObject) deployment() Health {
	if o.Status.ObservedGeneration == nil && o.Metadata.Generation > 0 {
		return notReady("its controller has not processed it yet")
	}
	if h := o.notObserved(); !h.IsZero() {
		return h
	}
	if c, ok := o.condition("Progressing"); ok && c.Reason == progressDeadlineExceeded {
		return failed(c)
	}
	if c, ok := o.condition("ReplicaFailure"); ok && c.Status == "True" {
		return notReady("%s", c)
	}
	return o.replicas()
}

func (o liveObject) replicas() Health {
	want, updated, all, available := int64(1), number(o.Status.Updated), number(o.Status.Replicas), number(o.Status.Available)
	if n, ok := o.Spec.Replicas.(int64); ok {
		want = n
	}
	switch {
	case updated < want:
		return notReady("%d of %d replicas are updated", updated, want)
	case all > updated:
		return notReady("%d old replicas are still there", all-updated)
	case available < want:
		return notReady("%d of %d replicas are available", available, want)
	}
	if c, ok := o.condition("Available"); ok && c.Status != "True" {
		return notReady("%s", c)
	}
	return Health{}
}

// number is zero for what is none.
func number(raw json.RawMessage) (n int64) {
	_ = json.Unmarshal(raw, &n)
	return n
}
