package render

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// sealed is an object with a spec.
func sealed(t *testing.T, k object.Key, spec string) object.Object {
	t.Helper()
	content := map[string]any{"metadata": map[string]any{"name": k.Name}}
	if err := json.Unmarshal([]byte(spec), &content); err != nil {
		t.Fatal(err)
	}
	o, err := object.Seal(object.Spec{Key: k, Version: "v1", Phase: object.PhaseControllers, Owner: "blue"}, content)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestWithout(t *testing.T) {
	deployment := object.Key{Group: "apps", Kind: "Deployment", Name: "a"}
	service := object.Key{Kind: "Service", Name: "a"}
	const spec = `{"spec":{"replicas":1,"strategy":{"rollingUpdate":{"maxSurge":1}},"template":{"spec":{"priority":9007199254740993}}}}`
	tests := []struct {
		name   string
		key    object.Key
		kind   api.IgnoredKind
		fields []string
		want   string // spec
	}{
		{"no field", deployment, "Deployment", nil, spec},
		{"one field", deployment, "Deployment", []string{"spec.replicas"}, `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":1}},"template":{"spec":{"priority":9007199254740993}}}}`},
		{"what it leaves empty", deployment, "Deployment", []string{"spec.strategy.rollingUpdate.maxSurge"}, `{"spec":{"replicas":1,"template":{"spec":{"priority":9007199254740993}}}}`},
		{"all but spec", deployment, "Deployment", []string{"spec.replicas", "spec.strategy", "spec.template"}, `{"spec":{}}`},
		{"an absent field", deployment, "Deployment", []string{"spec.paused"}, spec},
		{"below a number", deployment, "Deployment", []string{"spec.replicas.min"}, spec},
		{"another kind", deployment, "Service", []string{"spec.replicas"}, spec},
		{"a service", service, "Service", []string{"spec.replicas"}, `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":1}},"template":{"spec":{"priority":9007199254740993}}}}`},
		{"another group", object.Key{Group: "serving.knative.dev", Kind: "Service", Name: "a"}, "Service", []string{"spec.replicas"}, spec},
	}
	for _, tt := range tests {
		given := object.Desired{Objects: []object.Object{sealed(t, service, `{"spec":{"type":"x"}}`), sealed(t, tt.key, spec)}}
		before := given.Objects[1]
		got := Without(given, []api.Ignore{{Kind: tt.kind, Fields: tt.fields}}, "blue")
		want := sealed(t, tt.key, tt.want)
		if diff := cmp.Diff(string(want.Body.Bytes()), string(got.Objects[1].Body.Bytes())); diff != "" || got.Objects[1].Digest != want.Digest {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
		if o := got.Objects[1]; o.Key != tt.key || o.Version != "v1" || o.Phase != object.PhaseControllers {
			t.Errorf("%s: %+v", tt.name, o)
		}
		if given.Objects[1] != before || got.Objects[0] != given.Objects[0] {
			t.Errorf("%s: what it was given has changed", tt.name)
		}
	}
}

// What can be no object holds its end, and says why.
func TestWithoutBroken(t *testing.T) {
	for _, body := range []string{`]`, `{"spec":{"replicas":1}}`} {
		o := object.Object{Key: object.Key{Group: "apps", Kind: "Deployment", Name: "a"}, Body: object.NewBody([]byte(body))}
		got := Without(object.Desired{Objects: []object.Object{o}}, []api.Ignore{{Kind: "Deployment", Fields: []string{"spec.replicas"}}}, "blue")
		if got.Blocked == nil || got.Blocked.Code != "RenderFailed" || len(got.Objects) > 0 {
			t.Errorf("Without(%s): %+v", body, got)
		}
	}
}
