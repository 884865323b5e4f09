package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/strvals"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// everything has every value of the pod, and every part that goes with mode Deployment.
func everything() map[string]any {
	out := example()
	if err := yaml.Unmarshal([]byte(allValues), &out); err != nil {
		panic(err) // it is a constant
	}
	return out
}

const allValues = `
owner: blue
replicas: 3
management: {secrets: [east, linkwright-keys], configMaps: [keys]}
member: {enabled: true, targets: [east, north], sweep: true}
git: {url: "ssh://git@git.example.com/mesh/fleet.git", ref: "semver:>=1.0", path: "clusters/a b", existingSecret: linkwright-git}
hook: {existingSecret: linkwright-hook}
image: {repository: registry.example.com/linkwright, tag: v7, digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", pullPolicy: Always}
imagePullSecrets: [{name: registry}]
config: {max-links: 1000000, only-write: [east, west], log-format: text, status-context: "a: b", require-confinement: true}
extraArgs: [--max-sync-age=10m, "--status-context=a b"]
extraEnv: [{name: HTTPS_PROXY, value: "http://proxy:3128"}]
extraVolumes: [{name: keys, configMap: {name: keys}}]
extraVolumeMounts: [{name: keys, mountPath: /keys}]
resources: {limits: {memory: 2Gi}}
podLabels: {team: mesh}
podAnnotations: {note: x}
priorityClassName: system-cluster-critical
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: dedicated, operator: Exists}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}
topologySpreadConstraints:
- {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}
- {maxSkew: 2, topologyKey: host, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}
serviceAccount: {annotations: {cloud: role}}
service: {annotations: {mirror: "no"}}
serviceMonitor: {enabled: true, interval: 30s, labels: {release: prometheus}}
prometheusRule: {enabled: true, labels: {release: prometheus}}
dashboard: {enabled: true, labels: {grafana: "yes"}, annotations: {grafana_folder: Mesh}}
podDisruptionBudget: {enabled: true, maxUnavailable: 50%}
networkPolicy: {enabled: true, ingressFrom: [{namespaceSelector: {}}], egress: [{to: [{ipBlock: {cidr: 192.0.2.0/24}}]}]}
global: {of: a parent}
`

// Each value reaches the objects.
func TestEverything(t *testing.T) {
	all := map[string]*unstructured.Unstructured{}
	for _, o := range mustRender(t, "mesh", everything()) {
		all[o.GetKind()+" "+o.GetName()] = o
	}
	var want map[string]any
	if err := yaml.UnmarshalStrict([]byte(wantPod), &want); err != nil {
		t.Fatal(err)
	}
	got, _, _ := unstructured.NestedMap(all["Deployment linkwright-blue"].Object, "spec", "template")
	sum, _, _ := unstructured.NestedString(got, "metadata", "annotations", "checksum/config")
	if unstructured.RemoveNestedField(got, "metadata", "annotations", "checksum/config"); len(sum) != 64 {
		t.Errorf("the pod's sum of the config file is %q: other values would not restart it", sum)
	}
	if diff := cmp.Diff(want, plain(t, got)); diff != "" {
		t.Errorf("the pod: -want +got\n%s", diff)
	}
	for at, want := range map[string]string{
		"Deployment linkwright-blue/spec/replicas":                                    "3",
		"ServiceAccount linkwright-blue/metadata/annotations/cloud":                   "role",
		"Service linkwright-blue/metadata/annotations/mirror":                         `"no"`,
		"ServiceMonitor linkwright-blue/spec/endpoints":                               "[{interval: 30s, path: /metrics, port: http}]",
		"ServiceMonitor linkwright-blue/metadata/labels/release":                      "prometheus",
		"PrometheusRule linkwright-blue/metadata/labels/release":                      "prometheus",
		"ConfigMap linkwright-blue-dashboard/metadata/labels/grafana":                 `"yes"`,
		"ConfigMap linkwright-blue-dashboard/metadata/annotations/grafana_folder":     "Mesh",
		"PodDisruptionBudget linkwright-blue/spec/maxUnavailable":                     "50%",
		"NetworkPolicy linkwright-blue/spec/ingress":                                  "[{from: [{namespaceSelector: {}}], ports: [{port: http}]}]",
		"NetworkPolicy linkwright-blue/spec/egress":                                   "[{to: [{ipBlock: {cidr: 192.0.2.0/24}}]}]",
		"NetworkPolicy linkwright-blue/spec/policyTypes":                              "[Ingress, Egress]",
		"Role linkwright-blue-secrets/rules":                                          `[{apiGroups: [""], resources: [secrets], resourceNames: [east, linkwright-keys], verbs: [get, list, watch]}]`,
		"ClusterRoleBinding linkwright-blue-mirrors/subjects":                         "[{kind: ServiceAccount, name: linkwright-blue, namespace: mesh}]",
		"ValidatingAdmissionPolicyBinding linkwright-blue.secrets/spec/policyName":    "linkwright-blue.secrets",
		"ValidatingAdmissionPolicyBinding linkwright-blue.secrets/metadata/namespace": "null",
	} {
		object, path, _ := strings.Cut(at, "/")
		var value any
		if err := yaml.Unmarshal([]byte(want), &value); err != nil {
			t.Fatal(err)
		}
		if all[object] == nil {
			t.Errorf("there is no %s", object)
			continue
		}
		got, _, _ := unstructured.NestedFieldNoCopy(all[object].Object, strings.Split(path, "/")...)
		if diff := cmp.Diff(value, plain(t, got)); diff != "" {
			t.Errorf("%s: -want +got\n%s", at, diff)
		}
	}
}

