package plan

import (
	"fmt"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Immutable is the code of an end with an object that cannot be changed in place, and must not be replaced.
const Immutable = "Immutable"

// Refusal is what the server said of one write: that a field cannot be changed. It tells of that object as it was wanted and
// as it was live, and of nothing that came after either.
type Refusal struct {
	Field  string
	Digest uint64 // of the object that was wanted
	UID    string // of the object that was live
}

// of says that a change is the one that was refused.
func (r Refusal) of(c object.Change) bool {
	return r.Field != "" && r.Digest == c.Object.Digest && r.UID == c.Was.UID && (c.Action == object.Update || c.Action == object.Drain)
}

// replaced makes a replacement of an update that the server refused for an immutable field, where that is harmless or the
// SyncPolicy allows it; or it says why the end is held.
func (p *planner) replaced(changes []object.Change) ([]object.Change, *object.Reason) {
	for i, c := range changes {
		refusal := p.Immutable[c.End.Cluster][c.Key]
		if !refusal.of(c) {
			continue
		}
		instead, why := Instead(p.policy(), c, refusal.Field)
		if why != nil {
			return nil, why
		}
		changes[i] = instead
	}
	return changes, nil
}

// Instead gives what is done instead of a change that the server refused since a field is immutable: a replacement; or it
// says why there is none.
func Instead(policy api.SyncPolicy, c object.Change, field string) (object.Change, *object.Reason) {
	harmless, chosen := replaceable(c.Key, field), eligible(c.Key) && policy.Replaces(c.Key.Kind)
	switch {
	case !harmless && !chosen:
		more := ""
		if eligible(c.Key) {
			more = fmt.Sprintf("; or let the SyncPolicy replace it (spec.replace: [{kind: %s}])", c.Key.Kind)
		}
		return c, object.Because(Immutable, "%s of %s cannot be changed: declare it as it was, or delete the object, and it is made anew%s",
			field, c.Key, more)
	case c.Was.Keep:
		return c, object.Because(Immutable, "%s of %s cannot be changed without deleting the object, which carries %s: %s; remove the annotation",
			field, c.Key, object.PruneAnnotation, object.PruneDisabled)
	}
	c.Action, c.Why = object.Replace, object.Reason{Code: Immutable, Message: field + " cannot be changed in place"}
	if !harmless {
		c.Why.Message += ", and the SyncPolicy lets a " + c.Key.Kind + " be replaced"
	}
	return c, nil
}

// replaceable lists what may be deleted and made anew at once, without anybody's leave: who reads it needs it no longer than
// that. Nothing else is; above all no Linkerd Link, whose creation time decides on federated metadata.
func replaceable(k object.Key, field string) bool {
	switch k.Kind {
	case "RoleBinding", "ClusterRoleBinding":
		return k.Group == "rbac.authorization.k8s.io" && field == "roleRef"
	case "Secret":
		return k.Group == "" && field == "type"
	}
	return false
}

// eligible lists what may be where people let it: what is rendered, or an overlay brings in, and has immutable fields. An
// inventory never is: until it is made anew nobody would know what is ours.
func eligible(k object.Key) bool {
	switch api.ReplacedKind(k.Kind) {
	case api.ReplaceDeployment:
		return k.Group == "apps"
	case api.ReplaceService, api.ReplaceConfigMap, api.ReplaceResourceQuota:
		return k.Group == "" && k.Namespace != object.AccessNamespace
	}
	return false
}
