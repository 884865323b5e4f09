package output_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"github.com/linkwright/linkwright/hack/outputschema"
	"github.com/linkwright/linkwright/sync/report/output"
)

var update = flag.Bool("update", false, "rewrite what is generated")

const module = "github.com/linkwright/linkwright"

// answer is a kind of answer with the type that holds it.
type answer struct {
	kind  string
	value any
	by    string // the commands that give it
}

func answers() []answer {
	return []answer{
		{output.KindStatus, output.Status{}, "`status`"},
		{output.KindSyncReport, output.SyncReport{}, "`sync`; `adopt`, `release`, `uninstall` that wrote; `/report.json` of `run`"},
		{output.KindLink, output.Link{}, "`get link NAME`, `describe link`"},
		{output.KindLinkList, output.List[output.Link]{}, "`get links`"},
		{output.KindCluster, output.Cluster{}, "`get cluster NAME`, `describe cluster`"},
		{output.KindClusterList, output.List[output.Cluster]{}, "`get clusters`"},
		{output.KindRevision, output.Revision{}, "`get revision COMMIT`"},
		{output.KindRevisionList, output.List[output.Revision]{}, "`get revisions`"},
		{output.KindGateway, output.Gateway{}, "`get gateway NAME`"},
		{output.KindGatewayList, output.List[output.Gateway]{}, "`get gateways`"},
		{output.KindWorkload, output.Workload{}, "item of `rollout status`"},
		{output.KindWorkloadList, output.List[output.Workload]{}, "`rollout status`"},
		{output.KindRestarts, output.Restarts{}, "item of `rollout pause`, `rollout resume` and `rollout undo`"},
		{output.KindRestartsList, output.List[output.Restarts]{}, "`rollout pause`, `rollout resume`, `rollout undo`"},
		{output.KindTrustAnchor, output.TrustAnchor{}, "item of `trust status`"},
		{output.KindTrustAnchorList, output.List[output.TrustAnchor]{}, "`trust status`"},
		{output.KindTrustNeed, output.TrustNeed{}, "item of `trust status --anchor`"},
		{output.KindTrustNeedList, output.List[output.TrustNeed]{}, "`trust status --anchor`"},
		{output.KindEvent, output.Event{}, "`events --watch`"},
		{output.KindEventList, output.List[output.Event]{}, "`events`"},
		{output.KindDiff, output.Diff{}, "`diff`, `sync --dry-run`; `adopt`, `release`, `uninstall` that wrote nothing"},
		{output.KindCheck, output.Check{}, "`check`"},
		{output.KindDecisionList, output.DecisionList{}, "`suspend`, `resume`, `reconcile`, `accept`, `allow`, `abandon`, `approve`"},
		{output.KindRotationList, output.RotationList{}, "`rotate`"},
		{output.KindDeclarationList, output.DeclarationList{}, "`import`, `cluster add`"},
		{output.KindBootstrap, output.Bootstrap{}, "`bootstrap`"},
		{output.KindManifestList, output.ManifestList{}, "`render`, `rbac`"},
		{output.KindProblemList, output.ProblemList{}, "`validate`"},
		{output.KindExplanation, output.Explanation{}, "`explain FIELD`, `explain REASON`"},
		{output.KindExplanationList, output.List[output.Explanation]{}, "`explain`"},
		{output.KindVersion, output.Version{}, "`version`"},
	}
}

// reflector makes schemas of the types and their comments. Readers must take fields that they do not know: later releases add some.
func reflector(t *testing.T) *jsonschema.Reflector {
	t.Helper()
	t.Chdir("../../..") // comments are found by their packages' paths
	r := &jsonschema.Reflector{Anonymous: true, AllowAdditionalProperties: true, Namer: typeName}
	for _, dir := range []string{"sync/report/output", "object"} {
		if err := r.AddGoComments(module, dir, jsonschema.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	for of, text := range r.CommentMap {
		r.CommentMap[of] = strings.Join(strings.Fields(text), " ")
	}
	r.LookupComment = func(t reflect.Type, field string) string { // which knows nothing of lists
		if !strings.HasPrefix(t.Name(), "List[") {
			return ""
		}
		return r.CommentMap[strings.TrimSuffix(module+"/sync/report/output.List."+field, ".")]
	}
	return r
}

// typeName is the name of a type, also of List[Link].
func typeName(t reflect.Type) string {
	name, item, ok := strings.Cut(t.Name(), "[")
	if ok {
		name = strings.TrimSuffix(item[strings.LastIndex(item, ".")+1:], "]") + name
	}
	if t.PkgPath() == module+"/object" && name == "Key" {
		return "Object"
	}
	return name
}

func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	r, out := reflector(t), map[string]*jsonschema.Schema{}
	for _, a := range answers() {
		s := r.Reflect(a.value)
		s.Title = a.kind
		for name, d := range s.Definitions {
			constant(d, name)
			named(d, name)
		}
		out[a.kind] = s
	}
	return out
}

// constant has what begins with apiVersion and kind say which.
func constant(s *jsonschema.Schema, kind string) {
	version, ok := s.Properties.Get("apiVersion")
	if !ok {
		return
	}
	version.Const = output.APIVersion
	if k, ok := s.Properties.Get("kind"); ok {
		k.Const = kind
	}
}

// named has descriptions begin with the name that readers see, instead of Go's.
func named(s *jsonschema.Schema, name string) {
	s.Description = begun(s.Description, name)
	for field, p := range s.Properties.FromOldest() {
		p.Description = begun(p.Description, field)
	}
}

func begun(text, name string) string {
	first, rest, ok := strings.Cut(text, " ")
	if ok && (strings.EqualFold(first, name) || first == "List" || first == "Key") {
		return name + " " + rest
	}
	return text
}

// TestSchemasAreCurrent: docs/schema/output holds the schema of each kind of answer, no more and no less, as types and comments have it.
func TestSchemasAreCurrent(t *testing.T) {
	all := schemas(t)
	var kinds []string
	for _, a := range answers() {
		kinds = append(kinds, a.kind)
	}
	if diff := cmp.Diff(kinds, output.Kinds()); diff != "" {
		t.Errorf("Kinds(): -want +got\n%s", diff)
	}
	files, err := filepath.Glob(filepath.Join(outputschema.Dir(), "*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for kind, s := range all {
		raw, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, outputschema.File(kind))
		compare(t, filepath.Join(outputschema.Dir(), outputschema.File(kind)), string(raw)+"\n")
	}
	for _, f := range files {
		if !slices.Contains(names, filepath.Base(f)) {
			t.Errorf("%s is the schema of no kind: remove it", f)
		}
	}
}

func compare(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not current (go test ./sync/report/output -update writes it): -want +got\n%s", file, diff)
	}
}

// TestEveryFieldIsDescribed: every field has a comment, and a name in camelCase.
func TestEveryFieldIsDescribed(t *testing.T) {
	for kind, s := range schemas(t) {
		for name, d := range s.Definitions {
			if len(d.Description) < 10 {
				t.Errorf("%s: type %s is not described", kind, name)
			}
			for field, p := range d.Properties.FromOldest() {
				if len(p.Description) < 10 && p.Ref == "" || strings.ToLower(field[:1]) != field[:1] || strings.ContainsAny(field, "_-") {
					t.Errorf("%s: %s.%s is not described, or not in camelCase", kind, name, field)
				}
			}
		}
	}
}