const wantPod = `
metadata:
  labels: {app.kubernetes.io/name: linkwright, app.kubernetes.io/instance: mesh, team: mesh}
  annotations: {note: x}
spec:
  serviceAccountName: linkwright-blue
  automountServiceAccountToken: true
  imagePullSecrets: [{name: registry}]
  priorityClassName: system-cluster-critical
  securityContext: {runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: linkwright
    image: registry.example.com/linkwright:v7@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    imagePullPolicy: Always
    args:
    - run
    - --git-cache=/var/cache/linkwright
    - --repo=ssh://git@git.example.com/mesh/fleet.git
    - --ref=semver:>=1.0
    - --path=clusters/a b
    - --git-credentials-dir=/etc/linkwright/git
    - --hook-secret-file=/etc/linkwright/hook/secret
    - --namespace=mesh
    - --owner=blue
    - --config=/etc/linkwright/config/config.yaml
    - --max-sync-age=10m
    - --status-context=a b
    env: [{name: HTTPS_PROXY, value: "http://proxy:3128"}]
    ports: [{name: http, containerPort: 8080}]
    livenessProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 10}
    readinessProbe: {httpGet: {path: /readyz, port: http}, periodSeconds: 10}
    resources: {requests: {cpu: 50m, memory: 64Mi}, limits: {memory: 2Gi}}
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
    volumeMounts:
    - {name: cache, mountPath: /var/cache/linkwright}
    - {name: tmp, mountPath: /tmp}
    - {name: git, mountPath: /etc/linkwright/git, readOnly: true}
    - {name: hook, mountPath: /etc/linkwright/hook, readOnly: true}
    - {name: config, mountPath: /etc/linkwright/config, readOnly: true}
    - {name: keys, mountPath: /keys}
  volumes:
  - {name: cache, emptyDir: {sizeLimit: 2Gi}}
  - {name: tmp, emptyDir: {sizeLimit: 16Mi}}
  - {name: git, secret: {secretName: linkwright-git, defaultMode: 288}}
  - {name: hook, secret: {secretName: linkwright-hook, defaultMode: 288}}
  - {name: config, configMap: {name: linkwright-blue-config}}
  - {name: keys, configMap: {name: keys}}
  nodeSelector: {kubernetes.io/os: linux}
  tolerations: [{key: dedicated, operator: Exists}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}
  topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app.kubernetes.io/name: linkwright, app.kubernetes.io/instance: mesh}}}
  - {maxSkew: 2, topologyKey: host, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}
`

// The program takes the file that the chart makes: the program's own tests hold it to this schema.
func TestConfigFile(t *testing.T) {
	schema, err := os.ReadFile(filepath.Join(root, configSchema))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "config.linkwright.dev/v1alpha1", "kind": "Config", "max-links": 1e6, "only-write": []any{"east", "west"},
		"log-format": "text", "status-context": "a: b", "require-confinement": true,
	}
	for _, o := range mustRender(t, "mesh", everything()) {
		if o.GetName() != "linkwright-blue-config" {
			continue
		}
		text, _, _ := unstructured.NestedString(o.Object, "data", "config.yaml")
		var got map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(text, "max-links: 1000000\n") {
			t.Errorf("the config file: -want +got\n%s%s", diff, text)
		}
		if err := util.ValidateAgainstSingleSchema(got, schema); err != nil {
			t.Error(err)
		}
		return
	}
	t.Error("there is no config file")
}

