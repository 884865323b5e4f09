// Package object has linkwright's types for Kubernetes objects: desired and live ones, watches, changes, and observations.
package object

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/api"

	"github.com/linkwright/linkwright/object/reason"
)

// Names of linkwright's labels and annotations on live objects. They are a persisted format: never change them.
const (
	OwnerLabel       = "linkwright.dev/owner"
	DigestAnnotation = "linkwright.dev/digest"
	PruneAnnotation  = "linkwright.dev/prune"
	PausedAnnotation = "linkwright.dev/paused"
	// RolloutAnnotation with the value RolloutPaused, on the inventory of a base, stops restarts of workloads in its cluster.
	RolloutAnnotation = "linkwright.dev/rollout"
	RolloutPaused     = "paused"
	PruneDisabled     = "disabled"
	// AccessNamespace is linkwright's namespace in every cluster, with accounts of sources and inventories. It is created
	// if it is missing, and never deleted.
	AccessNamespace = "linkwright-access"
	// Prefix of all labels and annotations of linkwright; Links exclude it from mirrors.
	Prefix = "linkwright.dev/"

	backupLabel = "velero.io/exclude-from-backup" // Git is the backup
)

// HelmPolicy is the annotation that makes Helm keep a live object when its release no longer has it (helm pkg/action); HelmKeep is
// its value. An adoption sets it, and no apply of linkwright has it, so it stays as long as the object does.
const (
	HelmPolicy = "helm.sh/resource-policy"
	HelmKeep   = "keep"
)

// MarkLabels are, with MarkAnnotations, the names of all marks of linkwright on an object, which a release removes. None is on a pod
// template, so no pods are rolled.
func MarkLabels() []string { return []string{OwnerLabel, backupLabel} }

// MarkAnnotations are the annotations among linkwright's marks: see MarkLabels.
func MarkAnnotations() []string { return []string{DigestAnnotation, PruneAnnotation} }

// DefaultOwner is the installation's name by default (--owner).
const DefaultOwner = "linkwright"

// Manager is the field manager of an installation.
func Manager(owner string) string {
	if owner == DefaultOwner {
		return DefaultOwner
	}
	return DefaultOwner + "-" + owner
}

// Key names an object without its version, so that an API version bump is not a new object.
type Key struct {
	// Group is the API group. It is absent for the core group.
	Group string `json:"group,omitempty"`
	// Kind is the kind, such as Secret.
	Kind string `json:"kind"`
	// Namespace is the namespace. It is absent for what has none.
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the object.
	Name string `json:"name"`
}

// String returns Kind namespace/name, with the group if it is not the core group.
func (k Key) String() string {
	kind := k.Kind
	if k.Group != "" {
		kind += "." + k.Group
	}
	if k.Namespace == "" {
		return kind + " " + k.Name
	}
	return kind + " " + k.Namespace + "/" + k.Name
}

// Compare orders keys by group, kind, namespace and name.
func (k Key) Compare(l Key) int {
	switch { // the first that differs: lists of keys are long
	case k.Group != l.Group:
		return strings.Compare(k.Group, l.Group)
	case k.Kind != l.Kind:
		return strings.Compare(k.Kind, l.Kind)
	case k.Namespace != l.Namespace:
		return strings.Compare(k.Namespace, l.Namespace)
	}
	return strings.Compare(k.Name, l.Name)
}

// Phase is the order of applying inside a cluster: access first, extras last.
type Phase uint8

// Phases. Objects of one phase are applied together.
const (
	PhaseAccess   Phase = iota // access namespace, inventories
	PhaseRights                // accounts, Roles, bindings of Linkerd's ClusterRoles
	PhaseBindings              // bindings of those Roles: the API server answers that a binding is not found if its Role does not exist yet
	PhaseSecrets
	PhaseLinks       // Linkerd Links, services
	PhaseControllers // deployments, disruption budgets
	PhaseExtras
)

// Object is one desired object: the request body, byte for byte.
type Object struct {
	Key     Key
	Version string
	Body    Body
	Digest  uint64 // of Body without its digest annotation
	Phase   Phase
	Part    bool // of somebody else's object, of which linkwright owns only these fields
}

// APIVersion is the object's apiVersion.
func (o Object) APIVersion() string {
	if o.Key.Group == "" {
		return o.Version
	}
	return o.Key.Group + "/" + o.Version
}

// End is one link's part in one cluster, or the base of a cluster (zero Link): the unit that is
// rendered, recorded, blocked, pruned and reported.
type End struct {
	Cluster api.ClusterName
	Link    api.Pair
}

// IsBase reports whether the end is the base of a cluster.
func (e End) IsBase() bool { return e.Link.IsZero() }

// IsSource reports whether the end's cluster is the link's source, where the mirrors are.
func (e End) IsSource() bool { return !e.IsBase() && e.Link.Source == e.Cluster }

// Compare orders ends by cluster, then link; the base comes first.
func (e End) Compare(f End) int {
	return cmp.Or(cmp.Compare(e.Cluster, f.Cluster), e.Link.Compare(f.Link))
}

// String names the end for messages.
func (e End) String() string {
	if e.IsBase() {
		return string(e.Cluster) + " base"
	}
	return e.Link.String() + " in " + string(e.Cluster)
}

// Reason is a word for programs and a sentence for people; both reach condition, event and report unchanged.
type Reason struct {
	// Code is one of the reasons of docs/reference/reasons.md.
	Code reason.Code `json:"code"`
	// Message says in a sentence what the code does not.
	Message string `json:"message"`
	// Command is the command that ends this, as the message has it. It is absent if there is none. One of kubectl is for the cluster itself.
	Command string `json:"command,omitempty"`
}

// Running is the reason with the command that ends it. The message has that command, too.
func (r Reason) Running(command string) *Reason {
	r.Command = command
	return &r
}

// With is the reason with a detail behind its message.
func (r Reason) With(format string, a ...any) *Reason {
	r.Message += "; " + fmt.Sprintf(format, a...)
	return &r
}

// First is the first part of a message: what happened, why, and what to do, without details and hints. Details follow a semicolon; a hint is in
// parentheses at the end.
func (r Reason) First() string {
	first, _, _ := strings.Cut(r.Message, "; ")
	if at := strings.LastIndex(first, " ("); at > 0 && strings.HasSuffix(first, ")") {
		first = first[:at]
	}
	return first
}

// SameReason reports whether two reasons are the same, or there is none on either side.
func SameReason(a, b *Reason) bool { return a == b || a != nil && b != nil && *a == *b }

// Because makes a reason; the message is formatted as by fmt.Sprintf.
func Because(code reason.Code, format string, a ...any) *Reason {
	if len(a) == 0 { // nothing to make: the text is the program's
		return &Reason{Code: code, Message: format}
	}
	return &Reason{Code: code, Message: fmt.Sprintf(format, a...)}
}

// Desired is what an end must hold now. Blocked ≠ nil: it cannot be rendered, and its objects stay as they are.
type Desired struct {
	End     End
	Objects []Object // sorted by phase, then key
	Blocked *Reason
}
