package object

import (
	"encoding/json"
	"fmt"
	"strings"
	"unique"

	exactly "k8s.io/apimachinery/pkg/util/json"
)

// Health is what an object lacks to be ready, in words. Zero: nothing, or nobody judged it. It is comparable, and the same
// words are kept once.
type Health struct{ of unique.Handle[said] }

type said struct {
	words  string
	failed bool
}

// IsZero says that the object is ready, as far as is known.
func (h Health) IsZero() bool { return h == Health{} }

// String is what is missing, or empty.
func (h Health) String() string {
	if h.IsZero() {
		return ""
	}
	return h.of.Value().words
}

// Failed says that whoever makes the object ready has given up: it will not be by waiting.
func (h Health) Failed() bool { return !h.IsZero() && h.of.Value().failed }

func lacks(format string, a ...any) Health {
	return Health{unique.Make(said{fmt.Sprintf(format, a...), false})}
}

func failed(c condition) Health { return Health{unique.Make(said{c.String(), true})} }

// HealthOf judges a live object by its status, as kstatus does (sigs.k8s.io/cli-utils pkg/kstatus/status, core.go and
// generic.go); JSON that it cannot read is not judged. The first of these that is so is told:
//
//	generation above status.observedGeneration    not seen by its controller yet
//	Stalled True                                  failed, as the condition says
//	Reconciling True, Ready or Available not True as the condition says
//	Deployment: progress deadline exceeded        failed, as the condition says
//	Deployment: replicas                          how many are updated, old, available
//	Endpoints                                     NoAddress, NoneReady
//	Lease                                         NoHolder
//
// A condition that an object does not have says nothing.
func HealthOf(kind string, raw []byte) Health {
	if !json.Valid(raw) {
		return Health{}
	}
	return HealthIn(kind, raw)
}

// HealthIn is HealthOf of what is known to be JSON. Of an object it decodes what it judges, which is mostly a small part.
func HealthIn(kind string, raw []byte) Health {
	switch kind {
	case "Endpoints":
		return endpoints(raw)
	case "Lease":
		return lease(raw)
	}
	var o live
	if exactly.Unmarshal(judged(raw), &o) != nil { // a field Status of a custom resource is no status
		return Health{}
	}
	if kind == "Deployment" {
		return o.deployment()
	}
	return o.generic()
}

// judged is what of an object is judged, as JSON.
func judged(raw []byte) []byte {
	out := []byte{'{'}
	take := func(part []byte) {
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
		within, ok := Parts(raw[p.From:p.To])
		switch {
		case p.Name == "status", field != "" && !ok:
			take(raw[p.Begin:p.To])
		case field != "":
			take(raw[p.Begin:p.From])
			out = append(out, '{')
			for _, q := range within {
				if q.Name == field {
					take(raw[p.From+q.Begin : p.From+q.To])
				}
			}
			out = append(out, '}')
		}
	}
	return append(out, '}')
}

// live is what of an object its readiness is read from.
type live struct {
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

const longest = 300 // bytes of a condition that are kept

// String is the condition in words: others wrote it.
func (c condition) String() string {
	out := c.Type + " is " + c.Status
	if c.Reason != "" {
		out += ": " + c.Reason
	}
	if c.Message != "" {
		out += ": " + c.Message
	}
	if len(out) > longest {
		out = strings.ToValidUTF8(out[:longest], "") + "…"
	}
	return out
}

func (o live) condition(kind string) (condition, bool) {
	for _, c := range o.Status.Conditions {
		if c.Type == kind {
			return c, true
		}
	}
	return condition{}, false
}

// unseen: a controller that says what it has seen has not seen the last change.
func (o live) unseen() Health {
	if at := o.Status.ObservedGeneration; at != nil && *at < o.Metadata.Generation {
		return lacks("its controller has not processed the last change yet")
	}
	return Health{}
}

func (o live) generic() Health {
	if h := o.unseen(); !h.IsZero() {
		return h
	}
	if c, ok := o.condition("Stalled"); ok && c.Status == "True" {
		return failed(c)
	}
	if c, ok := o.condition("Reconciling"); ok && c.Status == "True" {
		return lacks("%s", c)
	}
	for _, kind := range []string{"Ready", "Available"} {
		c, ok := o.condition(kind)
		switch {
		case ok && c.Status != "True":
			return lacks("%s", c)
		case ok && c.ObservedGeneration > 0 && c.ObservedGeneration < o.Metadata.Generation:
			return lacks("condition %s is from before the last change", kind)
		}
	}
	return Health{}
}

// deadline is the reason of a Deployment's condition Progressing after spec.progressDeadlineSeconds.
const deadline = "ProgressDeadlineExceeded"

func (o live) deployment() Health {
	if o.Status.ObservedGeneration == nil && o.Metadata.Generation > 0 {
		return lacks("its controller has not processed it yet")
	}
	if h := o.unseen(); !h.IsZero() {
		return h
	}
	if c, ok := o.condition("Progressing"); ok && c.Reason == deadline {
		return failed(c)
	}
	if c, ok := o.condition("ReplicaFailure"); ok && c.Status == "True" {
		return lacks("%s", c)
	}
	return o.replicas()
}

func (o live) replicas() Health {
	want, updated, all, available := int64(1), number(o.Status.Updated), number(o.Status.Replicas), number(o.Status.Available)
	if n, ok := o.Spec.Replicas.(int64); ok {
		want = n
	}
	switch {
	case updated < want:
		return lacks("%d of %d replicas are updated", updated, want)
	case all > updated:
		return lacks("%d old replicas are still there", all-updated)
	case available < want:
		return lacks("%d of %d replicas are available", available, want)
	}
	if c, ok := o.condition("Available"); ok && c.Status != "True" {
		return lacks("%s", c)
	}
	return Health{}
}

// number is zero for what is none.
func number(raw json.RawMessage) (n int64) {
	_ = json.Unmarshal(raw, &n)
	return n
}