// Never is a rule on Secrets or ConfigMaps without names where names are meant: it would grant all of them.
func TestNoNamesGrantNothing(t *testing.T) {
	for _, values := range []string{"member: {enabled: true}", "member: {enabled: true, targets: null}\nmanagement: {secrets: null, configMaps: null}"} {
		for _, o := range mustRender(t, "mesh", with(t, values)) {
			rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
			for _, r := range rules {
				r := r.(map[string]any)
				if named, ok := r["resourceNames"].([]any); ok && len(named) == 0 || slices.Contains(named, any("")) {
					t.Errorf("%s %s: %v has no names", o.GetKind(), o.GetName(), r)
				}
			}
			if name := o.GetName(); strings.HasSuffix(name, "-secrets") && o.GetKind() == "Role" || strings.HasSuffix(name, "-credentials") {
				t.Errorf("%s %s is there, and names nothing", o.GetKind(), name)
			}
		}
	}
}

// A name that YAML would read as something else stays a name: a name that is null would grant a list of all.
func TestNamesAreText(t *testing.T) {
	for _, o := range mustRender(t, "mesh", with(t, `management: {secrets: ["null", "12"], configMaps: ["null", "12"]}`)) {
		rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
		for _, r := range rules {
			named, _ := r.(map[string]any)["resourceNames"].([]any)
			for _, name := range named {
				if text, ok := name.(string); !ok || text == "" {
					t.Errorf("%s %s names %v", o.GetKind(), o.GetName(), named)
				}
			}
		}
	}
}

// An error says which value is wrong, and what to do.
func TestErrors(t *testing.T) {
	for values, want := range map[string]string{
		"replica: 2":                "additional properties 'replica' not allowed",
		"config: {max-link: 1}":     "at '/config': additional properties 'max-link' not allowed",
		"config: {max-links: many}": "at '/config/max-links': got string, want integer",
		"config: {repo: x}":         "at '/config': additional properties 'repo' not allowed",
		"{config: {git-credentials-dir: /x}, git: {existingSecret: x}}": "config has git-credentials-dir, which the value git.existingSecret sets, too: give one of the two",
		"git: {branch: main}":                                   "at '/git': additional properties 'branch' not allowed",
		"replicas: two":                                         "at '/replicas': got string, want integer",
		"mode: Daemon":                                          "at '/mode': value must be one of 'Deployment', 'CronJob'",
		`management: {secrets: [""]}`:                           "at '/management/secrets/0': '' does not match pattern",
		"member: {targets: [East]}":                             "at '/member/targets/0': 'East' does not match pattern",
		"image: {digest: v1}":                                   "at '/image/digest'",
		"git: {url: ''}":                                        "git.url is empty: set it to the repository with the declarations",
		"image: {repository: ''}":                               "image.repository is empty, and no image is published yet: build one with make image",
		"management: {enabled: false}":                          "nothing to install: set management.enabled, member.enabled or both to true",
		"serviceAccount: {create: false}":                       "serviceAccount.create is false: name an account that exists in serviceAccount.name",
		"{mode: CronJob, serviceMonitor: {enabled: true}}":      "serviceMonitor.enabled needs mode: Deployment",
		"{mode: CronJob, prometheusRule: {enabled: true}}":      "prometheusRule.enabled needs mode: Deployment",
		"{mode: CronJob, dashboard: {enabled: true}}":           "dashboard.enabled needs mode: Deployment",
		"{mode: CronJob, podDisruptionBudget: {enabled: true}}": "podDisruptionBudget.enabled needs mode: Deployment",
		"{mode: CronJob, hook: {existingSecret: hook}}":         "hook.existingSecret needs mode: Deployment",
		"member: {enabled: true, multiclusterNamespace: mesh}":  "both parts have a Role of one name in the namespace mesh: install the release into another namespace",
		"member: {enabled: true, linkerdNamespace: links, multiclusterNamespace: links}": "member.linkerdNamespace and member.multiclusterNamespace are the same",
	} {
		if _, err := render(t, "mesh", with(t, values)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", values, err, want)
		}
	}
	const want = "member.confine needs ValidatingAdmissionPolicy, which Kubernetes 1.30 and later serve: set it to false"
	if _, err := renderOn(t, "v1.29.9", "mesh", with(t, "member: {enabled: true}")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("on Kubernetes 1.29: %v, want %q", err, want)
	}
	if _, err := renderOn(t, "v1.29.9", "mesh", with(t, "member: {enabled: true, confine: false}")); err != nil {
		t.Errorf("on Kubernetes 1.29 without policies: %v", err)
	}
}

