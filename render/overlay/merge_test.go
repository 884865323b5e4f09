package overlay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/marks"
)

// rendered returns the content of the first rendered object of a kind, as it goes into a build.
func rendered(tb testing.TB, ends []object.Desired, kind string) map[string]any {
	tb.Helper()
	for _, w := range ends {
		for _, o := range w.Objects {
			if kindOf(o.Key) == kind {
				in, err := newInput(o)
				if err != nil {
					tb.Fatal(err)
				}
				return in.before
			}
		}
	}
	tb.Fatalf("nothing of kind %s is rendered", kind)
	return nil
}

// clone copies JSON.
func clone(tb testing.TB, m map[string]any) map[string]any {
	tb.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	out, err := decode(text)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// set writes a JSON text at a path of the table; "*" is the first item of a list, and a bracketed last word a key with dots.
func set(tb testing.TB, in any, path, text string) {
	tb.Helper()
	path, key, bracketed := strings.Cut(strings.TrimSuffix(path, "]"), "[")
	words := strings.Split(path, ".")
	if bracketed {
		words = append(words, key)
	}
	for _, w := range words[:len(words)-1] {
		if w == "*" {
			in = in.([]any)[0]
			continue
		}
		m := in.(map[string]any)
		if m[w] == nil {
			m[w] = map[string]any{}
		}
		in = m[w]
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		tb.Fatal(err)
	}
	in.(map[string]any)[words[len(words)-1]] = v
}

// TestEveryRow holds the table of fields: each has a value that is taken over, and where it judges values one that is not.
func TestEveryRow(t *testing.T) {
	const pod, container = "spec.template.spec.", "spec.template.spec.containers.*."
	type row struct{ kind, path string }
	good := map[row]string{
		{anyKind, "metadata.labels"}:                                      `{"team": "mesh"}`,
		{anyKind, "metadata.annotations"}:                                 `{"example.com/note": "any text: at all"}`,
		{"Deployment.apps", "spec.strategy"}:                              `{"type": "Recreate"}`,
		{"Deployment.apps", "spec.minReadySeconds"}:                       `5`,
		{"Deployment.apps", "spec.progressDeadlineSeconds"}:               `5`,
		{"Deployment.apps", "spec.revisionHistoryLimit"}:                  `5`,
		{"Deployment.apps", "spec.template.metadata.labels"}:              `{"team": "mesh"}`,
		{"Deployment.apps", "spec.template.metadata.annotations"}:         `{"config.linkerd.io/proxy-memory-limit": "20Mi"}`,
		{"Deployment.apps", pod + "affinity"}:                             `{}`,
		{"Deployment.apps", pod + "nodeSelector"}:                         `{"a": "b"}`,
		{"Deployment.apps", pod + "tolerations"}:                          `[{"operator": "Exists"}]`,
		{"Deployment.apps", pod + "topologySpreadConstraints"}:            `[{"maxSkew": 1}]`,
		{"Deployment.apps", pod + "priorityClassName"}:                    `"high"`,
		{"Deployment.apps", pod + "terminationGracePeriodSeconds"}:        `5`,
		{"Deployment.apps", pod + "dnsConfig"}:                            `{"options": []}`,
		{"Deployment.apps", pod + "dnsPolicy"}:                            `"None"`,
		{"Deployment.apps", pod + "imagePullSecrets"}:                     `[{"name": "registry"}]`,
		{"Deployment.apps", pod + "runtimeClassName"}:                     `"gvisor"`,
		{"Deployment.apps", container + "resources"}:                      `{"limits": {"cpu": "1"}, "requests": {"memory": "1Mi"}}`,
		{"Deployment.apps", container + "livenessProbe"}:                  `{"httpGet": {"port": 1, "path": "/", "scheme": "HTTP"}}`,
		{"Deployment.apps", container + "readinessProbe"}:                 `{"tcpSocket": {"port": 1}}`,
		{"Deployment.apps", container + "startupProbe"}:                   `{"grpc": {"port": 1, "service": "a"}, "periodSeconds": 2}`,
		{"PodDisruptionBudget.policy", "spec.minAvailable"}:               `1`,
		{"PodDisruptionBudget.policy", "spec.maxUnavailable"}:             `"50%"`,
		{"PodDisruptionBudget.policy", "spec.unhealthyPodEvictionPolicy"}: `"AlwaysAllow"`,
		{"ServiceAccount", "imagePullSecrets"}:                            `[{"name": "registry"}]`,
		{"Secret", "metadata.annotations"}:                                "", // nothing is
	}
	ends := scene(t, 1)
	for _, f := range fields() {
		value, ok := good[row{f.kind, f.path}]
		if !ok {
			t.Errorf("row %s %s has no case", f.kind, f.path)
			continue
		}
		delete(good, row{f.kind, f.path})
		c := rowCase{field: f, kind: f.kind, table: newTable()}
		if f.kind == anyKind {
			c.kind = "Link.multicluster.linkerd.io"
		}
		c.before = rendered(t, ends, c.kind)
		if value != "" {
			c.takes(t, value)
		}
		c.refuses(t)
	}
	for r := range good {
		t.Errorf("there is a case for %v, but no row", r)
	}
}

// rowCase is a row of the table and an object of its kind.
type rowCase struct {
	field
	kind   string
	table  table
	before map[string]any
}

func (c rowCase) takes(t *testing.T, value string) {
	t.Helper()
	after := clone(t, c.before)
	if c.keys == nil {
		set(t, after, c.path, value)
	} else {
		addKeys(t, after, c.path, value)
	}
	m := merge{kind: c.kind}
	if got := m.object(c.table, c.before, after); len(m.violations) > 0 || !m.changed || !equal(got, after) {
		t.Errorf("merge(%s %s: %s): refused %v, changed %v", c.kind, c.path, value, m.violations, m.changed)
	}
}

func (c rowCase) refuses(t *testing.T) {
	t.Helper()
	after := clone(t, c.before)
	switch {
	case c.keys != nil:
		addKeys(t, after, c.path, `{"linkwright.dev/any": "x"}`)
	case c.check != nil:
		set(t, after, c.path, `{"exec": {}, "claims": []}`)
	default:
		return
	}
	m := merge{kind: c.kind}
	if got := m.object(c.table, c.before, after); len(m.violations) == 0 || m.changed || !equal(got, c.before) {
		t.Errorf("merge(%s %s) takes a value over that it must not", c.kind, c.path)
	}
}

func addKeys(t *testing.T, in map[string]any, path, text string) {
	t.Helper()
	add, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range add {
		set(t, in, path+"["+k+"]", fmt.Sprintf("%q", v))
	}
}

// TestRefused: what must stay, whatever the rows say.
func TestRefused(t *testing.T) {
	const pod, container = "spec.template.spec.", "spec.template.spec.containers.*."
	const deployment, link = "Deployment.apps", "Link.multicluster.linkerd.io"
	ends, table := scene(t, 1), newTable()
	for _, tt := range []struct{ kind, path, value string }{
		{deployment, "spec.replicas", `9`},
		{deployment, "spec.paused", `true`},
		{deployment, "spec.selector.matchLabels.component", `"other"`},
		{deployment, "spec.template.metadata.namespace", `"other"`},
		{deployment, "spec.template.metadata.labels[component]", `"other"`},
		{deployment, "spec.template.metadata.annotations[linkerd.io/inject]", `"disabled"`},
		{deployment, pod + "serviceAccountName", `"other"`},
		{deployment, pod + "serviceAccount", `"other"`},
		{deployment, pod + "automountServiceAccountToken", `true`},
		{deployment, pod + "hostNetwork", `true`},
		{deployment, pod + "hostPID", `true`},
		{deployment, pod + "hostIPC", `true`},
		{deployment, pod + "hostUsers", `true`},
		{deployment, pod + "hostAliases", `[{"ip": "192.0.2.9", "hostnames": ["a"]}]`},
		{deployment, pod + "shareProcessNamespace", `true`},
		{deployment, pod + "securityContext.runAsUser", `0`},
		{deployment, pod + "securityContext", `{}`},
		{deployment, pod + "volumes", `[]`},
		{deployment, pod + "initContainers", `[{"name": "a", "image": "b"}]`},
		{deployment, pod + "ephemeralContainers", `[{"name": "a", "image": "b"}]`},
		{deployment, pod + "containers", `[]`},
		{deployment, pod + "nodeName", `"mine"`},
		{deployment, pod + "schedulerName", `"mine"`},
		{deployment, pod + "resourceClaims", `[{"name": "a"}]`},
		{deployment, pod + "os", `{"name": "windows"}`},
		{deployment, container + "name", `"other"`},
		{deployment, container + "image", `"example.com/mine"`},
		{deployment, container + "imagePullPolicy", `"Always"`},
		{deployment, container + "command", `["sh"]`},
		{deployment, container + "args", `[]`},
		{deployment, container + "workingDir", `"/"`},
		{deployment, container + "env", `[{"name": "HTTPS_PROXY", "value": "http://192.0.2.9"}]`},
		{deployment, container + "envFrom", `[{"secretRef": {"name": "a"}}]`},
		{deployment, container + "ports", `[]`},
		{deployment, container + "lifecycle", `{"preStop": {"exec": {"command": ["sh"]}}}`},
		{deployment, container + "securityContext.privileged", `true`},
		{deployment, container + "volumeMounts", `[]`},
		{deployment, container + "volumeDevices", `[{"name": "a", "devicePath": "/b"}]`},
		{deployment, container + "terminationMessagePath", `"/var/run/secrets/kubernetes.io/serviceaccount/token"`},
		{deployment, container + "restartPolicy", `"Always"`},
		{deployment, container + "stdin", `true`},
		{deployment, container + "livenessProbe", `{"httpGet": {"port": 1, "httpHeaders": [{"name": "Host", "value": "a"}]}}`},
		{deployment, container + "livenessProbe", `"none"`},
		{deployment, container + "resources", `{"claims": [{"name": "a"}]}`},
		{"PodDisruptionBudget.policy", "spec.selector", `null`},
		{"ServiceAccount", "secrets", `[{"name": "a"}]`},
		{"ServiceAccount", "automountServiceAccountToken", `true`},
		{"Secret", "data", `{"a": "Yg=="}`},
		{"Secret", "stringData", `{"a": "b"}`},
		{"Secret", "type", `"Opaque"`},
		{"Secret", "immutable", `true`},
		{"Secret", "metadata.annotations[example.com/note]", `"a"`},
		{"Service", "spec.externalIPs", `["192.0.2.9"]`},
		{"Service", "spec.type", `"ExternalName"`},
		{"Role.rbac.authorization.k8s.io", "rules", `[]`},
		{"RoleBinding.rbac.authorization.k8s.io", "subjects", `[]`},
		{"ClusterRoleBinding.rbac.authorization.k8s.io", "roleRef.name", `"cluster-admin"`},
		{link, "spec.gatewayAddress", `"192.0.2.9"`},
		{link, "spec.selector", `{}`},
		{link, "status", `{"a": 1}`},
		{link, "metadata.name", `"other"`},
		{link, "metadata.generateName", `"other"`},
		{link, "metadata.finalizers", `["a/b"]`},
		{link, "metadata.ownerReferences", `[{"uid": "a"}]`},
		{link, "metadata.labels", `"text"`},
		{link, "metadata.labels", `null`},
		{link, "metadata.labels[team]", `1`},
		{link, "metadata.labels[team]", `"no label value"`},
		{link, "metadata.labels[no name]", `"a"`},
		{link, "metadata.labels[linkwright.dev/owner]", `"other"`},
		{link, "kind", `"Other"`},
		{link, "apiVersion", `"multicluster.linkerd.io/v1"`},
	} {
		before := rendered(t, ends, tt.kind)
		after := clone(t, before)
		set(t, after, tt.path, tt.value)
		m := merge{kind: tt.kind}
		if got := m.object(table, before, after); len(m.violations) == 0 || m.changed || !equal(got, before) {
			t.Errorf("merge(%s %s: %s): refused %v, changed %v", tt.kind, tt.path, tt.value, m.violations, m.changed)
		}
	}
}

// TestMarks: every row of the tables of marks.
func TestMarks(t *testing.T) {
	rules := map[string]func(string) denial{
		"label": labelDenial, "annotation": annotationDenial, "label of a pod": podLabelDenial, "annotation of a pod": podAnnotationDenial,
	}
	for _, m := range marks.OfAll() {
		for name, rule := range rules {
			if key := example(m.Name); rule(key) == "" {
				t.Errorf("%s %s is not refused", name, key)
			}
		}
	}
	for _, m := range marks.OfPods() {
		if key := example(m.Name); podLabelDenial(key) == "" || podAnnotationDenial(key) == "" {
			t.Errorf("%s is not refused on pods", key)
		}
	}
}

// example is a key that a row is about.
func example(row string) string {
	if isExactName(row) {
		return row
	}
	return row + "any"
}

// TestPodMarks: what pods may be told, and what is like it and refused.
func TestPodMarks(t *testing.T) {
	for _, key := range slices.Concat(marks.ProxySettings(), []string{"prometheus.io/scrape", "kubectl.kubernetes.io/restartedAt", "cluster-autoscaler.kubernetes.io/safe-to-evict"}) {
		if why := podAnnotationDenial(key); why != "" {
			t.Errorf("annotation %s of a pod is refused: %s", key, why)
		}
	}
	for _, key := range []string{"config.linkerd.io/proxy-image", "config.linkerd.io/proxy-version", "config.linkerd.io/init-image", "config.linkerd.io/debug-image", "config.linkerd.io/debug-image-version", "config.linkerd.io/enable-debug-sidecar", "config.linkerd.io/proxy-uid", "config.linkerd.io/trace-collector", "config.alpha.linkerd.io/proxy-new", "new.linkerd.io/any", "example.com/Inject", "team", "example.com/component", "prometheus.io", "kubectl.kubernetes.io/restartedAtAll", ""} {
		if podAnnotationDenial(key) == "" {
			t.Errorf("annotation %q of a pod is not refused", key)
		}
	}
	for _, key := range []string{"azure.workload.identity/use", "example.com/inject-agent", "Sidecar"} {
		if podLabelDenial(key) == "" {
			t.Errorf("label %q of a pod is not refused", key)
		}
	}
}
