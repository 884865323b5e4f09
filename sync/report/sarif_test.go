package report

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
)

// shape is which properties an object of SARIF 2.1.0 must and may have, of those that are in use here.
type shape struct{ must, may string }

// shapes are taken from the standard's schema; to what it demands comes what GitHub's code scanning does: three texts of
// a rule, and a location of a result.
func shapes() map[string]shape {
	return map[string]shape{
		"log":              {must: "version runs", may: "$schema"},
		"run":              {must: "tool", may: "columnKind results"},
		"tool":             {must: "driver"},
		"driver":           {must: "name", may: "version informationUri rules"},
		"rule":             {must: "id shortDescription fullDescription help"},
		"result":           {must: "message ruleId level locations", may: "ruleIndex partialFingerprints relatedLocations"},
		"location":         {must: "physicalLocation", may: "message"},
		"physicalLocation": {must: "artifactLocation", may: "region"},
		"artifactLocation": {must: "uri", may: "uriBaseId"},
		"region":           {must: "startLine", may: "startColumn"},
		"text":             {must: "text"},
	}
}

// checked looks at the properties of an object, and gives it.
func checked(t *testing.T, kind string, v any) map[string]any {
	t.Helper()
	o, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("%s is no object: %v", kind, v)
	}
	s := shapes()[kind]
	must := strings.Fields(s.must)
	for _, p := range must {
		if o[p] == nil {
			t.Errorf("%s has no %s", kind, p)
		}
	}
	for p := range o {
		if !slices.Contains(append(must, strings.Fields(s.may)...), p) {
			t.Errorf("%s has a property %s", kind, p)
		}
	}
	return o
}

func TestSARIF(t *testing.T) {
	p := several()
	p.Found = append(p.Found, found("/root/a.yaml", 1, 1, "of an absolute PATH"), found("c:d/x y.yaml", 1, 0, "no scheme"))
	log := checked(t, "log", read[any](t, p, SARIF))
	if log["version"] != "2.1.0" || len(log["runs"].([]any)) != 1 {
		t.Errorf("version %v, %v", log["version"], log["runs"])
	}
	run := checked(t, "run", log["runs"].([]any)[0])
	var ids []string
	for _, r := range checked(t, "driver", checked(t, "tool", run["tool"])["driver"])["rules"].([]any) {
		rule := checked(t, "rule", r)
		for _, part := range []string{"shortDescription", "fullDescription", "help"} {
			if text := checked(t, "text", rule[part])["text"]; text == "" {
				t.Errorf("rule %v: %s is empty", rule["id"], part)
			}
		}
		ids = append(ids, rule["id"].(string))
	}
	if diff := cmp.Diff([]string{"InvalidDeclarations", "Lonely", "UnknownField"}, ids); diff != "" {
		t.Errorf("rules: -want +got\n%s", diff)
	}
	prints := map[any]bool{}
	for i, r := range run["results"].([]any) {
		result := checked(t, "result", r)
		if index := int(result["ruleIndex"].(float64)); ids[index] != result["ruleId"] {
			t.Errorf("result %d: rule %d is %s, not %s", i, index, ids[index], result["ruleId"])
		}
		if !slices.Contains([]any{"error", "warning"}, result["level"]) || checked(t, "text", result["message"])["text"] == "" {
			t.Errorf("result %d: %v", i, result)
		}
		prints[result["partialFingerprints"].(map[string]any)["linkwright/v1"]] = true
		located(t, p.Found[i].Pos, result["locations"].([]any))
		if see := p.Found[i].See; see != (api.Pos{}) {
			located(t, see, result["relatedLocations"].([]any))
		} else if result["relatedLocations"] != nil {
			t.Errorf("%s: relatedLocations %v", p.Found[i], result["relatedLocations"])
		}
	}
	if len(prints) != len(p.Found) {
		t.Errorf("%d fingerprints of %d results", len(prints), len(p.Found))
	}
}

// located: there is one place, whose address leads to the file, from the root of the repository.
func located(t *testing.T, p api.Pos, locations []any) {
	t.Helper()
	if len(locations) != 1 {
		t.Fatalf("%s has %d locations", p, len(locations))
	}
	place := checked(t, "physicalLocation", checked(t, "location", locations[0])["physicalLocation"])
	artifact := checked(t, "artifactLocation", place["artifactLocation"])
	u, err := url.Parse(artifact["uri"].(string))
	if err != nil {
		t.Fatal(err)
	}
	scheme, want := "", p.File
	if path.IsAbs(want) {
		scheme = "file"
	} else if artifact["uriBaseId"] != "%SRCROOT%" {
		t.Errorf("%s: uriBaseId %v", p, artifact["uriBaseId"])
	}
	if want == "" {
		want = "."
	}
	if u.Scheme != scheme || u.Host != "" || u.Path != want {
		t.Errorf("%s: uri %s leads to %q", p, u, u.Path)
	}
	got := map[string]any{}
	if place["region"] != nil {
		got = checked(t, "region", place["region"])
	}
	for key, n := range map[string]int{"startLine": p.Line, "startColumn": p.Col} {
		if at, _ := got[key].(float64); int(at) != n {
			t.Errorf("%s: %s %v", p, key, got[key])
		}
	}
}

// TestFingerprint: what moves by a line is the same finding; the second of the same is another, and stays it.
func TestFingerprint(t *testing.T) {
	prints := func(p Problems) []string {
		var out []string
		for _, r := range read[sarifLog](t, p, SARIF).Runs[0].Results {
			out = append(out, r.Fingerprints["linkwright/v1"])
		}
		return out
	}
	moved := several()
	for i := range moved.Found {
		if moved.Found[i].Pos.Line > 0 {
			moved.Found[i].Pos.Line++
		}
	}
	if diff := cmp.Diff(prints(several()), prints(moved)); diff != "" {
		t.Errorf("fingerprints change with the line: -want +got\n%s", diff)
	}
}
