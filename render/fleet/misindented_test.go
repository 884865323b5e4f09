package fleet

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/linkwright/linkwright/api"
)

const slipClusters = `apiVersion: linkwright.dev/v1alpha1
kind: Cluster
metadata: {name: east}
spec: {access: {kubeconfigSecret: {name: east}}}
---
apiVersion: linkwright.dev/v1alpha1
kind: Cluster
metadata: {name: west}
spec: {access: {kubeconfigSecret: {name: west}}}
---
`

const slipLink = `apiVersion: linkwright.dev/v1alpha1
kind: Link
metadata: {name: west-east}
spec:
  source: west
  target: east
`

const slipPolicy = `apiVersion: linkwright.dev/v1alpha1
kind: SyncPolicy
spec:
`

// One slip gives one error, and doing what its hint says gives a fleet.
func TestHintsGiveValidDeclarations(t *testing.T) {
	for name, tt := range map[string]struct{ hint, text, wrong, right string }{
		"divider":   {"write --- on a line of its own", slipClusters + slipLink, "---\n" + slipLink, "---\n" + slipLink},
		"unit":      {"60s", slipClusters + slipPolicy + "  interval: 60\n", "interval: 60\n", "interval: 60s\n"},
		"quotes":    {"remove the quotes: 2", slipClusters + slipPolicy + "  prune: {minAllowed: \"2\"}\n", `"2"`, "2"},
		"far left":  {"indent it", slipClusters + strings.ReplaceAll(slipLink, "  ", ""), "source: west\ntarget: east", "  source: west\n  target: east"},
		"one blank": {"indent it by 2 spaces", slipClusters + strings.Replace(slipLink, "  target", "   target", 1), "   target", "  target"},
		"colon":     {"write KEY: VALUE", slipClusters + strings.Replace(slipLink, "source: ", "source:", 1), "source:west", "source: west"},
		"quote":     {"write \" where the value ends", slipClusters + strings.Replace(slipLink, "west\n", "\"west\n", 1), "\"west", "west"},
		"brace":     {"write } where it ends", slipClusters + strings.Replace(slipLink, "-east}", "-east", 1), "-east\n", "-east}\n"},
		"template":  {"write the value", slipClusters + strings.Replace(slipLink, ": west\n", ": {{ .Values.source }}\n", 1), "{{ .Values.source }}", "west"},
		"group":     {"did you mean linkwright.dev/v1alpha1?", slipClusters + strings.Replace(slipLink, "right", "rigth", 1), "rigth", "right"},
		"version":   {"write linkwright.dev/v1alpha1", slipClusters + strings.Replace(slipLink, "v1alpha1", "v1", 1), "dev/v1\n", "dev/v1alpha1\n"},
		"capitals":  {"write apiVersion instead of apiversion", slipClusters + strings.Replace(slipLink, "apiV", "apiv", 1), "apiversion", "apiVersion"},
	} {
		text := tt.text
		if name == "divider" {
			text = strings.Replace(text, "---\n"+slipLink, slipLink, 1)
			tt.wrong = slipLink
		}
		_, problems := errorsOf(text)
		if len(problems) != 1 || !strings.Contains(problems[0].Hint, tt.hint) {
			t.Errorf("%s: problems %v, want one with the hint %q", name, problems, tt.hint)
			continue
		}
		if f, problems := errorsOf(strings.Replace(text, tt.wrong, tt.right, 1)); f == nil {
			t.Errorf("%s: with what the hint says: %v", name, problems)
		}
	}
}

// errorsOf gives a fleet, and errors alone.
func errorsOf(text string) (*Fleet, []api.Problem) {
	f, problems := Load("", fstest.MapFS{"a.yaml": {Data: []byte(text)}})
	var errors []api.Problem
	for _, p := range problems {
		if !p.Warning {
			errors = append(errors, p)
		}
	}
	return f, errors
}
