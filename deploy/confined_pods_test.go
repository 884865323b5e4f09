package deploy_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/render/linkerd"
)

// controller is the Deployment of a link's controller as linkwright makes it, with what an overlay may add.
const controller = `
metadata: {name: controller-thief}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata:
      labels: {a: b, team: mesh}
      annotations: {linkerd.io/inject: enabled, config.linkerd.io/proxy-log-level: debug, prometheus.io/scrape: "true"}
    spec:
      serviceAccountName: controller-thief
      automountServiceAccountToken: false
      securityContext: {seccompProfile: {type: RuntimeDefault}}
      priorityClassName: system-cluster-critical
      tolerations: [{operator: Exists}]
      containers:
      - name: controller
        image: cr.l5d.io/linkerd/controller:edge
        args: [service-mirror, -log-level=info, -log-format=plain, -event-requeue-limit=3, -namespace=linkerd-multicluster, -enable-pprof=false, -probe-service=probe-thief, thief]
        ports: [{name: ctrl-admin, containerPort: 9999}]
        resources: {requests: {cpu: 10m}}
        livenessProbe: {httpGet: {path: /ping, port: ctrl-admin}}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          runAsNonRoot: true
          runAsUser: 2103
          runAsGroup: 2103
          capabilities: {drop: [ALL]}
          seccompProfile: {type: RuntimeDefault}
        volumeMounts: [{name: kube-api-access, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}]
      volumes:
      - name: kube-api-access
        projected:
          sources:
          - serviceAccountToken: {path: token, expirationSeconds: 3607}
          - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
          - downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}
`

// lawful are requests that linkwright makes, and that the policies let through.
func lawful() []attack {
	deployments, services, endpoints := resource("apps", "deployments"), resource("", "services"), resource("", "endpoints")
	return []attack{
		{"make a controller", deployments, testbed.Multicluster, "", "", "create", controller},
		{"make the controller that links share", deployments, testbed.Multicluster, "", "", "create", sharedController("linkwright-mirror", sharedArguments)},
		{"make its account", resource("", "serviceaccounts"), testbed.Multicluster, "", "", "create", `{metadata: {name: linkwright-mirror}}`},
		{
			"write its Role", resource(rbacv1.GroupName, "roles"), testbed.Multicluster, "linkwright-mirror", "", "patch",
			`{rules: [{apiGroups: [multicluster.linkerd.io], resources: [links], verbs: [list, get, watch]}, {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create, get, update, patch]}]}`,
		},
		{"bind its Role", resource(rbacv1.GroupName, "rolebindings"), testbed.Multicluster, "", "", "create", sharedBinding("linkwright-mirror", "Role", "linkwright-mirror", "linkwright-mirror")},
		{"bind a link's Role to it", resource(rbacv1.GroupName, "rolebindings"), testbed.Multicluster, "", "", "create", sharedBinding("controller-read-remote-creds-east.shared", "Role", "controller-read-remote-creds-east", "linkwright-mirror")},
		{"bind Linkerd's role to it", resource(rbacv1.GroupName, "clusterrolebindings"), "", "", "", "create", sharedBinding("linkwright-mirror", "ClusterRole", linkerd.LocalAccessRole, "linkwright-mirror")},
		{"set values of proxies", resource("", "configmaps"), testbed.ControlPlane, linkerd.ConfigName, "", "patch", `{data: {values: "proxy: {}"}}`},
		{"delete the probe of a link", services, testbed.Multicluster, "probe-east", "", "delete", ""},
		{"delete its Endpoints", endpoints, testbed.Multicluster, "probe-east", "", "delete", ""},
	}
}

const sharedArguments = "mirror, --selector=linkwright.dev/mirror=linkwright, --multicluster-namespace=linkerd-multicluster, --local=false, --log-level=info"

// sharedController is the Deployment of the controller that links share, with arguments of its own.
func sharedController(name, arguments string) string {
	own := regexp.MustCompile(`args: \[.*\]`).ReplaceAllLiteralString(controller, "args: ["+arguments+"]")
	return strings.ReplaceAll(own, "controller-thief", name)
}

// sharedBinding binds a role to an account beside links.
func sharedBinding(name, kind, role, account string) string {
	return `{metadata: {name: ` + name + `}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ` + kind + `, name: ` + role + `}, ` +
		`subjects: [{kind: ServiceAccount, name: ` + account + `, namespace: linkerd-multicluster}]}`
}