// TestObjects: which values make which objects.
func TestObjects(t *testing.T) {
	var (
		least   = []string{"Deployment mesh/linkwright", "Role mesh/linkwright", "RoleBinding mesh/linkwright", "Service mesh/linkwright", "ServiceAccount mesh/linkwright"}
		rights  = []string{"Role mesh/linkwright", "RoleBinding mesh/linkwright", "ServiceAccount mesh/linkwright"}
		members = []string{
			"ClusterRole /linkwright", "ClusterRoleBinding /linkwright", "Namespace /linkwright-access",
			"Role kube-system/linkwright", "Role linkerd-multicluster/linkwright", "Role linkerd/linkwright", "Role linkwright-access/linkwright",
			"RoleBinding kube-system/linkwright", "RoleBinding linkerd-multicluster/linkwright", "RoleBinding linkerd/linkwright", "RoleBinding linkwright-access/linkwright",
		}
		destination = []string{"Role linkerd/linkwright-destination", "RoleBinding linkerd/linkwright-destination"}
	)
	for values, want := range map[string][]string{
		"":                              least,
		"mode: CronJob":                 append(slices.Clone(rights), "CronJob mesh/linkwright"),
		"management: {secrets: [east]}": append(slices.Clone(least), "Role mesh/linkwright-secrets", "RoleBinding mesh/linkwright-secrets"),
		"serviceAccount: {create: false, name: theirs}":                           least[:4],
		"networkPolicy: {enabled: true}":                                          append(slices.Clone(least), "NetworkPolicy mesh/linkwright"),
		"config: {max-links: 10}":                                                 append(slices.Clone(least), "ConfigMap mesh/linkwright-config"),
		"podDisruptionBudget: {enabled: true}":                                    append(slices.Clone(least), "PodDisruptionBudget mesh/linkwright"),
		"prometheusRule: {enabled: true}":                                         append(slices.Clone(least), "PrometheusRule mesh/linkwright"),
		"dashboard: {enabled: true}":                                              append(slices.Clone(least), "ConfigMap mesh/linkwright-dashboard"),
		"serviceMonitor: {enabled: true}":                                         append(slices.Clone(least), "ServiceMonitor mesh/linkwright"),
		"member: {enabled: true, confine: false}":                                 append(slices.Clone(least), members...),
		"{management: {enabled: false}, member: {enabled: true, confine: false}}": append(slices.Clone(members), "ServiceAccount mesh/linkwright"),
		"{management: {enabled: false}, member: {enabled: true}}":                 slices.Concat(members, destination, least[4:]),
		"{management: {enabled: false, secrets: [east]}, networkPolicy: {enabled: true}, member: {enabled: true, confine: false, targets: [east], sweep: true}}": append(slices.Clone(members),
			"ClusterRole /linkwright-mirrors", "ClusterRoleBinding /linkwright-mirrors",
			"Role linkerd/linkwright-credentials", "RoleBinding linkerd/linkwright-credentials", "ServiceAccount mesh/linkwright"),
	} {
		got := names(mustRender(t, "mesh", with(t, values)))
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", values, diff)
		}
	}
}

// The values on the page Install, in its file and in its commands, make what the page says.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/how-to/install.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Install with Helm\n")
	_, file, _ := strings.Cut(section, "```yaml\n")
	file, _, _ = strings.Cut(file, "```")
	values := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(file), &values); err != nil {
		t.Fatal(err)
	}
	if got := names(mustRender(t, "linkwright", values)); !slices.Contains(got, "Deployment linkwright/linkwright") {
		t.Errorf("the values of the page make %v", got)
	}
	sets := regexp.MustCompile(`--set '?([^' ]+)`).FindAllStringSubmatch(section, -1)
	values = map[string]any{}
	for _, s := range sets {
		if err := strvals.ParseInto(strings.TrimSpace(s[1]), values); err != nil {
			t.Fatal(err)
		}
	}
	if got := names(mustRender(t, "linkwright", values)); len(sets) != 3 || !slices.Contains(got, "Role linkerd/linkwright-credentials") {
		t.Errorf("%q of the page make %v", sets, got)
	}
	c := loaded(t)
	if packed := "bin/chart/linkwright-" + c.Metadata.Version + ".tgz"; strings.Count(section, packed) < 2 {
		t.Errorf("the page does not install %s, which make chart writes", packed)
	}
}
