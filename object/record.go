package object

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Mark is the owner of a live object. The owner label counts only if linkwright's own field manager set it and the
// object is no mirror: Linkerd copies labels to mirrors.
type Mark uint8

// Marks.
const (
	Unmarked Mark = iota // no owner label: a conflict
	Ours                 // this installation's label, set by its field manager
	Theirs               // another installation's label: a conflict
	Copied               // this installation's label, set by another manager or on a mirror
)

// String is the word used in reports.
func (m Mark) String() string {
	return [...]string{"unmarked", "linkwright's", "another installation's", "a copy of linkwright's label"}[m]
}

// mirroredLabel is on mirrors of Linkerd's service mirror (linkerd2 pkg/k8s/labels.go, MirroredResourceLabel).
const mirroredLabel = "mirror.linkerd.io/mirrored-service"

// Record has the properties of a live object that a plan depends on. It is made from metadata alone, except Health.
type Record struct {
	UID, ResourceVersion string
	Digest               uint64                // the annotation; 0: none
	Fields               unique.Handle[string] // linkwright's managedFields entry, interned: its apiVersion, then its fields as JSON
	Mark                 Mark
	PruneDisabled        bool                  // linkwright.dev/prune: disabled
	Paused               bool                  // linkwright.dev/paused: "true", which counts on the inventory of a base
	RolloutPaused        bool                  // linkwright.dev/rollout: "paused", which counts there, too
	HelmKeeps            bool                  // helm.sh/resource-policy: keep, which an adoption may have set
	Terminating          bool                  // being deleted
	HasSelector          bool                  // on objects with Linkerd's label of mirrors: a manager set spec.selector
	ForeignManagers      unique.Handle[string] // other managers, comma separated
	ValuesManagers       unique.Handle[string] // those of them that own the key values of a ConfigMap, comma separated; zero: nobody does
	Health               Health                // if the Watch has Health
}

// IsZero reports whether the object does not exist.
func (r Record) IsZero() bool { return r.UID == "" }

// WrittenBy reports whether one of these managers is a field manager of the object.
func (r Record) WrittenBy(managers ...string) bool {
	return slices.ContainsFunc(r.Managers(), func(m string) bool { return slices.Contains(managers, m) })
}

// Managers are the foreign field managers of the object, sorted.
func (r Record) Managers() []string {
	if r.ForeignManagers == (unique.Handle[string]{}) || r.ForeignManagers.Value() == "" {
		return nil
	}
	return strings.Split(r.ForeignManagers.Value(), ",")
}

// Writers names the foreign managers for a message.
func (r Record) Writers() string {
	others := r.Managers()
	if len(others) == 0 {
		return "somebody"
	}
	return strings.Join(others, ", ")
}

// Origin says who wrote an object of others, for a message. A release of linkwright leaves no field manager.
func (r Record) Origin() string {
	if len(r.Managers()) == 0 {
		return "no field manager is recorded"
	}
	return "written by " + r.Writers()
}

// Sets reports whether linkwright's own entry has a field of that name, at any depth: nobody else has changed its value since.
func (r Record) Sets(member string) bool {
	if r.Fields == (unique.Handle[string]{}) {
		return false
	}
	return r.Fields.Value() == allFields || strings.Contains(r.Fields.Value(), `"f:`+member+`"`)
}

// AppliedIn is the version of its kind in which linkwright last applied the object; empty: never, or the record is simulated.
func (r Record) AppliedIn() string {
	if r.Fields == (unique.Handle[string]{}) || r.Fields.Value() == allFields {
		return ""
	}
	head, _, _ := strings.Cut(r.Fields.Value(), "{")
	group, version, grouped := strings.Cut(head, "/")
	if !grouped {
		return group
	}
	return version
}

// allFields is the field set of a simulated record: it covers all fields.
const allFields = "*"

// Written is the record after a write of o, for simulation.
func Written(o Object) Record {
	return Record{
		UID: "simulated", ResourceVersion: FormatDigest(o.Digest), Digest: o.Digest,
		Fields: unique.Make(allFields), Mark: Ours, ForeignManagers: unique.Make(""),
	}
}

