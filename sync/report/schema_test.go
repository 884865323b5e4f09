package report

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/outputschema"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report/output"
	"github.com/linkwright/linkwright/sync/state"
)

// inSchema holds an answer in JSON to the published schema of its kind.
func inSchema(t *testing.T, name, answer string) {
	t.Helper()
	if err := outputschema.Check([]byte(answer)); err != nil {
		t.Errorf("%s: %v\n%s", name, err, answer)
	}
}

// everything is an overview in which every field of every item is set.
func everything() Overview {
	o := recordedNow()
	commit, next := api.Commit("0123456789abcdef0123456789abcdef01234567"), api.Commit("fedcba9876543210fedcba9876543210fedcba98")
	o.Revision = Revision{Applied: commit, Observed: next, Since: o.At.Add(-time.Minute), AppliedSince: o.At.Add(-time.Hour), Why: object.Because(reason.InvalidDeclarations, "a.yaml:3:1: x"), Links: 9, Suspended: []api.ClusterName{"south"}}
	o.Writers = []Leader{{Only: "east", Lease: "linkwright/x", Holder: "pod-2", Renewed: o.At, Lasts: time.Second, Last: Sync{By: "job", At: o.At}}}
	o.Decisions = []Decision{{Kind: "Suspend", Object: "west/east", UID: "1", By: "alice", At: o.At, Until: o.At, Reason: "incident 42"}}
	o.Revision.Denied = object.Because(reason.PruneLimitExceeded, "this revision would remove 2 clusters")
	o.Clusters[0].Cleanup = []state.Pending{{Link: api.Pair{Source: "west", Target: "old"}, Since: o.At.Add(-time.Hour)}}
	o.Clusters = append(o.Clusters, RecordedCluster{Name: "leaves", Leaving: true}, RecordedCluster{Name: "other", Applied: next}, RecordedCluster{Name: "south"})
	return o
}

func answersOf(t *testing.T) map[string]Answer {
	t.Helper()
	o, r := everything(), first()
	r.Recorded = []LinkConditions{{Link: api.Pair{Source: "west", Target: "east"}, Conditions: o.Links[2].Conditions}}
	r.Opening = &o.Opening
	check, _ := ailing().CheckAnswer()
	out := map[string]Answer{
		"status": o.Answer(), "status of nothing": Overview{}.Answer(), "status with a repository": r.StatusAnswer(), "sync": r.Answer(), "sync of nothing": Report{}.Answer(),
		"links": o.LinkList().Answer(true), "no links": Overview{}.LinkList().Answer(true), "one link": o.LinkList().Only(func(ref string) bool { return ref == "link/west/east" }).One(true),
		"clusters": o.ClusterList().Answer(true), "revisions": o.RevisionList().Answer(true), "events": o.EventList().Answer(true), "no events": Overview{}.EventList().Answer(true),
		"check": check, "diff of nothing": Diff{}.Answer(nil), "problems": several().Answer(), "no problems": Problems{}.Answer(),
	}
	maps.Copy(out, writtenAnswers())
	for i, a := range o.EventList().Each() {
		out["event "+string(rune('a'+i))] = a
	}
	for i, a := range o.RevisionList().Each() {
		out["revision "+string(rune('a'+i))] = a
	}
	for name, find := range map[string]func() (Answer, bool){
		"describe link":                       func() (Answer, bool) { return r.LinkAnswer(api.Pair{Source: "west", Target: "east"}) },
		"describe cluster":                    func() (Answer, bool) { return r.ClusterAnswer("west") },
		"describe link without repository":    func() (Answer, bool) { return o.LinkAnswer(api.Pair{Source: "west", Target: "north"}) },
		"describe cluster without repository": func() (Answer, bool) { return o.ClusterAnswer("east") },
	} {
		a, ok := find()
		if !ok {
			t.Fatalf("%s: not found", name)
		}
		out[name] = a
	}
	return out
}

