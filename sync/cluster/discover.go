package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// resource is where a kind is served.
type resource struct {
	schema.GroupVersionKind
	plural     string
	namespaced bool
}

// path of the collection, or of one object in it.
func (r resource) path(namespace, name string) []string {
	at := []string{"api", r.Version}
	if r.Group != "" {
		at = []string{"apis", r.Group, r.Version}
	}
	if namespace != "" {
		at = append(at, "namespaces", namespace)
	}
	at = append(at, r.plural)
	if name != "" {
		at = append(at, name)
	}
	return at
}

// setPath has a request go to a path. Groups, versions and names are what people wrote: a part that would lead elsewhere is no
// part of a path, and fails the request before it goes out.
func setPath(req *rest.Request, parts []string) *rest.Request {
	if at := slices.IndexFunc(parts, unsafeSegment); at >= 0 {
		return req.Name(parts[at])
	}
	return req.AbsPath(parts...)
}

func unsafeSegment(part string) bool { return part == "" || len(content.IsPathSegmentName(part)) > 0 }

// unsafePath returns how lead fails a request.
func unsafePath(parts []string) error {
	if !slices.ContainsFunc(parts, unsafeSegment) {
		return nil
	}
	return setPath((&rest.RESTClient{}).Get(), parts).Error()
}

// kinds is what discovery told, by group and version.
type kinds struct {
	mu     sync.Mutex
	served map[schema.GroupVersion]map[string]resource
}

func (k *kinds) find(of schema.GroupVersionKind) (resource, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.served[of.GroupVersion()][of.Kind]
	return r, ok
}

// anyVersion finds a kind in whatever version; which one does not matter to metadata, nor to a delete.
func (k *kinds) anyVersion(of schema.GroupKind) (resource, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	order := func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) }
	for _, gv := range slices.SortedFunc(maps.Keys(k.served), order) {
		if r, ok := k.served[gv][of.Kind]; ok && gv.Group == of.Group {
			return r, true
		}
	}
	return resource{}, false
}

func (k *kinds) set(gv schema.GroupVersion, served map[string]resource) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.served == nil {
		k.served = map[schema.GroupVersion]map[string]resource{}
	}
	k.served[gv] = served
}

func (k *kinds) drop(gv schema.GroupVersion) { k.set(gv, nil) }

// resolve finds kinds, asking the server about each group and version of which one is not known.
// What is not in the result is not served: every question was answered.
func (c *mapper) resolve(ctx context.Context, of []schema.GroupVersionKind) (map[schema.GroupVersionKind]resource, error) {
	var ask []schema.GroupVersion
	for _, kind := range of {
		if _, ok := c.kinds.find(kind); !ok && !slices.Contains(ask, kind.GroupVersion()) {
			ask = append(ask, kind.GroupVersion())
		}
	}
	err := each(ctx, len(ask), func(ctx context.Context, i int) error {
		served, err := c.discover(ctx, ask[i])
		if err != nil {
			return fmt.Errorf("discover %s: %w", ask[i], err)
		}
		c.kinds.set(ask[i], served)
		return nil
	})
	if err != nil {
		return nil, err
	}
	found := map[schema.GroupVersionKind]resource{}
	for _, kind := range of {
		if r, ok := c.kinds.find(kind); ok {
			found[kind] = r
		}
	}
	return found, nil
}

// locate finds a kind in any version; false: complete discovery does not serve it.
func (c *mapper) locate(ctx context.Context, of schema.GroupKind) (resource, bool, error) {
	if r, ok := c.kinds.anyVersion(of); ok {
		return r, true, nil
	}
	versions, err := c.versions(ctx, of.Group)
	if err != nil {
		return resource{}, false, fmt.Errorf("discover %s: %w", of, err)
	}
	for _, v := range versions {
		kind := of.WithVersion(v)
		found, err := c.resolve(ctx, []schema.GroupVersionKind{kind})
		if err != nil {
			return resource{}, false, err
		}
		if r, ok := found[kind]; ok {
			return r, true, nil
		}
	}
	return resource{}, false, nil
}

// discover asks for one group and version alone, so that somebody else's broken API is not linkwright's concern. A 404 is believed only when the
// list of groups, too, knows nothing of it: any proxy can say 404.
func (c *mapper) discover(ctx context.Context, gv schema.GroupVersion) (map[string]resource, error) {
	var list metav1.APIResourceList
	root := resource{GroupVersionKind: gv.WithKind("")}.path("", "")
	err := c.ask(ctx, root[:len(root)-1], &list)
	if apierrors.IsNotFound(err) {
		return nil, c.absent(ctx, gv)
	}
	if err != nil {
		return nil, err
	}
	if list.Kind != "APIResourceList" || list.GroupVersion != gv.String() {
		return nil, fmt.Errorf("the answer is not a list of %s: check that this is the address of an API server", gv)
	}
	served := map[string]resource{}
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			served[r.Kind] = resource{GroupVersionKind: gv.WithKind(r.Kind), plural: r.Name, namespaced: r.Namespaced}
		}
	}
	return served, nil
}

// absent is nil when the group list confirms that the version is not served.
func (c *mapper) absent(ctx context.Context, gv schema.GroupVersion) error {
	versions, err := c.versions(ctx, gv.Group)
	switch {
	case err != nil:
		return err
	case slices.Contains(versions, gv.Version):
		return fmt.Errorf("the API server lists %s but does not serve it", gv)
	}
	return nil
}

// versions of a group, the preferred one first; none: the group does not exist.
func (c *mapper) versions(ctx context.Context, group string) ([]string, error) {
	if group == "" {
		return []string{"v1"}, nil
	}
	var list metav1.APIGroupList
	if err := c.ask(ctx, []string{"apis"}, &list); err != nil {
		return nil, err
	}
	if list.Kind != "APIGroupList" {
		return nil, fmt.Errorf("the answer is not a list of groups: check that this is the address of an API server")
	}
	var versions []string
	for _, g := range list.Groups {
		if g.Name != group {
			continue
		}
		versions = append(versions, g.PreferredVersion.Version)
		for _, v := range g.Versions {
			versions = append(versions, v.Version)
		}
	}
	return slices.DeleteFunc(versions, func(v string) bool { return v == "" }), nil
}

func (c *conn) ask(ctx context.Context, path []string, into any) error {
	raw, err := rawJSON(ctx, setPath(c.rest.Get(), path))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}
