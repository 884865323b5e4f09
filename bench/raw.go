package main

import (
	"context"
	"fmt"
	"path"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/object"
)

// raw is the limit: server-side applies through client-go, so many in flight, of bodies that are ready. It reads no
// answer, knows no order and keeps nothing.
type raw struct {
	client rest.Interface
	width  int
}

func newRaw(cfg *rest.Config, width int) (*raw, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.APIPath, cfg.GroupVersion, cfg.NegotiatedSerializer = "/", &schema.GroupVersion{}, serializer.WithoutConversionCodecFactory{CodecFactory: scheme.Codecs}
	client, err := rest.UnversionedRESTClientFor(cfg)
	return &raw{client, width}, err
}

func (r *raw) apply(ctx context.Context, objects []object.Object) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.width)
	for _, o := range objects {
		g.Go(func() error {
			err := r.client.Patch(types.ApplyPatchType).AbsPath(pathOf(o)).
				Param("fieldManager", object.Manager(object.DefaultOwner)).Param("force", "true").
				Body(o.Body.Bytes()).Do(ctx).Error()
			if err != nil {
				return fmt.Errorf("apply %s: %w", o.Key, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// pathOf is where an object is. The resource's name is the kind's, lower case, with an s: true of all that links hold.
func pathOf(o object.Object) string {
	return path.Join(collection(o.Key.Group, o.Version, o.Key.Kind, o.Key.Namespace), o.Key.Name)
}

func collection(group, version, kind, namespace string) string {
	at := "/api/" + version
	if group != "" {
		at = path.Join("/apis", group, version)
	}
	if namespace != "" {
		at = path.Join(at, "namespaces", namespace)
	}
	return path.Join(at, strings.ToLower(kind)+"s")
}
