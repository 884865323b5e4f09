package overlay

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// input is one object as the input of a build.
type input struct {
	object     object.Object
	end, index int            // its position among ends, and among the end's objects
	before     map[string]any // as it goes in
	body       json.RawMessage
}

// newInput makes the input of a build: the rendered object without its digest, and of a Secret only its identity. No secret
// enters the sandbox.
func newInput(o object.Object) (input, error) {
	content, err := decode(o.Body.Bytes())
	if err != nil {
		return input{}, err
	}
	removeDigest(content)
	if o.Key.Kind == secretKind && o.Key.Group == "" {
		maps.DeleteFunc(content, func(k string, _ any) bool {
			return !slices.Contains([]string{"apiVersion", "kind", "metadata", "type"}, k)
		})
	}
	body, err := json.Marshal(content)
	return input{object: o, before: content, body: body}, err
}

// removeDigest removes the digest, which is that of the rendered object.
func removeDigest(content map[string]any) {
	meta, _ := content["metadata"].(map[string]any)
	annotations, ok := meta["annotations"].(map[string]any)
	if !ok {
		return
	}
	delete(annotations, object.DigestAnnotation)
	if len(annotations) == 0 {
		delete(meta, "annotations")
	}
}

// objectViolation is a violation with its object and the patches that select it.
type objectViolation struct {
	key     object.Key
	refusal violation
	patches []api.Pos // those that choose the object
}

// compare adds allowed changes of an object to the result of its end, and returns violations.
func (t *task) compare(in input, after map[string]any, s *endResult) ([]objectViolation, error) {
	key := in.object.Key
	if after == nil {
		return []objectViolation{{key: key, refusal: violation{message: "must not be removed, renamed or moved"}, patches: t.patchesFor(in.before)}}, nil
	}
	m := merge{kind: kindOf(key)}
	merged := m.object(t.table, in.before, after)
	if len(m.violations) > 0 {
		faults := make([]objectViolation, len(m.violations))
		for i, r := range m.violations {
			faults[i] = objectViolation{key, r, t.patchesFor(in.before)}
		}
		return faults, nil
	}
	if !m.changed {
		return nil, nil
	}
	o, err := reseal(in.object, merged, t.in.Owner)
	if err != nil {
		return nil, err
	}
	if s.changed == nil {
		s.changed = map[int]object.Object{}
	}
	s.changed[in.index] = o
	return nil, nil
}

// patchesFor returns the positions of the patches that select an object.
func (t *task) patchesFor(content map[string]any) []api.Pos {
	var at []api.Pos
	for i, c := range t.targets {
		if c.matches(content) {
			at = append(at, t.component.Patches[i].At)
		}
	}
	return at
}

// deniedReason is the reason of an end with violations: the first few, what to do about them, and the positions of the patches.
func (t *task) deniedReason(faults []objectViolation) *object.Reason {
	const shown = 3
	more := ""
	if n := len(faults) - shown; n > 0 {
		more, faults = fmt.Sprintf("; and %d more", n), faults[:shown]
	}
	var whats, hints, patches []string
	for i, f := range faults {
		what := strings.TrimSpace(f.refusal.String())
		if i == 0 || faults[i-1].key != f.key {
			what = fmt.Sprintf("%s: %s", f.key, what)
		}
		whats, hints = append(whats, what), appendUnique(hints, f.refusal.hint)
		for _, at := range f.patches {
			patches = appendUnique(patches, at.String())
		}
	}
	text := strings.Join(whats, "; ") + more
	if len(hints) > 0 {
		text += " (" + strings.Join(hints, "; ") + ")"
	}
	if len(patches) > 0 {
		text += "; patched at " + strings.Join(patches, ", ")
	}
	return object.Because(reason.OverlayInvalid, "overlay %s: %s", t.in.Dir, text)
}

// appendUnique appends a text that is neither empty nor in the list.
func appendUnique(to []string, text string) []string {
	if text == "" || slices.Contains(to, text) {
		return to
	}
	return append(to, text)
}

// kindOf is the kind in the notation of the table.
func kindOf(k object.Key) string {
	if k.Group == "" {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}

// reseal makes an object of merged content. It restores what newInput removed, so nothing is lost.
func reseal(o object.Object, merged map[string]any, owner string) (object.Object, error) {
	whole, err := decode(o.Body.Bytes())
	if err != nil {
		return object.Object{}, err
	}
	if o.Key.Kind == secretKind && o.Key.Group == "" {
		for k, v := range whole {
			if _, ok := merged[k]; !ok {
				merged[k] = v
			}
		}
	}
	return object.Seal(object.Spec{Key: o.Key, Version: o.Version, Phase: o.Phase, Owner: owner}, merged)
}
