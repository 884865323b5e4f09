package testbed

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// manager is the field manager and the user agent of the dressing.
const manager = "testbed"

//go:embed manifests
var manifests embed.FS

//go:embed manifests/anchor.crt
var sharedAnchor string

// as is cfg under another user agent, so that what the test bed asks for is
// not counted as somebody else's requests.
func as(cfg *rest.Config, userAgent string) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent, cfg.QPS, cfg.WarningHandler = userAgent, -1, rest.NoWarnings{}
	return cfg
}

// applyManifests fills the named files in with data and applies their objects
// in order.
func applyManifests(ctx context.Context, cfg *rest.Config, data any, names ...string) error {
	client, err := dynamic.NewForConfig(as(cfg, manager))
	if err != nil {
		return err
	}
	for _, name := range names {
		objects, err := fill(name, data)
		if err != nil {
			return fmt.Errorf("read manifest %s: %w", name, err)
		}
		for _, object := range objects {
			if err := apply(ctx, client, object); err != nil {
				return err
			}
		}
	}
	return nil
}

func fill(name string, data any) ([]*unstructured.Unstructured, error) {
	text, err := manifests.ReadFile("manifests/" + name)
	if err != nil {
		return nil, err
	}
	return expand(string(text), data)
}

// expand reads a template of YAML documents.
func expand(text string, data any) ([]*unstructured.Unstructured, error) {
	functions := template.FuncMap{"json": func(v any) (string, error) {
		out, err := json.Marshal(v)
		return string(out), err
	}}
	t, err := template.New("").Funcs(functions).Parse(text)
	if err != nil {
		return nil, err
	}
	var filled bytes.Buffer
	if err := t.Execute(&filled, data); err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(filled.String(), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// apply takes the resource's name from the kind: true for all kinds used here.
func apply(ctx context.Context, client dynamic.Interface, object *unstructured.Unstructured) error {
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	_, err := client.Resource(resource).Namespace(object.GetNamespace()).Apply(ctx, object.GetName(), object,
		metav1.ApplyOptions{FieldManager: manager, Force: true})
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}
