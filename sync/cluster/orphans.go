package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	fieldvalue "sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/linkwright/linkwright/object"
)

// PreviewAdopted is Preview of an update of an object that is to be adopted first: without what its makers alone set, and the
// update does not name, which goes with the first apply after an adoption. What the server then fills in again stays.
func (c *Client) PreviewAdopted(ctx context.Context, ch object.Change) (was, next object.Body, err error) {
	was, next, err = c.Preview(ctx, ch)
	if err != nil || ch.Action != object.Update && ch.Action != object.Drain {
		return was, next, err
	}
	m, err := c.metadata(ctx, ch)
	if err != nil {
		return was, next, err
	}
	orphans, err := c.orphans(m.ManagedFields)
	if err != nil {
		return was, next, err
	}
	ops, err := strip(orphans, was.Bytes(), next.Bytes(), ch.Object.Body.Bytes())
	if err != nil || len(ops) == 0 {
		return was, next, err
	}
	next, err = c.retry(ctx, ch, ops)
	return was, next, withoutValues(ch, err)
}

// retry is the dry run of a JSON patch.
func (c *Client) retry(ctx context.Context, ch object.Change, ops []op) (object.Body, error) {
	r, err := c.target(ctx, ch)
	if err != nil {
		return object.Body{}, err
	}
	body, err := json.Marshal(ops)
	if err != nil {
		return object.Body{}, err
	}
	raw, err := rawJSON(ctx, lead(c.rest.Patch(types.JSONPatchType), r.path(ch.Key.Namespace, ch.Key.Name)).
		Param("fieldManager", c.manager()).Param("dryRun", "All").Body(body))
	if err != nil {
		return object.Body{}, fmt.Errorf("dry run: %s %s: %w", ch.Action, ch.Key, err)
	}
	it, err := c.wholeItem(raw, reading{resource: r, depth: object.Whole})
	return it.Body, err
}

// op is one operation of a JSON patch.
type op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// decoded keeps numbers as they are spelled.
func decoded(raw []byte) (any, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err
}

// orphans are the fields that only makers know of.
func (c *Client) orphans(entries []metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	made, kept := fieldpath.NewSet(), left()
	for _, e := range entries {
		set, err := fieldsOf(e)
		switch {
		case err != nil:
			return nil, err
		case e.Subresource == "" && c.former(e.Manager):
			made = made.Union(set)
		case e.Manager != c.manager():
			kept = kept.Union(set)
		}
	}
	return made.Difference(kept), nil
}

// strip gives what makes of the live object what an apply would leave that also takes away orphans that ours does not
// name; nothing, where there are none. Whole members are replaced, so that no operation depends on another.
func strip(orphans *fieldpath.Set, live, next, ours []byte) ([]op, error) {
	was, err := decoded(live)
	if err != nil {
		return nil, err
	}
	to, err := decoded(next)
	if err != nil {
		return nil, err
	}
	mine, err := decoded(ours)
	if err != nil {
		return nil, err
	}
	if !prunePaths(orphans, to, mine) {
		return nil, nil
	}
	var ops []op
	for _, path := range [][]string{{"metadata", "labels"}, {"metadata", "annotations"}} {
		ops = append(ops, replaces("/metadata/"+path[1], member(was, path...), member(to, path...))...)
	}
	names := map[string]bool{}
	for _, of := range []any{was, to} {
		for name := range fields(of) {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name) {
			ops = append(ops, replaces("/"+name, member(was, name), member(to, name))...)
		}
	}
	return ops, nil
}

func replaces(path string, was, to any) []op {
	switch {
	case reflect.DeepEqual(was, to):
		return nil
	case to == nil:
		return []op{{Op: "remove", Path: path}}
	}
	return []op{{Op: "add", Path: path, Value: to}}
}

func fields(of any) map[string]any {
	m, _ := of.(map[string]any)
	return m
}

func member(of any, names ...string) any {
	for _, name := range names {
		of = fields(of)[name]
	}
	return of
}

// prunePaths takes the fields of a set that mine does not name out of an object, and says whether there were any. What holds
// others goes only once it is empty: somebody else may have put something there.
func prunePaths(set *fieldpath.Set, from, mine any) (found bool) {
	leaves := set.Leaves()
	var paths []fieldpath.Path
	set.Iterate(func(p fieldpath.Path) { paths = append(paths, p.Copy()) })
	slices.SortStableFunc(paths, func(a, b fieldpath.Path) int { return len(b) - len(a) }) // what is inside first
	for _, p := range paths {
		if _, named := find(mine, p); named {
			continue
		}
		if _, there := find(from, p); there && !keyOf(p) && (leaves.Has(p) || emptied(from, p)) {
			drop(from, p)
			found = true
		}
	}
	return found
}

// keyOf says that a path is of a field by which an item of a list is known: it goes with the item.
func keyOf(p fieldpath.Path) bool {
	if len(p) < 2 || p[len(p)-1].FieldName == nil || p[len(p)-2].Key == nil {
		return false
	}
	return slices.ContainsFunc(*p[len(p)-2].Key, func(f fieldvalue.Field) bool { return f.Name == *p[len(p)-1].FieldName })
}

// emptied says that nothing is left below a path, but what an item of a list is known by.
func emptied(of any, p fieldpath.Path) bool {
	v, _ := find(of, p)
	switch v := v.(type) {
	case map[string]any:
		if key := p[len(p)-1].Key; key != nil {
			return len(v) <= len(*key)
		}
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return true
}

// find follows a path; a field of a key that an item does not spell is as its default is.
func find(of any, p fieldpath.Path) (any, bool) {
	for _, e := range p {
		switch v := of.(type) {
		case map[string]any:
			if e.FieldName == nil {
				return nil, false
			}
			below, ok := v[*e.FieldName]
			if !ok {
				return nil, false
			}
			of = below
		case []any:
			i := slices.IndexFunc(v, func(item any) bool { return means(e, item) })
			if i < 0 {
				return nil, false
			}
			of = v[i]
		default:
			return nil, false
		}
	}
	return of, true
}

// means says that an element of a path is an item of a list.
func means(e fieldpath.PathElement, item any) bool {
	switch {
	case e.Value != nil:
		return fmt.Sprint((*e.Value).Unstructured()) == fmt.Sprint(item)
	case e.Key == nil:
		return false
	}
	for _, f := range *e.Key {
		if v, spelled := fields(item)[f.Name]; spelled && fmt.Sprint(v) != fmt.Sprint(f.Value.Unstructured()) {
			return false
		}
	}
	return true
}

// drop takes what is at a path away.
func drop(of any, p fieldpath.Path) {
	last := p[len(p)-1]
	parent, _ := find(of, p[:len(p)-1])
	switch v := parent.(type) {
	case map[string]any:
		delete(v, *last.FieldName)
	case []any:
		if grand, ok := find(of, p[:max(0, len(p)-2)]); ok && len(p) > 1 && p[len(p)-2].FieldName != nil {
			fields(grand)[*p[len(p)-2].FieldName] = slices.DeleteFunc(v, func(item any) bool { return means(last, item) })
		}
	}
}
