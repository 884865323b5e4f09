package plan

import (
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

// replaced makes a replacement of an update that the server refused for an immutable field, where that is harmless; or it
// says why the end is held.
func (p *planner) replaced(changes []object.Change) ([]object.Change, *object.Reason) {
	for i, c := range changes {
		refusal := p.Immutable[c.End.Cluster][c.Key]
		field := refusal.Field
		switch {
		case !refusal.of(c):
		case !replaceable(c.Key, field):
			return nil, object.Because(Immutable, "%s of %s cannot be changed: declare it as it was, or delete the object, and it is made anew",
				field, c.Key)
		case c.Was.Keep:
			return nil, object.Because(Immutable, "%s of %s cannot be changed without deleting the object, which carries %s: %s; remove the annotation",
				field, c.Key, object.PruneAnnotation, object.PruneDisabled)
		default:
			changes[i].Action = object.Replace
			changes[i].Why = object.Reason{Code: Immutable, Message: field + " cannot be changed in place"}
		}
	}
	return changes, nil
}

// replaceable lists what may be deleted and made anew at once: who reads it needs it no longer than that. Nothing else is;
// above all no Linkerd Link, whose creation time decides on federated metadata.
func replaceable(k object.Key, field string) bool {
	switch k.Kind {
	case "RoleBinding", "ClusterRoleBinding":
		return k.Group == "rbac.authorization.k8s.io" && field == "roleRef"
	case "Secret":
		return k.Group == "" && field == "type"
	}
	return false
}
