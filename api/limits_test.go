package api

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Schemas never refuse what Check takes: over every short text of letters that matter, and some long ones, a pattern
// takes what the check takes; where it is exact, it takes no more.
func TestPatterns(t *testing.T) {
	known := limits()
	for key, c := range map[string]struct {
		check func(string) bool
		exact bool
	}{
		"ClusterName":                  {func(s string) bool { return CheckClusterName(ClusterName(s)) == nil }, true},
		"Cluster.metadata.name":        {func(s string) bool { return CheckClusterName(ClusterName(s)) == nil }, true},
		"Meta.name":                    {accepts(checkDNSName), true},
		"Gateway.name":                 {accepts(validation.IsDNS1035Label), true},
		"Linkerd.namespace":            {accepts(validation.IsDNS1123Label), true},
		"SecretKey.key":                {accepts(validation.IsConfigMapKey), false},
		"LabelSelectorRequirement.key": {accepts(validation.IsQualifiedName), true},
		"Meta.labels[]":                {accepts(validation.IsValidLabelValue), true},
		"LinkSpec.excludedLabels[]":    {func(s string) bool { return len(checkExcluded([]string{s})) == 0 }, true},
		"Cluster.overlay":              {func(s string) bool { return len(checkOverlay(s)) == 0 }, false},
		"Cluster.apiServer":            {func(s string) bool { return noError(checkAPIServer(s)) }, false},
		"Gateway.addresses[]":          {func(s string) bool { return len(checkAddress(s)) == 0 }, false},
		"Probe.path":                   {func(s string) bool { return len(Probe{Path: s}.check()) == 0 }, true},
		"Probe.period":                 {func(s string) bool { return len(Probe{Period: s}.check()) == 0 }, false},
		"SyncPolicy.interval":          {func(s string) bool { return len(SyncPolicyDoc{Spec: SyncPolicy{Interval: s}}.Check()) == 0 }, false},
		"Controller.image":             {func(s string) bool { return len(Controller{Image: s}.check()) == 0 }, true},
		"ProxyDuration":                {func(s string) bool { return len(ProxyDuration(s).check()) == 0 }, false},
		"PortList":                     {func(s string) bool { list := PortList(s); return len(checkPorts(&list)) == 0 }, false},
		"SubnetList":                   {func(s string) bool { list := SubnetList(s); return len(checkSubnets(&list)) == 0 }, false},
		"EnvVar.name":                  {accepts(validation.IsEnvVarName), false},
		"Ignore.fields[]":              {func(s string) bool { return len(checkFields([]string{s})) == 0 }, true},
	} {
		l, ok := known[key]
		if !ok {
			t.Errorf("there are no limits of %s", key)
		}
		pattern := regexp.MustCompile(l.Pattern)
		for _, s := range texts() {
			takes := pattern.MatchString(s) && (l.MaxLength == 0 || len(s) <= l.MaxLength) && (l.Not == "" || s != l.Not)
			if want := c.check(s); takes != want && (want || c.exact) {
				t.Errorf("%s: the schema takes %q: %v, Check: %v", key, s, takes, want)
			}
		}
	}
}

func accepts(validate func(string) []string) func(string) bool {
	return func(s string) bool { return len(validate(s)) == 0 }
}

func noError(found []Finding) bool { return len(found) == 0 }

// texts are all of one to three letters, those behind "spec." and "https://", and some at the bounds.
func texts() []string {
	const letters = "aZ0-._/* :m+"
	out := []string{""}
	for from, length := 0, 0; length < 3; length++ {
		to := len(out)
		for _, s := range out[from:to] {
			for _, letter := range letters {
				out = append(out, s+string(letter))
			}
		}
		from = to
	}
	for _, s := range out[1:] {
		out = append(out, "spec."+s, "https://"+s, "HTTPS://a"+s, "1"+s+"m", "a/"+s, s+"/*", "a.b/"+s)
	}
	for _, n := range []int{52, 53, 63, 64, 253, 254} {
		out = append(out, strings.Repeat("a", n), "a/"+strings.Repeat("a", n))
	}
	return append(out[1:], "federated", "1h2m3.5s", ".5m", "µs", "1µs", "-1s", "0s", "5s", "192.0.2.1", "fe80::1", "gw.example.com")
}
