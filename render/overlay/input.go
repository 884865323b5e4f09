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

// input is one object on its way into a build.
type input struct {
	object     object.Object
	end, index int            // where it stands
	before     map[string]any // as it goes in
	body       json.RawMessage
}

// newInput makes what goes into a build: the object as it was rendered, without its digest, and of a Secret only what
// it is called. No secret enters the cage.
func newInput(o object.Object) (input, error) {
	content, err := decode(o.Body.Bytes())
	if err != nil {
		return input{}, err
	}
	bare(content)
	if o.Key.Kind == secretKind && o.Key.Group == "" {
		maps.DeleteFunc(content, func(k string, _ any) bool {
			return !slices.Contains([]string{"apiVersion", "kind", "metadata", "type"}, k)
		})
	}
	body, err := json.Marshal(content)
	return input{object: o, before: content, body: body}, err
}

// bare takes the digest away, which is of what was rendered.
func bare(content map[string]any) {
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

// offence is what stands against an object that came out of a build.
type offence struct {
	key     object.Key
	refusal refusal
	patches []api.Pos // those that choose the object
}

// compare takes what an overlay may change into the shape of the object's end, and gives what it may not.
func (t *task) compare(in input, after map[string]any, s *shaped) ([]offence, error) {
	key := in.object.Key
	if after == nil {
		return []offence{{key: key, refusal: refusal{what: "must not be removed, renamed or moved"}, patches: t.choosing(in.before)}}, nil
	}
	m := merge{kind: kindOf(key)}
	merged := m.object(t.table, in.before, after)
	if len(m.refused) > 0 {
		faults := make([]offence, len(m.refused))
		for i, r := range m.refused {
			faults[i] = offence{key, r, t.choosing(in.before)}
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

// choosing returns the patches that choose an object.
func (t *task) choosing(content map[string]any) []api.Pos {
	var at []api.Pos
	for i, c := range t.choosers {
		if c.chooses(content) {
			at = append(at, t.component.Patches[i].At)
		}
	}
	return at
}

// refuse holds an end for what must not be changed in it: the first few, what to do about them, and where they are patched.
func (t *task) refuse(faults []offence) *object.Reason {
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
		whats, hints = append(whats, what), add(hints, f.refusal.hint)
		for _, at := range f.patches {
			patches = add(patches, at.String())
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

// add appends a text that is not empty and not there yet.
func add(to []string, text string) []string {
	if text == "" || slices.Contains(to, text) {
		return to
	}
	return append(to, text)
}

// kindOf is a kind as the table writes it.
func kindOf(k object.Key) string {
	if k.Group == "" {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}

// reseal makes an object of what was merged. What never went in is the same as before: nothing that is not in merged is
// lost, since it lacks only what newInput took away.
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