// sharedAttacks are about the controller that links share.
func sharedAttacks() (out []attack) {
	for aim, arguments := range map[string]string{
		"run another program as the shared controller": "identity",
		"mirror another installation's Links":          strings.Replace(sharedArguments, "mirror=linkwright", "mirror=thief", 1),
		"mirror the Links of another namespace":        strings.Replace(sharedArguments, "=linkerd-multicluster", "=linkerd", 1),
		"have it connect elsewhere":                    sharedArguments + ", --kubeconfig=/thief",
		"run a link's controller with its account":     "service-mirror, linkwright-mirror",
	} {
		out = append(out, attack{aim, resource("apps", "deployments"), testbed.Multicluster, "", "", "create", sharedController("linkwright-mirror", arguments)})
	}
	roles, clusterRoles := resource(rbacv1.GroupName, "rolebindings"), resource(rbacv1.GroupName, "clusterrolebindings")
	return append(out,
		attack{"run linkwright mirror as a link's controller", resource("apps", "deployments"), testbed.Multicluster, "", "", "create", sharedController("controller-thief", sharedArguments)},
		attack{"bind the shared Role to another account", roles, testbed.Multicluster, "", "", "create", sharedBinding("linkwright-mirror", "Role", "linkwright-mirror", "linkwright-mirror-thief")},
		attack{"bind a link's Role to an account like the shared one", roles, testbed.Multicluster, "", "", "create", sharedBinding("controller-read-remote-creds-east.shared", "Role", "controller-read-remote-creds-east", "linkwright-mirror-thief")},
		attack{"bind Linkerd's role to an account like it", clusterRoles, "", "", "", "create", sharedBinding("linkwright-mirror", "ClusterRole", linkerd.LocalAccessRole, "linkwright-mirror-thief")},
	)
}

// podAttacks are controllers that differ in one thing from what linkwright makes: a path of the Deployment, and what stands there instead.
func podAttacks() (out []attack) {
	const pod, container = "spec.template.spec.", "spec.template.spec.containers.0."
	for _, a := range []struct{ aim, path, value string }{
		{"run a Deployment of another name", "metadata.name", "thief"},
		{"run with another account", pod + "serviceAccountName", "linkerd-gateway"},
		{"run another image", container + "image", "thief"},
		{"run an image of a like name", container + "image", "cr.l5d.io/linkerd/controller-thief"},
		{"run another image first", pod + "initContainers", "[{name: i, image: thief}]"},
		{"run another container", pod + "containers.1", "{name: thief, image: cr.l5d.io/linkerd/controller:edge}"},
		{"run another program of Linkerd's image", container + "args", "[identity]"},
		{"have the controller show its memory", container + "args.5", "-enable-pprof=true"},
		{"run a command", container + "command", "[sh]"},
		{"run a command as a probe", container + "startupProbe", "{exec: {command: [sh]}}"},
		{"run a command at the end", container + "lifecycle", "{preStop: {exec: {command: [sh]}}}"},
		{"set the program's environment", container + "env", "[{name: HTTPS_PROXY, value: thief.example.com}]"},
		{"read a Secret", container + "envFrom", "[{secretRef: {name: s}}]"},
		{"read a key of a Secret", container + "env", "[{name: E, valueFrom: {secretKeyRef: {name: s, key: k}}}]"},
		{"mount a Secret", pod + "volumes.1", "{name: v, secret: {secretName: s}}"},
		{"mount a directory of the node", pod + "volumes.1", "{name: v, hostPath: {path: /}}"},
		{"get a token for others", pod + "volumes.0.projected.sources.0.serviceAccountToken.audience", "vault"},
		{"have the node's network", pod + "hostNetwork", "true"},
		{"see the node's processes", pod + "hostPID", "true"},
		{"share memory with the node", pod + "hostIPC", "true"},
		{"take a port of the node", container + "ports.0.hostPort", "9999"},
		{"see what runs beside it", pod + "shareProcessNamespace", "true"},
		{"run on a node of its choice, whatever that is for", pod + "nodeName", "node"},
		{"call others by another name", pod + "hostAliases", "[{ip: 192.0.2.66, hostnames: [east.example.com]}]"},
		{"be placed by a program of its own", pod + "schedulerName", "thief"},
		{"gain privileges", container + "securityContext.allowPrivilegeEscalation", "true"},
		{"be root", container + "securityContext.runAsUser", "0"},
		{"be root if the image is", container + "securityContext.runAsNonRoot", "false"},
		{"be root as a pod", pod + "securityContext.runAsUser", "0"},
		{"have a capability", container + "securityContext.capabilities.add", "[NET_ADMIN]"},
		{"keep capabilities", container + "securityContext.capabilities.drop", "[NET_RAW]"},
		{"ask the kernel anything", container + "securityContext.seccompProfile", "{type: Unconfined}"},
		{"ask the kernel anything as a pod", pod + "securityContext.seccompProfile", "{type: Unconfined}"},
		{"leave SELinux", container + "securityContext.seLinuxOptions", "{type: spc_t}"},
		{"leave AppArmor", container + "securityContext.appArmorProfile", "{type: Unconfined}"},
		{"run as a Windows host process", container + "securityContext.windowsOptions", "{runAsUserName: thief}"},
		{"set the node's kernel", pod + "securityContext.sysctls", "[{name: kernel.shm_rmid_forced, value: \"1\"}]"},
		{"have Linkerd add another proxy", "spec.template.metadata.annotations", "{config.linkerd.io/proxy-image: thief}"},
		{"have Linkerd add a debugger", "spec.template.metadata.annotations", "{config.linkerd.io/enable-debug-sidecar: \"true\"}"},
		{"have Vault add an agent", "spec.template.metadata.annotations", "{vault.hashicorp.com/agent-inject: \"true\"}"},
		{"get a cloud's credentials", "spec.template.metadata.labels", "{a: b, azure.workload.identity/use: \"true\"}"},
		{"be a gateway", "spec.template.metadata.labels", "{a: b, app: linkerd-gateway}"},
		{"have another tool change its image", "metadata.annotations", "{keel.sh/policy: force}"},
		{"show its token in its status", container + "terminationMessagePath", "/var/run/secrets/kubernetes.io/serviceaccount/token"},
		{"have the node ask another host", container + "livenessProbe", "{httpGet: {host: 192.0.2.66, port: 80}}"},
		{"show its memory, by a flag alone", container + "args.5", "-enable-pprof"},
		{"watch another namespace", container + "args.4", "-namespace=linkerd"},
		{"have Istio add a proxy", "spec.template.metadata.labels", "{a: b, sidecar.istio.io/inject: \"true\"}"},
	} {
		out = append(out, attack{a.aim, resource("apps", "deployments"), testbed.Multicluster, "", "", "create", changed(a.path, a.value)})
	}
	return out
}

