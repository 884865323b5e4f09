package plan

import (
	"fmt"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/state"
)

// matchesRefusal reports whether a change is the one that the server rejected.
func matchesRefusal(r state.Refusal, c object.Change) bool {
	same := r.Was.UID == c.Was.UID && (r.By == "" || r.Was.ResourceVersion == c.Was.ResourceVersion)
	return r.Field != "" && r.Digest == c.Object.Digest && same && (c.Action == object.Update || c.Action == object.Drain)
}

// replaceRefused turns an update that the server always rejects into a replacement, if that is harmless or the SyncPolicy allows it. Else it returns
// why the end is blocked.
func replaceRefused(w state.Snapshot, changes []object.Change) ([]object.Change, *object.Reason) {
	for i, c := range changes {
		refusal := w.Immutable[c.End.Cluster][c.Key]
		if !matchesRefusal(refusal, c) {
			continue
		}
		instead, why := Replacement(w.Policy(), c, refusal.Rejection)
		if why != nil {
			return nil, why
		}
		changes[i] = instead
	}
	return changes, nil
}

// Replacement returns the replacement for a change that the server always rejects, or why there is none.
func Replacement(policy api.SyncPolicy, c object.Change, r object.Rejection) (object.Change, *object.Reason) {
	harmless, chosen := r.By == "" && replaceableAlways(c.Key, r.Field), replaceableIfAllowed(c.Key) && policy.Replaces(c.Key.Kind)
	code, cannot, remedy := reason.ImmutableField, "cannot be changed", "declare the former value, or delete the object (linkwright creates it again)"
	if r.By != "" {
		code, cannot = reason.ListKeyConflict, "collides with a list item that is not linkwright's (others with items in that list: "+r.By+")"
		remedy = "remove that item, or delete the object (linkwright creates it again)"
	}
	switch {
	case !harmless && !chosen:
		if replaceableIfAllowed(c.Key) {
			remedy += fmt.Sprintf("; or let the SyncPolicy replace it (spec.replace: [{kind: %s}])", c.Key.Kind)
		}
		return c, object.Because(code, "%s of %s %s: %s", r.Field, c.Key, cannot, remedy)
	case c.Was.PruneDisabled:
		return c, object.Because(code, "%s of %s cannot be changed without deleting the object, and its annotation %s=%s forbids that: remove the annotation",
			r.Field, c.Key, object.PruneAnnotation, object.PruneDisabled)
	}
	c.Action, c.Why = object.Replace, object.Reason{Code: code, Message: r.Field + " cannot be changed in place"}
	if !harmless {
		c.Why.Message += ", and the SyncPolicy allows linkwright to replace a " + c.Key.Kind
	}
	return c, nil
}

// replaceableAlways reports whether an object may be deleted and created again without permission: its readers need it no longer than that. A
// Linkerd Link never is, because its creation time decides on federated metadata.
func replaceableAlways(k object.Key, field string) bool {
	switch k.Kind {
	case "RoleBinding", "ClusterRoleBinding":
		return k.Group == "rbac.authorization.k8s.io" && field == "roleRef"
	case "Secret":
		return k.Group == "" && field == "type"
	}
	return false
}

// replaceableIfAllowed reports whether the SyncPolicy can allow to replace an object: it is rendered, or from an overlay, and has immutable fields.
// An inventory never is, because it says which objects are linkwright's.
func replaceableIfAllowed(k object.Key) bool {
	switch api.ReplacedKind(k.Kind) {
	case api.ReplaceDeployment:
		return k.Group == "apps"
	case api.ReplaceService, api.ReplaceConfigMap, api.ReplaceResourceQuota:
		return k.Group == "" && k.Namespace != object.AccessNamespace
	}
	return false
}
