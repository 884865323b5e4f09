package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/linkwright/linkwright/object"
)

// listKeyConflict is the refusal of an update whose list item holds a value that must be unique (the name of a Service's port), which an item of
// somebody else holds, too. Lists whose items are known by a key (a port's number) are merged item by item: a PUT that changes the key of linkwright
// takes it away and leaves one of theirs, and linkwright's apply adds a second, for ever in vain.
type listKeyConflict struct {
	object.Rejection
	cause error
}

func (e *listKeyConflict) Error() string {
	return fmt.Sprintf("%s collides with a list item that is not linkwright's (others with items in that list: %s): %v", e.Field, e.By, e.cause)
}

func (e *listKeyConflict) Unwrap() error { return e.cause }

func isListKeyConflict(err error) bool {
	var c *listKeyConflict
	return errors.As(err, &c)
}

// Rejection says that the API server will never make such a change of an existing object, and why: a field of it is immutable, or
// a list item of others is in the way.
func Rejection(err error) (object.Rejection, bool) {
	if c, ok := errors.AsType[*listKeyConflict](err); ok {
		return c.Rejection, true
	}
	field, ok := Immutable(err)
	return object.Rejection{Field: field}, ok
}

// withCause returns the error of an apply, with what is known of its cause. Of a refusal for duplicates alone it asks who else has items in the
// list, which takes one request.
func (c *writer) withCause(ctx context.Context, ch object.Change, err error) error {
	field := duplicate(err)
	if field == "" || ch.Was.IsZero() || ch.Action != object.Update && ch.Action != object.Drain {
		return superseded(ch, err)
	}
	list, leaf := splitField(field)
	var ours any
	if json.Unmarshal(ch.Object.Body.Bytes(), &ours) != nil || repeats(ours, list, leaf) {
		return err
	}
	m, failed := c.metadata(ctx, ch)
	if failed != nil || string(m.UID) != ch.Was.UID {
		return err
	}
	by, failed := c.others(m.ManagedFields, append(list, anItem))
	if failed != nil || len(by) == 0 {
		return err
	}
	return &listKeyConflict{object.Rejection{Field: field, By: strings.Join(by, ", ")}, err}
}

// duplicate returns the first field of a refusal that complains of duplicates in lists and of nothing else; empty: it does not.
func duplicate(err error) string {
	var status *apierrors.StatusError
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.ErrStatus.Details == nil {
		return ""
	}
	causes := status.ErrStatus.Details.Causes
	if len(causes) == 0 || slices.ContainsFunc(causes, func(c metav1.StatusCause) bool { return c.Type != metav1.CauseTypeFieldValueDuplicate }) {
		return ""
	}
	return causes[0].Field
}

// anItem stands for any item of a list, among the steps of a path.
const anItem = "[]"

// splitField splits a path as the server spells it, such as spec.ports[1].name, at its last index: into the list and what of its
// items is meant. Without an index it is no list, and empty.
func splitField(field string) (list, leaf []string) {
	steps := strings.Split(regexp.MustCompile(`\[\d+\]`).ReplaceAllString(field, "."+anItem), ".")
	for i, step := range slices.Backward(steps) {
		if step == anItem {
			return steps[:i:i], steps[i+1:]
		}
	}
	return nil, nil
}

// repeats reports whether a list of linkwright alone holds a value twice: then it is wrong, whatever others have.
func repeats(of any, list, leaf []string) bool {
	switch {
	case len(list) == 0:
		return hasDuplicates(of, leaf)
	case list[0] == anItem:
		items, _ := of.([]any)
		return slices.ContainsFunc(items, func(item any) bool { return repeats(item, list[1:], leaf) })
	}
	return repeats(member(of, list[0]), list[1:], leaf)
}

func hasDuplicates(of any, leaf []string) bool {
	items, _ := of.([]any)
	observed := map[string]bool{}
	for _, item := range items {
		v := member(item, leaf...)
		if v != nil && observed[fmt.Sprint(v)] {
			return true
		}
		observed[fmt.Sprint(v)] = true
	}
	return false
}

// others returns the managers of items of a list that are not ours.
func (c *writer) others(entries []metav1.ManagedFieldsEntry, item []string) ([]string, error) {
	by := map[string]bool{}
	for _, e := range entries {
		set, err := fieldsOf(e)
		if err != nil {
			return nil, err
		}
		if e.Manager == c.manager() {
			continue
		}
		set.Iterate(func(p fieldpath.Path) {
			if isAt(p, item) {
				by[e.Manager] = true
			}
		})
	}
	return slices.Sorted(maps.Keys(by)), nil
}

// isAt reports whether a path leads to an item, whichever it is of its list.
func isAt(p fieldpath.Path, item []string) bool {
	if len(p) != len(item) {
		return false
	}
	for i, e := range p {
		isItem := e.Key != nil || e.Value != nil || e.Index != nil
		if isItem != (item[i] == anItem) || e.FieldName != nil && *e.FieldName != item[i] {
			return false
		}
	}
	return true
}

func member(of any, names ...string) any {
	for _, name := range names {
		m, _ := of.(map[string]any)
		of = m[name]
	}
	return of
}