// writtenAnswers are those of commands that write, with every field set, and with as few as there can be.
func writtenAnswers() map[string]Answer {
	at, why := time.Date(2026, 11, 25, 4, 0, 0, 0, time.UTC), object.Because(reason.Progressing, "x")
	link := api.Pair{Source: "west", Target: "east"}
	key := object.Key{Group: "apps", Kind: "Deployment", Namespace: "linkerd-multicluster", Name: "controller-east"}
	body := object.NewBody([]byte(`{"kind":"Deployment"}`))
	change := ObjectDiff{Action: object.Adopt, Key: key, Why: *why}
	next := ObjectDiff{Action: object.Update, Key: key, Why: *why, Before: body, After: body}
	var manifests, none Manifests
	manifests.AddEnd(object.Desired{End: object.End{Cluster: "west", Link: link}, Blocked: why}, "")
	manifests.AddEnd(object.Desired{End: object.End{Cluster: "west"}, Objects: []object.Object{{Key: key, Body: body}}}, "")
	manifests.Add("west", map[string]any{"kind": "Role"}, []byte("kind: Role\n"))
	return map[string]Answer{
		"decisions": DecisionsAnswer("server", []Decision{
			{Kind: "Suspend", Object: "west/east", UID: "1", By: "alice", At: at, Until: at, Reason: "x", Change: Recorded, Note: "x"},
			{Kind: "Approval", Object: "3f9c0e51b7a2", By: "alice", At: at, Change: Withdrawn, Removes: []string{"link west/east"}},
		}, ""),
		"no decisions": DecisionsAnswer("", nil, ""),
		"rotations": RotationsAnswer("client", []Rotation{
			{Rotation: plan.Rotation{Link: link, WaitsFor: why, Note: why}},
			{Rotation: plan.Rotation{Link: link, Requested: true}},
			{Rotation: plan.Rotation{Link: link, Denied: why}},
			{Rotation: plan.Rotation{Link: link}, Err: errors.New("x")},
			{Rotation: plan.Rotation{Link: link}, Skipped: true},
		}, ""),
		"no rotations": RotationsAnswer("", nil, ""),
		"adoption":     Diff{Clusters: []ClusterDiff{{Name: "west", Denied: why, Objects: []ObjectDiff{change}, Next: []ObjectDiff{next}}}}.Answer(nil),
		"manifests":    manifests.Answer(), "no manifests": none.Answer(),
	}
}

// TestAnswersInSchema: every answer is as its published schema says, has no field that the schema lacks, and holds no null. YAML is the same
// document, with the same order of fields.
func TestAnswersInSchema(t *testing.T) {
	for name, a := range answersOf(t) {
		var raw, text strings.Builder
		if err := a.Write(&raw, JSON); err != nil {
			t.Fatal(err)
		}
		if err := a.Write(&text, YAML); err != nil {
			t.Fatal(err)
		}
		inSchema(t, name, raw.String())
		if strings.Contains(raw.String(), "null") {
			t.Errorf("%s holds a null:\n%s", name, raw.String())
		}
		if !strings.HasPrefix(text.String(), "apiVersion: "+output.APIVersion+"\nkind: ") {
			t.Errorf("%s as YAML begins with something else:\n%s", name, text.String())
		}
		var fromJSON, fromYAML any
		if err := json.Unmarshal([]byte(raw.String()), &fromJSON); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(text.String()), &fromYAML); err != nil {
			t.Fatalf("%s as YAML: %v\n%s", name, err, text.String())
		}
		if diff := cmp.Diff(fromJSON, fromYAML); diff != "" {
			t.Errorf("%s: YAML is another document: -JSON +YAML\n%s", name, diff)
		}
	}
}

// TestSchemaIsClosed: an answer with a field that its schema does not have is found.
func TestSchemaIsClosed(t *testing.T) {
	var raw strings.Builder
	if err := everything().Answer().Write(&raw, JSON); err != nil {
		t.Fatal(err)
	}
	for was, is := range map[string]string{
		`"asDeclared":`: `"added": 1, "asDeclared":`, `"inventory": "Recorded"`: `"inventory": "Recorded", "added": 1`, `"links": [`: `"added": [`,
		`"ready": "True"`: `"ready": true`, `"kind": "Status"`: `"kind": "Unheard"`,
	} {
		if !strings.Contains(raw.String(), was) {
			t.Fatalf("the answer has no %s", was)
		}
		if err := outputschema.Check([]byte(strings.Replace(raw.String(), was, is, 1))); err == nil {
			t.Errorf("%s instead of %s is not found", is, was)
		}
	}
}
