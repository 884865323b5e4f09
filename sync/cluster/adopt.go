package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/linkwright/linkwright/object"
)

// Whoever makes objects on behalf of people, and does not come back by itself: what such a manager knows of an object's
// fields becomes ours when the object does. Else what it once set, and nobody declares, would stay for ever. Not among
// them: who changes single fields of what others made (kubectl edit, scale, rollout restart), and every controller.
func creatingManagers() []string {
	return []string{"helm", "kubectl", "kubectl-client-side-apply", "kubectl-create", "kubectl-replace", "linkerd"}
}

// isPreviousManager reports whether a manager is one of the makers, or another installation of linkwright.
func (c *writer) isPreviousManager(manager string) bool {
	ours := object.DefaultOwner
	return manager != c.manager() && (slices.Contains(creatingManagers(), manager) || manager == ours || strings.HasPrefix(manager, ours+"-"))
}

// adopt puts marks on what others made, in one patch, and only on exactly what was seen: with the marks, linkwright's entry of the managed fields
// takes over those of the object's makers.
func (c *writer) adopt(ctx context.Context, ch object.Change) (object.Record, error) {
	m, err := c.metadata(ctx, ch)
	if err != nil {
		return object.Record{}, err
	}
	if string(m.UID) != ch.Was.UID || m.ResourceVersion != ch.Was.ResourceVersion {
		kind := schema.GroupResource{Group: ch.Key.Group, Resource: ch.Key.Kind}
		return object.Record{}, apierrors.NewConflict(kind, ch.Key.Name, errReplaced)
	}
	req, err := c.adopting(ctx, ch, m)
	if err != nil {
		return object.Record{}, err
	}
	if m, err = c.sendForMeta(ctx, req); err != nil {
		return object.Record{}, superseded(ch, err)
	}
	return object.Reduce(m, c.owner), nil
}

// adopting returns the patch of an adoption of an object with such metadata.
func (c *writer) adopting(ctx context.Context, ch object.Change, m *metav1.ObjectMeta) (*rest.Request, error) {
	r, err := c.target(ctx, ch)
	if err != nil {
		return nil, err
	}
	entries, err := c.inherit(m.ManagedFields, r.GroupVersion().String())
	if err != nil {
		return nil, err
	}
	var patch map[string]map[string]any
	if err := json.Unmarshal(ch.Object.Body.Bytes(), &patch); err != nil {
		return nil, fmt.Errorf("read the patch: %w", err)
	}
	patch["metadata"]["uid"], patch["metadata"]["resourceVersion"], patch["metadata"]["managedFields"] = m.UID, m.ResourceVersion, entries
	body, err := json.Marshal(patch)
	req := setPath(c.rest.Patch(types.MergePatchType), r.path(ch.Key.Namespace, ch.Key.Name)).Param("fieldManager", c.manager()).Body(body)
	if c.dry {
		req = req.Param("dryRun", metav1.DryRunAll)
	}
	return req, err
}

// inherit returns managed fields in which linkwright's own entry holds those of the makers, and linkwright's marks.
func (c *writer) inherit(entries []metav1.ManagedFieldsEntry, version string) ([]metav1.ManagedFieldsEntry, error) {
	var o metav1.PartialObjectMetadata
	names := sets.New[string]()
	for _, e := range entries {
		if e.Subresource == "" && c.isPreviousManager(e.Manager) {
			names.Insert(e.Manager)
			e.Operation = metav1.ManagedFieldsOperationUpdate // server-side appliers, too
		}
		o.ManagedFields = append(o.ManagedFields, e)
	}
	if err := csaupgrade.UpgradeManagedFields(&o, names, c.manager()); err != nil {
		return nil, fmt.Errorf("take over managed fields: %w", err)
	}
	at := slices.IndexFunc(o.ManagedFields, c.applied)
	if at < 0 {
		at, o.ManagedFields = len(o.ManagedFields), append(o.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: c.manager(), Operation: metav1.ManagedFieldsOperationApply, APIVersion: version, FieldsType: "FieldsV1",
		})
	}
	set, err := fieldsOf(o.ManagedFields[at])
	if err != nil {
		return nil, err
	}
	set = set.Difference(unownedFields())
	for _, name := range object.MarkLabels() {
		set.Insert(fieldpath.MakePathOrDie("metadata", "labels", name))
	}
	raw, err := set.ToJSON()
	o.ManagedFields[at].FieldsV1 = metav1.NewFieldsV1(string(raw))
	return o.ManagedFields, err
}

// applied reports whether an entry is that of linkwright's applies.
func (c *writer) applied(e metav1.ManagedFieldsEntry) bool {
	return e.Manager == c.manager() && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
}

// unownedFields are fields that nobody owns after an adoption, so that they stay: what Helm knows an object by for as long as its
// release still names it, and what tells it to leave that object alone.
func unownedFields() *fieldpath.Set {
	return fieldpath.NewSet(
		fieldpath.MakePathOrDie("metadata", "labels", "app.kubernetes.io/managed-by"),
		fieldpath.MakePathOrDie("metadata", "annotations", "meta.helm.sh/release-name"),
		fieldpath.MakePathOrDie("metadata", "annotations", "meta.helm.sh/release-namespace"),
		fieldpath.MakePathOrDie("metadata", "annotations", object.HelmPolicy),
	)
}

func fieldsOf(e metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := fieldpath.NewSet()
	if e.FieldsV1 == nil {
		return set, nil
	}
	if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("read managed fields of %s: %w", e.Manager, err)
	}
	return set, nil
}

func (c *reader) metadata(ctx context.Context, ch object.Change) (*metav1.ObjectMeta, error) {
	r, err := c.target(ctx, ch)
	if err != nil {
		return nil, err
	}
	return metaOf(setPath(c.rest.Get(), r.path(ch.Key.Namespace, ch.Key.Name)).SetHeader("Accept", acceptMeta).Do(ctx))
}