// Released is the record after a release, for simulation.
func Released(r Record) Record {
	return Record{
		UID: r.UID, ResourceVersion: r.ResourceVersion + "+", Fields: unique.Make(""), Mark: Unmarked,
		Terminating: r.Terminating, ForeignManagers: unique.Make(""), Health: r.Health,
	}
}

// Reduce makes a record from metadata alone, for watches and lists. Owner is the installation.
func Reduce(m *metav1.ObjectMeta, owner string) Record {
	fields, rivals := managedBy(m.ManagedFields, Manager(owner))
	return Record{
		UID:             string(m.UID),
		ResourceVersion: m.ResourceVersion,
		Digest:          parseDigest(m.Annotations[DigestAnnotation]),
		Fields:          unique.Make(fields),
		Mark:            markOf(m, owner),
		PruneDisabled:   m.Annotations[PruneAnnotation] == PruneDisabled,
		Paused:          m.Annotations[PausedAnnotation] == "true",
		RolloutPaused:   m.Annotations[RolloutAnnotation] == RolloutPaused,
		HelmKeeps:       m.Annotations[HelmPolicy] == HelmKeep,
		Terminating:     m.DeletionTimestamp != nil,
		HasSelector:     hasSelector(m),
		ForeignManagers: unique.Make(rivals),
		ValuesManagers:  valuesManagers(m.ManagedFields, Manager(owner)),
	}
}

// valuesManagers returns the other managers that own the key values of a ConfigMap: Linkerd's configuration has it.
func valuesManagers(entries []metav1.ManagedFieldsEntry, manager string) (zero unique.Handle[string]) {
	var out []string
	for _, e := range entries {
		if e.FieldsV1 == nil || e.Manager == manager || !bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:values"`)) {
			continue
		}
		var fields struct {
			Data map[string]json.RawMessage `json:"f:data"`
		}
		if json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) == nil && fields.Data["f:values"] != nil {
			out = append(out, e.Manager)
		}
	}
	if len(out) == 0 {
		return zero
	}
	slices.Sort(out)
	return unique.Make(strings.Join(slices.Compact(out), ","))
}

// hasSelector reports whether some manager of a Service that has Linkerd's label of mirrors set its selector. A mirror has none. The spec of a
// Service is not read for that: managed fields list every field that was ever set.
func hasSelector(m *metav1.ObjectMeta) bool {
	if _, mirrored := m.Labels[mirroredLabel]; !mirrored {
		return false
	}
	return slices.ContainsFunc(m.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		var fields struct {
			Spec map[string]json.RawMessage `json:"f:spec"`
		}
		if e.FieldsV1 == nil || json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil {
			return false
		}
		_, set := fields.Spec["f:selector"]
		return set
	})
}

// managedBy returns the version and field set of linkwright's last apply, and the names of all other managers.
func managedBy(entries []metav1.ManagedFieldsEntry, manager string) (fields, rivals string) {
	var others []string
	for _, e := range entries {
		switch {
		case e.Subresource != "":
		case e.Manager != manager:
			others = append(others, e.Manager)
		case e.Operation == metav1.ManagedFieldsOperationApply && e.FieldsV1 != nil:
			fields = e.APIVersion + string(e.FieldsV1.GetRawBytes())
		}
	}
	slices.Sort(others)
	return fields, strings.Join(slices.Compact(others), ",")
}

func markOf(m *metav1.ObjectMeta, owner string) Mark {
	label, ok := m.Labels[OwnerLabel]
	_, mirrored := m.Labels[mirroredLabel]
	switch {
	case !ok:
		return Unmarked
	case label != owner:
		return Theirs
	case mirrored || !labelSetBy(m.ManagedFields, Manager(owner)):
		return Copied
	}
	return Ours
}

// labelSetBy reports whether the manager's own entries have the owner label.
func labelSetBy(entries []metav1.ManagedFieldsEntry, manager string) bool {
	for _, e := range entries {
		if e.Manager == manager && e.Subresource == "" && e.FieldsV1 != nil &&
			strings.Contains(string(e.FieldsV1.GetRawBytes()), `"f:`+OwnerLabel+`"`) {
			return true
		}
	}
	return false
}
