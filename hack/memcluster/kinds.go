package memcluster

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// kind is a kind that is served, in all its versions.
type kind struct {
	versions   []string
	namespaced bool
}

func builtIn() map[schema.GroupKind]*kind {
	out := map[schema.GroupKind]*kind{}
	add := func(group string, namespaced bool, names ...string) {
		for _, name := range names {
			out[schema.GroupKind{Group: group, Kind: name}] = &kind{versions: []string{"v1"}, namespaced: namespaced}
		}
	}
	add("", true, "ConfigMap", "Endpoints", "Pod", "Secret", "Service", "ServiceAccount")
	add("", false, "Namespace")
	add("apps", true, "Deployment", "ReplicaSet")
	add("coordination.k8s.io", true, "Lease")
	add("discovery.k8s.io", true, "EndpointSlice")
	add("networking.k8s.io", true, "NetworkPolicy")
	add("policy", true, "PodDisruptionBudget")
	add("rbac.authorization.k8s.io", true, "Role", "RoleBinding")
	add("rbac.authorization.k8s.io", false, "ClusterRole", "ClusterRoleBinding")
	return out
}

// Serve makes a kind be served in exactly these versions. Without versions it is not served, and its objects are deleted.
func (c *Cluster) Serve(group, name string, namespaced bool, versions ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := schema.GroupKind{Group: group, Kind: name}
	if old := c.kinds[of]; old != nil && slices.Equal(old.versions, versions) {
		return
	}
	if c.kinds[of] = (&kind{versions, namespaced}); len(versions) == 0 {
		delete(c.kinds, of)
		for key := range c.objects {
			if key.Group == group && key.Kind == name {
				delete(c.objects, key)
			}
		}
	}
	c.live.invalidate()
	c.moveAll()
}

// find is nil for what is not served; without a version any is meant.
func (c *Cluster) find(of schema.GroupVersionKind) *kind {
	k := c.kinds[of.GroupKind()]
	if k == nil || of.Version != "" && !slices.Contains(k.versions, of.Version) {
		return nil
	}
	return k
}

// managerKey identifies a field manager.
type managerKey struct {
	schema.GroupVersionKind
	subresource string
}

// manager tracks managed fields as an API server does: built-in kinds by their published schema, others as custom
// resources without a schema, whose lists are atomic.
func (c *Cluster) manager(of managerKey) (*managedfields.FieldManager, error) {
	if m := c.managers[of]; m != nil {
		return m, nil
	}
	var types managedfields.TypeConverter
	var m *managedfields.FieldManager
	var err error
	if gv := of.GroupVersion(); scheme.Scheme.Recognizes(of.GroupVersionKind) {
		types = applyconfigurations.NewTypeConverter(scheme.Scheme)
		m, err = managedfields.NewDefaultFieldManager(types, unstructuredScheme{}, unstructuredScheme{}, unstructuredScheme{}, of.GroupVersionKind, gv, of.subresource, nil)
	} else {
		types = managedfields.NewDeducedTypeConverter()
		m, err = managedfields.NewDefaultCRDFieldManager(types, unstructuredScheme{}, unstructuredScheme{}, unstructuredScheme{}, of.GroupVersionKind, gv, of.subresource, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("manage fields of %s: %w", of.GroupVersionKind, err)
	}
	c.managers[of] = m
	return m, nil
}

// unstructuredScheme is a scheme of unstructured objects, of which each version is the same but for its name, and which have no defaults.
type unstructuredScheme struct{}

func (unstructuredScheme) Default(runtime.Object) {}

func (unstructuredScheme) New(of schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(of)
	return u, nil
}

func (unstructuredScheme) Convert(_, _, _ any) error { return fmt.Errorf("convert: not a version") }

func (unstructuredScheme) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	of := in.GetObjectKind().GroupVersionKind()
	target, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{of})
	if !ok {
		gv, is := to.(schema.GroupVersion)
		if !is {
			return nil, fmt.Errorf("convert %s: to nothing", of)
		}
		target = gv.WithKind(of.Kind)
	}
	if target == of {
		return in, nil
	}
	out := in.DeepCopyObject()
	out.GetObjectKind().SetGroupVersionKind(target)
	return out, nil
}

func (unstructuredScheme) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// plural is what a kind's collection is called.
func plural(of schema.GroupVersionKind) schema.GroupResource {
	r, _ := meta.UnsafeGuessKindToResource(of)
	return r.GroupResource()
}
