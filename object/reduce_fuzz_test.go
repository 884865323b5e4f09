package object

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzReduce: whatever an API server gives as metadata, an object is ours only with all of the proof, and what a record says
// depends neither on the way the metadata came nor on the order of managers.
func FuzzReduce(f *testing.F) {
	for _, seed := range []string{
		`{"uid":"1","resourceVersion":"2","labels":{"linkwright.dev/owner":"linkwright"},"annotations":{"linkwright.dev/digest":"0123456789abcdef"},` +
			`"managedFields":[{"manager":"linkwright","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{"f:linkwright.dev/owner":{}}}}}]}`,
		`{"labels":{"linkwright.dev/owner":"linkwright","mirror.linkerd.io/mirrored-service":"true"},"managedFields":[{"manager":"linkwright","operation":"Apply","fieldsV1":{"f:linkwright.dev/owner":{}}}]}`,
		`{"labels":{"linkwright.dev/owner":"linkwright"},"managedFields":[{"manager":"kubectl","operation":"Update","fieldsV1":{"f:linkwright.dev/owner":{}}},{"manager":"linkwright","operation":"Update","subresource":"status","fieldsV1":{"f:linkwright.dev/owner":{}}}]}`,
		`{"labels":{"linkwright.dev/owner":"blue"},"annotations":{"linkwright.dev/prune":"disabled"},"deletionTimestamp":"2026-11-22T12:00:00Z"}`,
		`{"annotations":{"linkwright.dev/digest":"0123456789ABCDEF"},"managedFields":[{"manager":"b"},{"manager":"a"},{"manager":"b"}]}`,
		`{}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var m metav1.ObjectMeta
		if json.Unmarshal([]byte(text), &m) != nil {
			return
		}
		got := Reduce(&m, DefaultOwner)
		if got.Mark == Ours && !provenOurs(m) {
			t.Errorf("Reduce(%s): ours without proof", text)
		}
		if got.PruneDisabled != (m.Annotations[PruneAnnotation] == PruneDisabled) || got.Terminating != (m.DeletionTimestamp != nil) || got.UID != string(m.UID) {
			t.Errorf("Reduce(%s): %+v", text, got)
		}
		if resent := Reduce(sentAgain(t, m), DefaultOwner); resent != got {
			t.Errorf("Reduce(%s): got %+v, and of the same sent again %+v", text, got, resent)
		}
		if entries := m.ManagedFields; len(slices.DeleteFunc(slices.Clone(entries), func(e metav1.ManagedFieldsEntry) bool { return e.Manager != Manager(DefaultOwner) })) < 2 {
			slices.Reverse(entries)
			if reversed := Reduce(&m, DefaultOwner); reversed != got {
				t.Errorf("Reduce(%s): got %+v, and with managers turned round %+v", text, got, reversed)
			}
		}
	})
}

// provenOurs asks for the proof in another way than Reduce does.
func provenOurs(m metav1.ObjectMeta) bool {
	set := slices.ContainsFunc(m.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		fields, err := json.Marshal(e.FieldsV1)
		return err == nil && e.Manager == "linkwright" && e.Subresource == "" && strings.Contains(string(fields), "f:linkwright.dev/owner")
	})
	_, mirrored := m.Labels["mirror.linkerd.io/mirrored-service"]
	return set && !mirrored && m.Labels["linkwright.dev/owner"] == "linkwright"
}

func sentAgain(t *testing.T, m metav1.ObjectMeta) *metav1.ObjectMeta {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Skip("it cannot be sent") // such as bytes that are no JSON
	}
	var out metav1.ObjectMeta
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &out
}
