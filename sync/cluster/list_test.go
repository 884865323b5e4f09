package cluster

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/object"
)

// A whole object is kept as the server wrote it, without managed fields, and with its kind.
func TestWholeItem(t *testing.T) {
	c, err := connect(&rest.Config{Host: "https://example.com"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	as := reading{resource{GroupVersionKind: schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"}}, extent{object.Whole, true, false}}
	const raw = `{ "metadata": {"name":"n","managedFields":[{"manager":"x"}],"namespace":"s", "uid":"u","resourceVersion":"7","generation":2},"kind":"Other",` +
		`"spec":{"text":"a\u003cb \"}","list":[1.50,{}]},"status":{"observedGeneration":1}}`
	it, err := c.wholeItem([]byte(raw), as)
	const want = `{"apiVersion":"g/v1","kind":"K","metadata": {"name":"n","namespace":"s","uid":"u","resourceVersion":"7","generation":2},` +
		`"spec":{"text":"a\u003cb \"}","list":[1.50,{}]},"status":{"observedGeneration":1}}`
	if diff := cmp.Diff(want, string(it.Body.Bytes())); diff != "" || err != nil || !json.Valid(it.Body.Bytes()) {
		t.Errorf("body: %v -want +got\n%s", err, diff)
	}
	if r := it.Record; it.Name != "n" || it.Namespace != "s" || r.UID != "u" || r.ResourceVersion != "7" || r.ForeignManagers.Value() != "x" || r.Health.IsZero() {
		t.Errorf("item: %s/%s, %+v", it.Namespace, it.Name, r)
	}
	as.depth = object.Reduced
	if it, err := c.wholeItem([]byte(raw), as); err != nil || !it.Body.IsZero() || it.Record.Health.IsZero() {
		t.Errorf("reduced: %v, body %t, health %q", err, !it.Body.IsZero(), it.Record.Health)
	}
	for _, bad := range []string{``, `null`, `[]`, `{}`, `{"metadata":{"name":"n"},"spec":tru}`, `{"metadata":{"name":"n"}`, `{"metadata":"n"}`, `{"metadata":{"name":1}}`} {
		if it, err := c.wholeItem([]byte(bad), as); err == nil {
			t.Errorf("%s: got %s, want an error", bad, it.Name)
		}
	}
}

func TestListOf(t *testing.T) {
	as := reading{resource: resource{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "K"}}}
	got, err := listOf([]byte(`{"kind":"KList","metadata":{"resourceVersion":"9","continue":"c"},"items":[{"a":1},{"b":[]}]}`), as)
	if err != nil || got.meta.ResourceVersion != "9" || got.meta.Continue != "c" || len(got.items) != 2 || string(got.items[1]) != `{"b":[]}` {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := listOf([]byte(`{"kind":"KList","items":null}`), as); err != nil || len(got.items) != 0 {
		t.Errorf("of nothing: %+v, %v", got, err)
	}
	for bad, want := range map[string]string{
		``: "decode list", `[]`: "not a list", `{"kind":"KList","items":[{}`: "decode list", `{"kind":"KList","items":[{"a":tru}]}`: "decode list",
		`{"kind":"KList","items":{}}`: "field items", `{"kind":"KList","metadata":[]}`: "field metadata", `{"kind":1}`: "field kind",
		`{"kind":"OtherList","items":[]}`: `"OtherList"`,
	} {
		if got, err := listOf([]byte(bad), as); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v, want an error with %q", bad, got, err, want)
		}
	}
}
