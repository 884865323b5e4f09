package prune

import (
	"encoding/json"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Release makes of a change one that gives its object up: our marks go, the object stays as it is, and what it runs is not
// rolled. To is the release of Helm's that owns it from then on; zero: nobody does. It happens only on exactly what was seen.
//
// With our marks goes who wrote which field: were our own entry of managed fields left, the first apply of an adoption
// would take away all that it does not name. Other managers' entries go with it; each makes its own anew.
func Release(c object.Change, to linkerd.Helm) object.Change {
	c.Action, c.Fenced = object.Release, true
	c.Object = object.Object{Key: c.Key, Body: object.NewBody(releasePatch(to))}
	return c
}

// patch is a JSON merge patch (RFC 7396): a null takes a member away.
type patch struct {
	Metadata struct {
		Labels        map[string]*string `json:"labels"`
		Annotations   map[string]*string `json:"annotations"`
		ManagedFields [1]struct{}        `json:"managedFields"` // one empty entry resets them (KEP-555); an empty list would not
	} `json:"metadata"`
}

func releasePatch(to linkerd.Helm) []byte {
	var p patch
	p.Metadata.Labels, p.Metadata.Annotations = map[string]*string{}, map[string]*string{}
	for _, name := range object.MarkLabels() {
		p.Metadata.Labels[name] = nil
	}
	for _, name := range object.MarkAnnotations() {
		p.Metadata.Annotations[name] = nil
	}
	if !to.IsZero() {
		by := linkerd.HelmManager
		p.Metadata.Labels[linkerd.HelmManagedBy] = &by
		p.Metadata.Annotations[linkerd.HelmName] = &to.Name
		p.Metadata.Annotations[linkerd.HelmNamespace] = &to.Namespace
		p.Metadata.Annotations[object.HelmPolicy] = nil // it was there so that Helm would not delete what was not its own
	}
	out, err := json.Marshal(p)
	if err != nil {
		return nil // strings encode
	}
	return out
}
