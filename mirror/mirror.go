// Package mirror decides what a source must hold for the Services that the targets of its links export: mirror Services with their Endpoints, and
// federated Services. What clients see follows linkerd2 multicluster/service-mirror at version 2.20. It reads and writes nothing: State goes in, a
// Plan comes out.
package mirror

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/render/linkerd"
)

// Linkerd writes Endpoints; Kubernetes copies them into EndpointSlices, which Linkerd reads.
type (
	endpoints = corev1.Endpoints      //nolint:staticcheck // what Linkerd's clients read
	subset    = corev1.EndpointSubset //nolint:staticcheck // what Linkerd's clients read
)

// State is all that is known of one exported Service: in the source, and in the target of every link. The Service has the same namespace and name in
// all clusters. What links make of it in the source is decided together.
type State struct {
	Name   types.NamespacedName // of the Service in the targets
	Links  []Link               // of the source, by name
	Source Source
}

// Link is a Linkerd Link, and what its target holds of the Service.
type Link struct {
	Name    string // of the Link: also of its target
	Created time.Time
	Spec    linkerd.LinkSpec
	// Headless: the named addresses of a headless Service get Services of their own (-enable-headless-services).
	Headless bool
	// Synced: the target has been read. Until then, everything that the link made stays.
	Synced    bool
	Service   *corev1.Service // nil: the target has none
	Endpoints *endpoints      // nil: the target has none
	Gateway   Gateway
}

// Gateway is the gateway of a target, as last seen.
type Gateway struct {
	Addresses []string // IP addresses of the Link's gatewayAddress, in order
	Err       error    // its names cannot be resolved
	Dead      bool     // it does not answer probes
}

// Source is what the source holds that concerns the Service.
type Source struct {
	Namespace bool // the namespace exists
	// CreateNamespaces: a namespace that is missing is created (-enable-namespace-creation).
	CreateNamespaces bool
	// Objects of the namespace, by their names: all mirrors of the Service, and whatever has a name that one of them would have.
	Services  map[string]*corev1.Service
	Endpoints map[string]*endpoints
	// Local is the source's own Service of that namespace and name; nil: there is none.
	Local *corev1.Service
	// LocalMirror: Linkerd's local mirror runs. The membership of the source's own Service is then left to it.
	LocalMirror bool
}

// Plan is what makes the source right.
type Plan struct {
	Writes   []Write  // in the order in which they are done
	Statuses []Status // for the status of the Links, in the order of State.Links; a Service that is not listed is not mirrored, and has none
}

// Action is what a write does.
type Action string

// Actions.
const (
	Create Action = "create"
	Update Action = "update" // has the resourceVersion of what it replaces
	Delete Action = "delete" // has the UID and the resourceVersion of what it deletes
)

// Write is one write: of a Service, its Endpoints, or a Namespace.
type Write struct {
	Action Action
	Object runtime.Object
}

// Status is how a Service is mirrored for a link. It is for one of the two lists of the Link's status, mirrorServices and federatedServices.
type Status struct {
	Link      string
	Federated bool
	Reason    Reason
	Message   string // empty if it is mirrored
	Local     string // the Service in the source that it is mirrored as; empty: none
	// Skipped: an Event on the Service in the target says that it is not mirrored, and why.
	Skipped bool
}

// Reason is the reason of the condition Mirrored, which is True with the first of them alone.
type Reason string

// Reasons. All but the last are Linkerd's.
const (
	Mirrored         Reason = "Mirrored"
	InvalidService   Reason = "InvalidService"
	MissingNamespace Reason = "MissingNamespace"
	Failed           Reason = "Error"
	ObjectExists     Reason = "ObjectExists" // something else has the name of the mirror
)

// Reconcile returns what makes the source right. It depends on nothing but the State.
func Reconcile(s State) Plan {
	var p Plan
	if first := slices.IndexFunc(s.Links, Link.isSelected); first >= 0 && !s.Source.Namespace && s.Source.CreateNamespaces {
		p.Writes = append(p.Writes, Write{Create, s.namespace(s.Links[first])})
		s.Source.Namespace = true
	}
	for _, l := range s.Links {
		if l.Synced {
			p.add(s.mirror(l))
		}
	}
	p.add(s.federate())
	return p
}

func (p *Plan) add(more Plan) {
	p.Writes = append(p.Writes, more.Writes...)
	p.Statuses = append(p.Statuses, more.Statuses...)
}
