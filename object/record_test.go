package object

import (
	"encoding/json"
	"testing"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// entry is one manager's in managedFields; what it holds is the names of labels.
func entry(manager string, op metav1.ManagedFieldsOperationType, labels ...string) metav1.ManagedFieldsEntry {
	fields := map[string]any{}
	for _, l := range labels {
		fields["f:"+l] = map[string]any{}
	}
	raw, err := json.Marshal(map[string]any{"f:metadata": map[string]any{"f:labels": fields}})
	if err != nil {
		panic(err)
	}
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: op, FieldsV1: metav1.NewFieldsV1(string(raw))}
}

func TestMark(t *testing.T) {
	apply, put := metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	status := entry("linkwright", put, OwnerLabel)
	status.Subresource = "status"
	tests := []struct {
		name    string
		owner   string
		labels  map[string]string
		managed []metav1.ManagedFieldsEntry
		want    Mark
	}{
		{"no label", "linkwright", nil, nil, Unmarked},
		{"no label, our manager", "linkwright", nil, []metav1.ManagedFieldsEntry{entry("linkwright", apply, "a")}, Unmarked},
		{"ours", "linkwright", map[string]string{OwnerLabel: "linkwright"}, []metav1.ManagedFieldsEntry{entry("linkwright", apply, OwnerLabel)}, Ours},
		{"ours by another owner name", "blue", map[string]string{OwnerLabel: "blue"}, []metav1.ManagedFieldsEntry{entry("linkwright-blue", apply, OwnerLabel)}, Ours},
		{"ours by an update", "linkwright", map[string]string{OwnerLabel: "linkwright"}, []metav1.ManagedFieldsEntry{entry("linkwright", put, OwnerLabel)}, Ours},
		{"another installation's", "linkwright", map[string]string{OwnerLabel: "blue"}, []metav1.ManagedFieldsEntry{entry("linkwright-blue", apply, OwnerLabel)}, Theirs},
		{"another installation's, which we touched", "linkwright", map[string]string{OwnerLabel: "blue"}, []metav1.ManagedFieldsEntry{entry("linkwright", apply, OwnerLabel)}, Theirs},
		{"label set by another manager", "linkwright", map[string]string{OwnerLabel: "linkwright"}, []metav1.ManagedFieldsEntry{entry("kubectl", put, OwnerLabel)}, Copied},
		{"label of an installation whose name begins with ours", "linkwright", map[string]string{OwnerLabel: "linkwright"}, []metav1.ManagedFieldsEntry{entry("linkwright-blue", apply, OwnerLabel)}, Copied},
		{"our manager, but not for the label", "linkwright", map[string]string{OwnerLabel: "linkwright"}, []metav1.ManagedFieldsEntry{entry("linkwright", apply, "a"), entry("kubectl", put, OwnerLabel)}, Copied},
		{"our manager, through a subresource", "linkwright", map[string]string{OwnerLabel: "linkwright"}, []metav1.ManagedFieldsEntry{status}, Copied},
		{"a mirror", "linkwright", map[string]string{OwnerLabel: "linkwright", mirroredLabel: "true"}, []metav1.ManagedFieldsEntry{entry("service-mirror", put, OwnerLabel)}, Copied},
		{"a mirror that we took over", "linkwright", map[string]string{OwnerLabel: "linkwright", mirroredLabel: "true"}, []metav1.ManagedFieldsEntry{entry("linkwright", apply, OwnerLabel)}, Copied},
		{"no managed fields", "linkwright", map[string]string{OwnerLabel: "linkwright"}, nil, Copied},
	}
	for _, tt := range tests {
		m := &metav1.ObjectMeta{Labels: tt.labels, ManagedFields: tt.managed}
		if got := Reduce(m, tt.owner).Mark; got != tt.want {
			t.Errorf("%s: Reduce: got mark %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A mirror selects nothing: whoever set a selector is listed with that field. Of what is no mirror nobody asks.
func TestSelects(t *testing.T) {
	entry := func(fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "any", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	mirrored := map[string]string{mirroredLabel: "true"}
	tests := []struct {
		name    string
		labels  map[string]string
		managed []metav1.ManagedFieldsEntry
		want    bool
	}{
		{"a selector", mirrored, []metav1.ManagedFieldsEntry{entry(`{"f:spec":{"f:ports":{}}}`), entry(`{"f:spec":{"f:selector":{}}}`)}, true},
		{"no selector", mirrored, []metav1.ManagedFieldsEntry{entry(`{"f:spec":{"f:ports":{}}}`)}, false},
		{"a label of that name", mirrored, []metav1.ManagedFieldsEntry{entry(`{"f:metadata":{"f:labels":{"f:selector":{}}}}`)}, false},
		{"no mirror", nil, []metav1.ManagedFieldsEntry{entry(`{"f:spec":{"f:selector":{}}}`)}, false},
		{"no managed fields", mirrored, nil, false},
		{"fields that cannot be read", mirrored, []metav1.ManagedFieldsEntry{entry(`{`), {Manager: "any"}}, false},
	}
	for _, tt := range tests {
		if got := Reduce(&metav1.ObjectMeta{Labels: tt.labels, ManagedFields: tt.managed}, "linkwright").HasSelector; got != tt.want {
			t.Errorf("%s: Reduce: selects %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestReduce(t *testing.T) {
	apply, put := metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	status := entry("kube-controller-manager", put)
	status.Subresource = "status"
	ours := entry("linkwright", apply, "a")
	now := metav1.Now()
	m := &metav1.ObjectMeta{
		UID: "u", ResourceVersion: "7", DeletionTimestamp: &now,
		Annotations:   map[string]string{DigestAnnotation: "00000000000000ff", PruneAnnotation: PruneDisabled},
		ManagedFields: []metav1.ManagedFieldsEntry{status, entry("z", put), ours, entry("helm", apply), entry("z", apply)},
	}
	want := Record{
		UID: "u", ResourceVersion: "7", Digest: 0xff, PruneDisabled: true, Terminating: true,
		Fields: unique.Make(string(ours.FieldsV1.GetRawBytes())), ForeignManagers: unique.Make("helm,z"),
	}
	if got := Reduce(m, "linkwright"); got != want {
		t.Errorf("Reduce: got %+v, want %+v", got, want)
	}
	if r := Reduce(&metav1.ObjectMeta{}, "linkwright"); !r.IsZero() || r.Fields.Value() != "" {
		t.Errorf("Reduce of nothing: got %+v", r)
	}
	for _, text := range []string{"", "ff", "00000000000000fg", "0x000000000000ff", "00000000000000ff0", "+0000000000000ff"} {
		m := &metav1.ObjectMeta{Annotations: map[string]string{DigestAnnotation: text}}
		if got := Reduce(m, "linkwright").Digest; got != 0 {
			t.Errorf("Reduce: digest %q: got %x, want 0", text, got)
		}
	}
}
