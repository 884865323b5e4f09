package inventory

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

func TestRecordRoundTrip(t *testing.T) {
	want := map[api.ClusterName]KnownCluster{
		"east": {UID: "1", Access: api.Access{KubeconfigSecret: &api.SecretKey{Name: "east", Key: "kubeconfig"}}, Linkerd: api.Linkerd{Namespace: "linkerd"}},
		"home": {UID: "2", Access: api.Access{InCluster: true}},
	}
	o, err := Record{Clusters: want}.Object("blue", "here")
	if err != nil {
		t.Fatal(err)
	}
	if o.Key != (object.Key{Kind: "ConfigMap", Namespace: "here", Name: "linkwright-blue-fleet"}) || RecordKey(owner, "here").Name != "linkwright-fleet" {
		t.Errorf("it is called %s", o.Key)
	}
	got, err := ReadRecord(o.Key, holding(o.Key, object.Written(o), o.Body))
	if err != nil || got.Was != object.Written(o) {
		t.Fatalf("ReadRecord: %+v, %v", got.Was, err)
	}
	if diff := cmp.Diff(want, got.Clusters); diff != "" {
		t.Errorf("ReadRecord: -want +got\n%s", diff)
	}
}

// An absent record is empty, and can be written into; one that cannot be understood is an error.
func TestReadRecord(t *testing.T) {
	key := RecordKey(owner, "here")
	got, err := ReadRecord(key, object.Observation{})
	if err != nil || got.Clusters == nil || !got.Was.IsZero() {
		t.Errorf("absent: %+v, %v", got, err)
	}
	tests := map[string]string{
		`{"version":1}`:                 "",
		`{"version":1,"clusters":null}`: "",
		`{"version":2}`:                 "version 2",
		`{}`:                            "version 0",
		`]`:                             "fleet.json",
	}
	for data, want := range tests {
		text, err := json.Marshal(map[string]any{"data": map[string]string{"fleet.json": data}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadRecord(key, recordOf(key, object.Ours, text))
		switch {
		case want == "" && (err != nil || got.Clusters == nil):
			t.Errorf("%s: %+v, %v", data, got, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", data, err, want)
		}
	}
	if _, err := ReadRecord(key, recordOf(key, object.Ours, []byte(`]`))); err == nil {
		t.Error("no object: no error")
	}
}

func recordOf(key object.Key, mark object.Mark, body []byte) object.Observation {
	return holding(key, object.Record{UID: "x", Mark: mark}, object.NewBody(body))
}

// holding is a cluster that holds one object.
func holding(key object.Key, r object.Record, body object.Body) object.Observation {
	item := object.Item{Namespace: key.Namespace, Name: key.Name, Record: r, Body: body}
	return object.NewObservation(nil, object.Layer{Group: key.Group, Kind: key.Kind, Items: []object.Item{item}})
}

// Whatever stands in a ConfigMap of our name: an error, or something that can be written as it was read.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"version":1,"cluster":"west","source":"west","target":"east","leaving":true,"entries":[{"kind":"Secret","name":"a"}]}`,
		`{"version":1,"cluster":"west"}`, `{"version":2}`, `{}`, `]`, `{"version":1,"cluster":"west","entries":[{},{}]}`,
		`{"version":1,"cluster":"west","leaving":true,"since":"2026-11-22T12:00:00Z"}`,
		`{"version":1,"cluster":"west","since":"2026-11-22T12:00:00Z"}`,
		`{"version":1,"cluster":"west","leaving":true,"since":"9999-12-31T23:59:59.5-23:59"}`,
		`{"version":1,"cluster":"west","leaving":true,"since":"0000-01-01T00:00:00Z"}`,
		`{"version":1,"cluster":"west","approved":[{"hash":"0123456789ab","entries":[{"kind":"Secret","namespace":"x","name":"a","uid":"1"}]},{}]}`,
		`{"version":1,"cluster":"west","linkerd":{"namespace":"a","multiclusterNamespace":"b"}}`,
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	for name := range goldens() {
		body, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(body), true)
	}
	f.Fuzz(func(t *testing.T, data string, whole bool) {
		body := []byte(data)
		if !whole {
			body = wrap(t, dataKey, data)
		}
		for _, end := range []object.End{west, {Cluster: "west"}} {
			got, _ := Read(owner, recordOf(Key(owner, end), object.Ours, body))
			if len(got) == 0 { // an error, or the inventory of another end, which is none
				continue
			}
			if len(got) != 1 || Key(owner, got[0].End) != Key(owner, end) {
				t.Fatalf("Read(%s) of %s: %+v", data, end, got)
			}
			again, err := Read(owner, stored(t, owner, got[0]))
			if err != nil || !again[0].Same(got[0]) {
				t.Fatalf("Read(%s): %+v, then %+v, %v", data, got, again, err)
			}
		}
	})
}

func FuzzReadRecord(f *testing.F) {
	for _, seed := range []string{
		`{"version":1,"clusters":{"east":{"uid":"1","access":{"inCluster":true}}}}`, `{"version":2}`, `{}`, `]`, `{"version":1,"clusters":null}`,
		`{"version":1,"decisions":[{"kind":"Suspend","cluster":"east","by":"x","until":"9999-12-31T23:59:59-01:00"},{"kind":"Suspend","more":"<"},null,1]}`,
		`{"version":1,"approvals":[{"hash":"5","units":[{"kind":"<"}],"at":"9999-12-31T23:59:59-01:00"},null,1]}`, `{"version":1,"approvals":{"a":[]}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		key := RecordKey(owner, "here")
		got, err := ReadRecord(key, recordOf(key, object.Ours, wrap(t, fleetKey, data)))
		if err != nil {
			return
		}
		if got.Clusters == nil {
			t.Fatalf("ReadRecord(%s): nothing to write into", data)
		}
		o, err := got.Object(owner, "here")
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadRecord(key, recordOf(key, object.Ours, o.Body.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{got.Clusters, got.Decisions, got.Approvals, got.Unread}, []any{again.Clusters, again.Decisions, again.Approvals, again.Unread}); diff != "" {
			t.Fatalf("ReadRecord(%s): -first +again\n%s", data, diff)
		}
	})
}

func wrap(t *testing.T, key, data string) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"data": map[string]string{key: data}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