// changed returns the controller with another value, given as YAML, at a path of names and places in lists.
func changed(path, value string) string {
	var o, v any
	if err := yaml.Unmarshal([]byte(controller), &o); err != nil {
		panic(err)
	}
	if err := yaml.Unmarshal([]byte(value), &v); err != nil {
		panic(err)
	}
	text, err := yaml.Marshal(with(o, strings.Split(path, "."), v))
	if err != nil {
		panic(err)
	}
	return string(text)
}

func with(o any, path []string, v any) any {
	if len(path) == 0 {
		return v
	}
	if list, ok := o.([]any); ok {
		at, err := strconv.Atoi(path[0])
		if err != nil {
			panic(err)
		}
		if at == len(list) {
			list = append(list, nil)
		}
		list[at] = with(list[at], path[1:], v)
		return list
	}
	in, _ := o.(map[string]any)
	out := map[string]any{}
	maps.Copy(out, in)
	out[path[0]] = with(out[path[0]], path[1:], v)
	return out
}

// rendered returns the Deployments that linkwright makes in its own goldens: of every option that a link has.
func rendered(t *testing.T) (out []attack) {
	t.Helper()
	files, err := filepath.Glob("../testdata/render/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("goldens: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range regexp.MustCompile("(?m)^---.*$|^-- .* --$").Split(string(text), -1) {
			var o struct {
				Kind     string
				Metadata struct{ Name, Namespace string }
			}
			if yaml.Unmarshal([]byte(doc), &o) != nil || o.Kind != "Deployment" || o.Metadata.Namespace != testbed.Multicluster {
				continue
			}
			body := strings.NewReplacer("registry.example.com/linkerd/controller", linkerd.ControllerImage).Replace(doc)
			out = append(out, attack{"make " + o.Metadata.Name + " of " + filepath.Base(file), resource("apps", "deployments"), testbed.Multicluster, "", "", "create", body})
		}
	}
	if len(out) == 0 {
		t.Fatal("there is no Deployment in the goldens")
	}
	return out
}
