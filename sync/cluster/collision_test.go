package cluster

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/util/retry"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
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

// onePort returns a Service whose only port must not simply be removed.
func onePort(t *testing.T, ns, name string) object.Object {
	t.Helper()
	c := coreac.Service(name, ns).WithSpec(coreac.ServiceSpec().WithPorts(coreac.ServicePort().WithName("mc-probe").WithPort(4191)))
	return seal(t, object.Spec{
		Key:     object.Key{Kind: "Service", Namespace: ns, Name: name},
		Version: "v1", Meta: c.ObjectMetaApplyConfiguration, Config: c,
	})
}

// A list item whose key somebody changed by PUT is no drift of linkwright where it collides with nothing; where it does, the update fails, says by
// whom and what to do, and changes nothing until the item is gone.
func TestChangedListKeys(t *testing.T) {
	c, _, ns := east(t)
	for _, tt := range []struct {
		name      string
		object    object.Object
		old, next string
		field     string // that collides; "": none
	}{
		{"port of a Service", service(t, ns, "a"), `"port":4191`, `"port":4192`, "spec.ports[1].name"},
		{"the only port of a Service", onePort(t, ns, "b"), `"port":4191`, `"port":4192`, "spec.ports[1].name"},
		{"port of a container", deployment(t, ns, "c"), `"containerPort":9999`, `"containerPort":9998`, "spec.template.spec.containers[0].ports[1].name"},
		{"a volume: nothing collides", deployment(t, ns, "d"), `"name":"tmp"`, `"name":"other"`, ""},
		{"a variable: nothing collides", deployment(t, ns, "e"), `"name":"MODE"`, `"name":"OTHER"`, ""},
		{"a container: nothing collides", deployment(t, ns, "f"), `"name":"service-mirror"`, `"name":"other"`, ""},
	} {
		was := write(t, c, create(tt.object))
		respell(t, c, tt.object, tt.old, tt.next)
		if tt.field != "" {
			_, err := c.Write(t.Context(), update(tt.object, was))
			_, _, rehearsed := c.Preview(t.Context(), update(tt.object, was))
			for _, err := range []error{err, rehearsed} {
				collides(t, tt.name, err, object.Rejection{Field: tt.field, By: "foreign"})
			}
			respell(t, c, tt.object, tt.next, tt.old)
		}
		if now := write(t, c, update(tt.object, was)); !tt.object.Covered(now) || now.UID != was.UID {
			t.Errorf("%s: update: got %+v, want it covered", tt.name, now)
		}
	}
}

func collides(t *testing.T, what string, err error, want object.Rejection) {
	t.Helper()
	got, ok := Rejection(err)
	if !ok || got != want {
		t.Errorf("%s: Refused(%v): got %+v, %v, want %+v", what, err, got, ok, want)
	}
	why := Explain(err)
	if why.Code != reason.ListKeyConflict || !strings.Contains(why.Message, "others with items in that list: foreign") ||
		!strings.Contains(why.Message, "Duplicate value") || !strings.Contains(why.Message, "remove the other item") {
		t.Errorf("%s: Explain: got %+v", what, why)
	}
}

// What we wrote twice ourselves, nobody else is to blame for; nor is what another object holds.
func TestOwnDuplicatesAreInvalid(t *testing.T) {
	c, _, ns := east(t)
	o := service(t, ns, "a")
	was := write(t, c, create(o))
	double := o
	double.Body = object.NewBody([]byte(strings.Replace(string(o.Body.Bytes()), `"metrics"`, `"probe"`, 1)))
	another := was
	another.UID = "00000000-0000-0000-0000-000000000000"
	respell(t, c, o, `"port":4191`, `"port":4192`)
	for _, ch := range []object.Change{update(double, was), update(o, another)} {
		if _, err := c.Write(t.Context(), ch); err == nil || isListKeyConflict(err) {
			t.Errorf("update of %+v: got %v, want an error that is no collision", ch.Was, err)
		}
	}
}

func TestDuplicate(t *testing.T) {
	path := field.NewPath("spec", "ports").Index(1).Child("name")
	of := func(errs ...*field.Error) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "a", errs)
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{of(field.Duplicate(path, "a")), "spec.ports[1].name"},
		{of(field.Duplicate(path, "a"), field.Required(path, "")), ""},
		{of(), ""},
		{apierrors.NewConflict(schema.GroupResource{}, "a", nil), ""},
		{nil, ""},
	} {
		if got := duplicate(tt.err); got != tt.want {
			t.Errorf("duplicate(%v): got %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestRepeats(t *testing.T) {
	for _, tt := range []struct {
		ours, field string
		want        bool
	}{
		{`{"ports":[{"name":"a"},{"name":"b"}]}`, "ports[1].name", false},
		{`{"ports":[{"name":"a"},{"name":"a"}]}`, "ports[1].name", true},
		{`{"ports":[{"port":1},{"port":2}]}`, "ports[1].name", false}, // absent values are not equal
		{`{"boxes":[{"ports":[{"id":1}]},{"ports":[{"id":1}]}]}`, "boxes[0].ports[1].id", false},
		{`{"boxes":[{"ports":[{"id":0}]},{"ports":[{"id":1},{"id":1}]}]}`, "boxes[0].ports[1].id", true},
		{`{"items":["a","a"]}`, "items[1]", true},
		{`{"name":"a"}`, "name", false},
		{`{"ports":"a"}`, "ports[0].name", false},
		{`{"ports":[1,[2]]}`, "ports[0].name[1].x", false},
	} {
		var ours any
		if err := json.Unmarshal([]byte(tt.ours), &ours); err != nil {
			t.Fatal(err)
		}
		if list, leaf := splitField(tt.field); repeats(ours, list, leaf) != tt.want {
			t.Errorf("repeats(%s of %s): want %v", tt.field, tt.ours, tt.want)
		}
	}
}
