package cluster

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/util/retry"

	"github.com/linkwright/linkwright/object"
)

// respell is somebody's PUT that changes one thing in the text of the live object, whatever controllers write meanwhile.
func respell(t *testing.T, c *Client, o object.Object, old, next string) {
	t.Helper()
	live := at(t, c, o)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		u, err := live.Get(t.Context(), o.Key.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		u.SetManagedFields(nil) // of which a PUT that names none changes nothing
		text, err := json.Marshal(u)
		if err != nil {
			return err
		}
		if strings.Count(string(text), old) != 1 {
			return fmt.Errorf("%s is not once in %s", old, text)
		}
		if err := u.UnmarshalJSON([]byte(strings.Replace(string(text), old, next, 1))); err != nil {
			return err
		}
		_, err = live.Update(t.Context(), u, metav1.UpdateOptions{FieldManager: "foreign"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// onePort is a Service whose only port must not simply be removed.
func onePort(t *testing.T, ns, name string) object.Object {
	t.Helper()
	c := coreac.Service(name, ns).WithSpec(coreac.ServiceSpec().WithPorts(coreac.ServicePort().WithName("mc-probe").WithPort(4191)))
	return seal(t, object.Spec{
		Key:     object.Key{Kind: "Service", Namespace: ns, Name: name},
		Version: "v1", Meta: c.ObjectMetaApplyConfiguration, Config: c,
	})
}

func TestChangedListKeysAreRepaired(t *testing.T) {
	needBed(t)
	c, count := dial(t, live.Config, Options{})
	_, _, ns := east(t)
	inPod := []string{"spec", "template", "spec"}
	get, patch := "GET", "PATCH"
	for _, tt := range []struct {
		name      string
		object    object.Object
		old, next string
		list      []string // whose items' names are told after it
		want      string
		requests  []string
	}{
		{"port of a Service", service(t, ns, "a"), `"port":4191`, `"port":4192`, []string{"spec", "ports"}, "probe metrics", []string{get, patch, patch, patch}},
		{"the only port of a Service", onePort(t, ns, "b"), `"port":4191`, `"port":4192`, []string{"spec", "ports"}, "mc-probe", []string{get, patch, patch, patch, patch}},
		{"port of a container", deployment(t, ns, "c"), `"containerPort":9999`, `"containerPort":9998`, append(inPod, "containers", "ports"), "admin", []string{get, patch, patch, patch, patch}},
		{"a volume: nothing collides", deployment(t, ns, "d"), `"name":"tmp"`, `"name":"other"`, append(inPod, "volumes"), "other tmp", []string{patch}},
		{"a variable: nothing collides", deployment(t, ns, "e"), `"name":"MODE"`, `"name":"OTHER"`, append(inPod, "containers", "env"), "OTHER MODE", []string{patch}},
		{"a container: nothing collides", deployment(t, ns, "f"), `"name":"service-mirror"`, `"name":"other"`, append(inPod, "containers"), "other service-mirror", []string{patch}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			was := write(t, c, create(tt.object))
			respell(t, c, tt.object, tt.old, tt.next)
			count.taken()
			now := write(t, c, update(tt.object, was))
			if !tt.object.Covered(now) || now.Digest != tt.object.Digest || now.UID != was.UID {
				t.Errorf("update: got %+v, want it covered", now)
			}
			got := count.taken()
			for i := range got {
				got[i], _, _ = strings.Cut(got[i], " ")
			}
			// A Deployment's controllers write at the same time: the last step may be made again.
			again := tt.object.Key.Kind == "Deployment" && len(tt.requests) > 1 && len(got) > len(tt.requests)
			if !slices.Equal(got, tt.requests) && !again {
				t.Errorf("update: requests %v, want %v", got, tt.requests)
			}
			u, err := at(t, c, tt.object).Get(t.Context(), tt.object.Key.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(namesIn(u.Object, tt.list), " "); got != tt.want {
				t.Errorf("%v: got %s, want %s", tt.list, got, tt.want)
			}
			ownedOnce(t, u)
		})
	}
}

// namesIn gives the names of a list's items; of lists on the way, the first item counts.
func namesIn(of any, path []string) []string {
	if l, ok := of.([]any); ok && len(path) > 0 {
		return namesIn(l[0], path)
	}
	if len(path) > 0 {
		return namesIn(of.(map[string]any)[path[0]], path[1:])
	}
	var names []string
	for _, it := range of.([]any) {
		names = append(names, fmt.Sprint(it.(map[string]any)["name"]))
	}
	return names
}

// ownedOnce: what we apply is ours by applying alone, so that it goes when we apply it no more.
func ownedOnce(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	for _, e := range u.GetManagedFields() {
		if e.Manager == object.Manager(object.DefaultOwner) && e.Operation != metav1.ManagedFieldsOperationApply {
			t.Errorf("ours by %s: %s", e.Operation, e.FieldsV1.GetRawBytes())
		}
	}
}

// What we wrote twice ourselves, or what a fence or nothing stands for, is refused as before.
func TestOnlyForeignItemsAreRepaired(t *testing.T) {
	c, _, ns := east(t)
	o := service(t, ns, "a")
	was := write(t, c, create(o))
	twice := o
	twice.Body = object.NewBody([]byte(strings.Replace(string(o.Body.Bytes()), `"metrics"`, `"probe"`, 1)))
	respell(t, c, o, `"port":4191`, `"port":4192`)
	before := observed(t, c, o)
	fenced := update(o, before)
	fenced.Fenced = true
	another := was
	another.UID = "00000000-0000-0000-0000-000000000000"
	for _, ch := range []object.Change{fenced, update(o, object.Record{}), update(o, another)} {
		if _, err := c.Write(t.Context(), ch); err == nil {
			t.Errorf("update of %+v: got no error", ch.Was)
		}
		if after := observed(t, c, o); after.ResourceVersion != before.ResourceVersion {
			t.Fatalf("a refused write changed %+v to %+v", before, after)
		}
	}
	write(t, c, update(o, was))
	if _, err := c.Write(t.Context(), update(twice, was)); Explain(err).Code != Invalid {
		t.Errorf("update with two ports of one name: got %v, want code %s", err, Invalid)
	}
}

func TestRemedy(t *testing.T) {
	const fields = `"managedFields":[{"manager":"x","operation":"Update","fieldsV1":{"f:spec":{"f:ports":{"k:{\"port\":1,\"protocol\":\"TCP\"}":{}},` +
		`"f:boxes":{"k:{\"name\":\"a\"}":{"f:ports":{"k:{\"port\":1}":{}}}},"f:atomic":{}}}}]`
	for _, tt := range []struct {
		name, live, ours, field string
		want                    []string
	}{
		{
			"one of two", `"ports":[{"port":1,"name":"a"},{"port":2,"name":"b"}]`, `"ports":[{"port":3,"name":"a"}]`,
			"spec.ports[1].name",
			[]string{"remove /spec/ports/0"},
		},
		{
			"both of two", `"ports":[{"port":1,"name":"a"},{"port":2,"name":"b"}]`, `"ports":[{"port":3,"name":"a"},{"port":4,"name":"b"}]`,
			"spec.ports[0].name",
			[]string{"replace /spec/ports/1", "remove /spec/ports/0"},
		},
		{
			"ours is there as well", `"ports":[{"port":1,"name":"a"},{"port":3,"name":"x"}]`, `"ports":[{"port":3,"name":"a"}]`,
			"spec.ports[1].name",
			[]string{"remove /spec/ports/0"},
		},
		{
			"it may be ours", `"ports":[{"port":1,"protocol":"UDP","name":"a"}]`, `"ports":[{"port":1,"name":"a"}]`,
			"spec.ports[1].name", nil,
		},
		{
			"other protocol", `"ports":[{"port":1,"protocol":"UDP","name":"a"},{"port":9}]`, `"ports":[{"port":1,"protocol":"TCP","name":"a"}]`,
			"spec.ports[1].name",
			[]string{"remove /spec/ports/0"},
		},
		{
			"in an item", `"boxes":[{"name":"z","ports":[{"port":2,"id":"q"}]},{"name":"a","ports":[{"port":2,"id":"q"},{"port":3}]}]`,
			`"boxes":[{"name":"a","ports":[{"port":1,"id":"q"}]}]`, "spec.boxes[0].ports[1].id",
			[]string{"remove /spec/boxes/1/ports/0"},
		},
		{
			"nothing of that value", `"ports":[{"port":1,"name":"b"}]`, `"ports":[{"port":3,"name":"a"}]`, "spec.ports[1].name", nil,
		},
		{
			"absent values are not equal", `"ports":[{"port":1}]`, `"ports":[{"port":3}]`, "spec.ports[1].name", nil,
		},
		{
			"list without keys", `"atomic":[{"name":"a"}]`, `"atomic":[{"name":"a","x":1}]`, "spec.atomic[1].name", nil,
		},
		{"the item itself", `"ports":[{"port":1,"name":"a"}]`, `"ports":[{"port":3,"name":"a"}]`, "spec.ports[1]", nil},
		{"no list", `"name":"a"`, `"name":"a"`, "spec.name", nil},
		{"keys of a map", `"ports":[{"port":1,"name":"a"}]`, `"ports":[{"port":3,"name":"a"}]`, "spec.ports[x].name", nil},
		{"no field", `"ports":[{"port":1,"name":"a"}]`, `"ports":[{"port":3,"name":"a"}]`, "", nil},
	} {
		live := `{"metadata":{` + fields + `},"spec":{` + tt.live + `}}`
		ops, err := remedy([]byte(live), []byte(`{"spec":{`+tt.ours+`}}`), []string{tt.field, tt.field})
		var got []string
		for _, o := range ops {
			got = append(got, o.Op+" "+o.Path)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("remedy(%s): %v, -want +got\n%s", tt.name, err, diff)
		}
	}
}

func FuzzRemedy(f *testing.F) {
	f.Add(`{"metadata":{"managedFields":[{"fieldsV1":{"f:spec":{"f:ports":{"k:{\"port\":1}":{}}}}}]},"spec":{"ports":[{"port":1,"name":"a"}]}}`,
		`{"spec":{"ports":[{"port":2,"name":"a"}]}}`, "spec.ports[0].name")
	f.Fuzz(func(t *testing.T, live, ours, field string) {
		ops, err := remedy([]byte(live), []byte(ours), []string{field})
		if err != nil {
			return
		}
		for _, o := range ops {
			if !strings.HasPrefix(o.Path, "/") || o.Op == "replace" && o.Value == nil {
				t.Errorf("remedy: got %+v", o)
			}
		}
	})
}
