package inventory

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// What is written is read without reflection, and read as by encoding/json.
func TestCanonical(t *testing.T) {
	link := api.Pair{Source: "west", Target: "east"}
	for _, inv := range []Inventory{
		{End: object.End{Cluster: "west", Link: link}, Leaving: true, Entries: []object.Key{
			{Kind: "ClusterRole", Name: "a"}, {Kind: "Secret", Namespace: "ns", Name: "a"}, {Group: "apps", Kind: "Deployment", Namespace: "ns", Name: "a"},
		}},
		{End: object.End{Cluster: "west", Link: link}, Leaving: true, Since: noon, Entries: []object.Key{{Kind: "Secret", Name: "a"}}},
		{End: object.End{Cluster: "west"}, Leaving: true, Since: noon, Commit: "0123abc", Term: 12},
		{End: object.End{Cluster: "west"}, Commit: "0123abc", Term: 12},
		{End: object.End{Cluster: "west"}, Commit: "0123abc", Term: 12, Linkerd: api.Linkerd{Namespace: "a", MulticlusterNamespace: "b"}},
		{End: object.End{Cluster: "west"}, Linkerd: api.Linkerd{Namespace: "a", MulticlusterNamespace: "b"}, Entries: []object.Key{{Kind: "Secret", Name: "a"}}},
		{End: object.End{Cluster: "west", Link: link}, Conditions: []object.Condition{
			{Type: object.Ready, Status: object.False, Reason: "ControllerNotLeading", Message: "controller leads: ControllerNotLeading", Since: noon},
			{Type: object.Stalled, Status: object.True, Reason: "ControllerNotLeading", Since: noon},
		}, Entries: []object.Key{{Kind: "Secret", Name: "a"}}},
		{End: object.End{Cluster: "west", Link: link}, Conditions: []object.Condition{{Type: object.Ready, Status: object.True, Reason: "Healthy", Since: noon}}},
		{End: object.End{Cluster: "east", Link: link}, Term: -1, Entries: []object.Key{{Kind: "Secret", Name: "a"}}},
	} {
		o, err := inv.Object(object.DefaultOwner)
		if err != nil {
			t.Fatal(err)
		}
		data, ok := o.Body.Text("data", dataKey)
		if !ok {
			t.Fatalf("no data in %s", o.Body.Bytes())
		}
		if _, ok := parseCanonical(data); !ok {
			t.Errorf("canonical(%s): got false", data)
		}
		sameAsDecoded(t, data)
	}
}

func sameAsDecoded(t *testing.T, data string) {
	t.Helper()
	got, ok := parseCanonical(data)
	if !ok {
		return
	}
	var want wire
	if err := json.Unmarshal([]byte(data), &want); err != nil {
		t.Fatalf("canonical(%s): got %v, want %v", data, got, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("canonical(%s): -want +got\n%s", data, diff)
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add(`{"version":1,"cluster":"a","entries":[{"kind":"Secret","namespace":"a","name":"b"},{"group":"g","kind":"k","name":"c"}]}`)
	f.Add(`{"version":1,"cluster":"a","x":{"entries":[]},"entries":[{"kind":"a","name":"b"}]}`)
	f.Add(`{"version":1,"Entries":[{}],"entries":[{"kind":"a","name":"b","x":1}]}`)
	f.Add(`{"version":1,"cluster":"a","source":"a","target":"b","leaving":true,"commit":"c","term":7,"entries":[{"kind":"a","name":"b"}]}`)
	f.Add(`{"version":1,"cluster":"a","term":07}`)
	f.Add(`{"version":1,"cluster":"a","leaving":true,"since":"2026-11-22T12:00:00Z","commit":"c","entries":[{"kind":"a","name":"b"}]}`)
	f.Add(`{"version":1,"cluster":"a","since":"2026-11-22T12:00:00.5+01:00"}`)
	f.Add(`{"version":1,"cluster":"a","since":"0001-01-01T00:00:00Z"}`)
	f.Add(`{"version":1,"cluster":"a","since":"2026-11-22T12:00:00,5Z"}`)
	f.Add(`{"version":1,"cluster":"a","since":"2026-11-22T12:00:00+00:00"}`)
	f.Add(`{"version":1,"cluster":"a","approved":[{"hash":"h","entries":[{"kind":"a","name":"b","uid":"u"}]}],"entries":[{"kind":"a","name":"b"}]}`)
	f.Add(`{"version":1,"cluster":"a","commit":"c","term":7,"linkerd":{"namespace":"a","multiclusterNamespace":"b"},"entries":[{"kind":"a","name":"b"}]}`)
	f.Add(`{"version":1,"cluster":"a","linkerd":{}}`)
	f.Add(`{"version":1,"cluster":"a","source":"b","target":"a","rotate":{"after":1,"revoke":true},"entries":[{"kind":"a","name":"b"}]}`)
	f.Add(`{"version":1,"cluster":"a","rotate":{},"rotate":null}`)
	f.Add(`{"version":1,"cluster":"a","linkerd":{"namespace":"","multiclusterNamespace":"b"}}`)
	f.Add(`{"version":1,"cluster":"a","linkerd":{"namespace":"a"},"linkerd":{"multiclusterNamespace":"b"}}`)
	f.Add(`{"version":1,"cluster":"a","source":"a","target":"b","conditions":[{"type":"Ready","status":"False","reason":"ControllerNotLeading","message":"controller leads: ControllerNotLeading","since":"2026-11-22T12:00:00Z"},{"type":"Stalled","status":"True","reason":"ControllerNotLeading","since":"2026-11-22T12:00:00Z"}],"entries":[{"kind":"a","name":"b"}]}`)
	f.Add(`{"version":1,"cluster":"a","conditions":[]}`)
	f.Add(`{"version":1,"cluster":"a","conditions":[{"type":"Ready","status":"True","reason":"x","since":"2026-11-22T12:00:00.5+01:00"}],"linkerd":{"namespace":"a","multiclusterNamespace":"b"}}`)
	f.Add(`{"version":1,"cluster":"a","conditions":[{"type":"Ready"}],"conditions":[{"type":"Ready","status":"True","reason":"x","since":"0001-01-01T00:00:00Z"}]}`)
	f.Fuzz(sameAsDecoded)
}
