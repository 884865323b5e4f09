package prune

import (
	"encoding/json"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Release turns a change into one that releases its object: linkwright's marks are removed, the object stays as it is, and its pods
// are not rolled. To is the Helm release that owns it from then on; zero: none. The write fails if the object changed since it was read.
//
// The patch resets managed fields, too: if linkwright's entry stayed, the first apply after an adoption would remove every field
// that it does not name. Entries of other managers are lost with it; each manager's next write adds its own again.
func Release(c object.Change, to linkerd.Helm) object.Change {
	c.Action, c.Conditional = object.Release, true
	c.Object = object.Object{Key: c.Key, Body: object.NewBody(releasePatch(to))}
	return c
}

// patch is a JSON merge patch (RFC 7396): null removes a member.
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
