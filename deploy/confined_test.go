package deploy_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// attack is a request of a thief of linkwright's account. Body is YAML.
type attack struct {
	aim                  string
	resource             schema.GroupVersionResource
	namespace, name, sub string
	verb                 string // create, apply, patch (a JSON merge patch), delete
	body                 string
}

func resource(group, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}
}

func attacks() []attack {
	apps, services, secrets := resource("apps", "deployments"), resource("", "services"), resource("", "secrets")
	bindings, mc, cp := resource(rbacv1.GroupName, "clusterrolebindings"), testbed.Multicluster, testbed.ControlPlane
	return slices.Concat(podAttacks(), sharedAttacks(), kubeconfigAttacks(), restartAttacks(), []attack{
		{
			"mount the issuer's key", apps, cp, linkerd.DestinationName, "", "patch",
			`{spec: {template: {spec: {volumes: [{name: key, secret: {secretName: linkerd-identity-issuer}}]}}}}`,
		},
		{
			"run another image in the control plane", apps, cp, linkerd.DestinationName, "", "patch",
			`{spec: {template: {spec: {containers: [{name: thief, image: thief}]}}}}`,
		},
		{
			"run with any account of the control plane's pod", apps, cp, linkerd.DestinationName, "", "patch",
			`{spec: {template: {spec: {serviceAccountName: linkerd-identity}}}}`,
		},
		{"mark the control plane's pods", apps, cp, linkerd.DestinationName, "", "patch", `{spec: {template: {metadata: {annotations: {thief: "1"}}}}}`},
		{
			"have the control plane deleted, by an owner that is not there", apps, cp, linkerd.DestinationName, "", "patch",
			`{metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: none, uid: none}]}}`,
		},
		{"stop the control plane", apps, cp, linkerd.DestinationName, "", "patch", `{spec: {replicas: 0}}`},
		{"lead traffic to other pods", services, "default", "victim", "", "patch", `{spec: {selector: {app: thief}}}`},
		{"take an address of others", services, "default", "victim", "", "patch", `{spec: {externalIPs: [192.0.2.66]}}`},
		{"lead traffic elsewhere", services, "default", "victim", "", "patch", `{spec: {type: ExternalName, externalName: thief.example.com}}`},
		{"call a Service a mirror", services, "default", "victim", "", "patch", `{metadata: {labels: {mirror.linkerd.io/mirrored-service: "true"}}}`},
		{"lead traffic beside links to other pods", services, mc, "victim", "", "patch", `{spec: {selector: {app: thief}}}`},
		{"delete a Service beside links", services, mc, "victim", "", "delete", ""},
		{"delete a Service", services, "default", "victim", "", "delete", ""},
		{"lead a mirror's traffic elsewhere", services, "default", "victim-east", "", "patch", `{spec: {selector: {app: thief}}}`},
		{"relabel a mirror", services, "default", "victim-east", "", "patch", `{metadata: {labels: {mirror.linkerd.io/cluster-name: thief}}}`},
		{"a Service of its own", services, mc, "", "", "create", `{metadata: {name: thief}, spec: {ports: [{port: 80}]}}`},
		{"a probe that takes an address", services, mc, "", "", "create", `{metadata: {name: probe-thief}, spec: {externalIPs: [192.0.2.66], ports: [{port: 80}]}}`},
		{"a probe with pods", services, mc, "", "", "create", `{metadata: {name: probe-thief}, spec: {selector: {app: thief}, ports: [{port: 80}]}}`},
		{"delete Endpoints", resource("", "endpoints"), "default", "victim", "", "delete", ""},
		{"delete Endpoints beside links", resource("", "endpoints"), mc, "victim", "", "delete", ""},
		{"delete a Service by a probe's name", services, "default", "probe-victim", "", "delete", ""},
		{"delete Endpoints by a probe's name", resource("", "endpoints"), "default", "probe-victim", "", "delete", ""},
		{"delete a ClusterRoleBinding", bindings, "", "victim", "", "delete", ""},
		{
			"bind Linkerd's role to another account", bindings, "", "victim", "", "patch",
			`{subjects: [{kind: ServiceAccount, name: thief, namespace: default}]}`,
		},
		{
			"bind Linkerd's role by another name", bindings, "", "", "", "create",
			`{metadata: {name: thief}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ` + linkerd.RemoteAccessRole + `}, subjects: [{kind: ServiceAccount, name: thief, namespace: default}]}`,
		},
		{
			"bind Linkerd's role to a user", bindings, "", "", "", "create",
			`{metadata: {name: linkwright-access.linkwright.thief}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ` + linkerd.RemoteAccessRole + `}, subjects: [{kind: User, name: thief, apiGroup: rbac.authorization.k8s.io}]}`,
		},
		{
			"bind a controller's role to an account elsewhere", bindings, "", "", "", "create",
			`{metadata: {name: ` + linkerd.LocalAccess("thief") + `}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ` + linkerd.LocalAccessRole + `}, subjects: [{kind: ServiceAccount, name: controller-thief, namespace: default}]}`,
		},
		{
			"the token of another account", secrets, mc, "", "", "create",
			`{metadata: {name: thief, annotations: {kubernetes.io/service-account.name: linkerd-gateway}}, type: kubernetes.io/service-account-token}`,
		},
		{
			"the same by a name of links", secrets, mc, "", "", "create",
			`{metadata: {name: cluster-credentials-thief, annotations: {kubernetes.io/service-account.name: linkerd-gateway}}, type: kubernetes.io/service-account-token}`,
		},
		{
			"the token of another account beside links'", secrets, "linkwright-access", "", "", "create",
			`{metadata: {name: linkwright.thief-token, annotations: {kubernetes.io/service-account.name: default}}, type: kubernetes.io/service-account-token}`,
		},
		{"delete a Secret of others", secrets, mc, "victim", "", "delete", ""},
		{"change a Secret of others beside links' tokens", secrets, "linkwright-access", "victim", "", "patch", `{data: {a: Yg==}}`},
		{"delete a Secret of others beside links' tokens", secrets, "linkwright-access", "victim", "", "delete", ""},
		{"have a tool fill a Secret", secrets, mc, "", "", "create", `{metadata: {name: cluster-credentials-thief, annotations: {replicator.v1.mittwald.de/replicate-from: linkerd/linkerd-identity-issuer}}, type: mirror.linkerd.io/remote-kubeconfig}`},
		{"change a Secret of others", secrets, mc, "victim", "", "patch", `{data: {a: Yg==}}`},
		{"delete a Deployment of others", apps, mc, "victim", "", "delete", ""},
		{"change a Deployment of others", apps, mc, "victim", "", "patch", `{spec: {template: {spec: {hostNetwork: true}}}}`},
		{
			"issue a token of another account", resource("", "serviceaccounts"), "linkwright-access", "default", "token", "create",
			`{apiVersion: authentication.k8s.io/v1, kind: TokenRequest, metadata: {name: default}, spec: {audiences: []}}`,
		},
		{
			"give a controller's account the role of a cloud", resource("", "serviceaccounts"), mc, "", "", "create",
			`{metadata: {name: controller-thief, annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::0:role/thief"}}}`,
		},
		{"change an account of others", resource("", "serviceaccounts"), mc, "victim", "", "patch", `{imagePullSecrets: [{name: thief}]}`},
		{"an account of its own", resource("", "serviceaccounts"), "linkwright-access", "", "", "create", `{metadata: {name: thief}}`},
		{"change an account beside links'", resource("", "serviceaccounts"), "linkwright-access", "default", "", "patch", `{imagePullSecrets: [{name: thief}]}`},
		{"delete an account beside links'", resource("", "serviceaccounts"), "linkwright-access", "default", "", "delete", ""},
		{"delete an account of others", resource("", "serviceaccounts"), mc, "victim", "", "delete", ""},
		{
			"give its rights away", resource(rbacv1.GroupName, "roles"), mc, "", "", "create",
			`{metadata: {name: thief}, rules: [{apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}]}`,
		},
		{
			"give all Secrets to a controller", resource(rbacv1.GroupName, "roles"), mc, "", "", "create",
			`{metadata: {name: controller-read-remote-creds-thief}, rules: [{apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}]}`,
		},
		{"change a Role of others", resource(rbacv1.GroupName, "roles"), mc, "victim", "", "patch", `{rules: []}`},
		{"delete a Role of others", resource(rbacv1.GroupName, "roles"), mc, "victim", "", "delete", ""},
		{
			"bind a controller's Role to another account", resource(rbacv1.GroupName, "rolebindings"), mc, "", "", "create",
			`{metadata: {name: controller-read-remote-creds-east}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: controller-read-remote-creds-east}, subjects: [{kind: ServiceAccount, name: thief, namespace: default}]}`,
		},
		{
			"give a binding of others to another account", resource(rbacv1.GroupName, "rolebindings"), mc, "victim", "", "patch",
			`{subjects: [{kind: ServiceAccount, name: thief, namespace: default}]}`,
		},
		{"delete a binding of others", resource(rbacv1.GroupName, "rolebindings"), mc, "victim", "", "delete", ""},
		{"a ConfigMap of its own", resource("", "configmaps"), "linkwright-access", "", "", "create", `{metadata: {name: thief}}`},
		{"have others trust another certificate", resource("", "configmaps"), "linkwright-access", "kube-root-ca.crt", "", "patch", `{data: {ca.crt: thief}}`},
		{"delete a ConfigMap of others", resource("", "configmaps"), "linkwright-access", "kube-root-ca.crt", "", "delete", ""},
		{"change more of Linkerd's configuration", resource("", "configmaps"), cp, linkerd.ConfigName, "", "patch", `{data: {thief: "1"}}`},
		{"call Linkerd's configuration another tool's", resource("", "configmaps"), cp, linkerd.ConfigName, "", "patch", `{metadata: {labels: {thief: "1"}}}`},
		{"hide data in Linkerd's configuration", resource("", "configmaps"), cp, linkerd.ConfigName, "", "patch", `{binaryData: {thief: dGhpZWY=}}`},
		{"keep Linkerd's configuration as it is for ever", resource("", "configmaps"), cp, linkerd.ConfigName, "", "patch", `{immutable: true}`},
		{
			"have Linkerd's configuration deleted, by an owner that is not there", resource("", "configmaps"), cp, linkerd.ConfigName, "", "patch",
			`{metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: none, uid: none}]}}`,
		},
		{"delete Linkerd's configuration", resource("", "configmaps"), cp, linkerd.ConfigName, "", "delete", ""},
		{"a lease of its own", resource("coordination.k8s.io", "leases"), mc, "", "", "create", `{metadata: {name: thief}}`},
		{"lead in place of others", resource("coordination.k8s.io", "leases"), mc, "victim", "", "patch", `{spec: {holderIdentity: thief}}`},
		{"delete a lease of others", resource("coordination.k8s.io", "leases"), mc, "victim", "", "delete", ""},
	})
}

// TestConfined has a thief of linkwright's account try what its rights alone would let him do, and then what the policies leave.
func TestConfined(t *testing.T) {
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
	testbed.Need(t)
	t.Parallel()
	b := &testEnv{T: t}
	var err error
	b.ControlPlanes, err = testbed.Start(t.Context(), testbed.Options{Names: []string{"west"}, Pool: &pool})
	b.must(err)
	t.Cleanup(func() { b.CloseAfter(t) })
	b.must(testbed.InstallLinkerd(t.Context(), b.Clusters[0].Config, testbed.Linkerd{GatewayAddresses: []string{"192.0.2.10"}}))
	var rights, policies []*unstructured.Unstructured
	for _, o := range cluster(t, "east", "thief") {
		if strings.HasPrefix(o.GetKind(), "ValidatingAdmissionPolicy") {
			policies = append(policies, o)
		} else {
			rights = append(rights, o)
		}
	}
	b.apply("west", rights)
	b.permitted("west", rights)
	b.victims()
	thief := b.thief()
	for _, a := range attacks() {
		if err := a.try(t.Context(), thief); err != nil {
			t.Errorf("%s, by its rights alone: %v", a.aim, err)
		}
	}
	b.apply("west", policies)
	b.eventually("the policies are enforced", func(ctx context.Context) error {
		for _, a := range attacks() { // one of each resource at least
			if err := a.try(ctx, thief); err == nil {
				return fmt.Errorf("%s: nothing stops it", a.aim)
			}
		}
		return nil
	})
	b.confines(thief, policies)
}

// confines: every attack is denied by a policy, what linkwright does is not, and nobody who is confined changes by what.
func (b *testEnv) confines(thief dynamic.Interface, policies []*unstructured.Unstructured) {
	t := b.T
	for _, a := range attacks() {
		if err := a.try(t.Context(), thief); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'linkwright.") {
			t.Errorf("%s, under the policies: %v", a.aim, err)
		}
	}
	for _, l := range slices.Concat(lawful(), credentials(), rendered(t), restarts()) {
		if err := l.try(t.Context(), thief); err != nil {
			t.Errorf("%s, under the policies: %v", l.aim, err)
		}
	}
	b.createsNoPods(thief)
	for _, o := range policies {
		r := resource("admissionregistration.k8s.io", map[bool]string{true: "validatingadmissionpolicies", false: "validatingadmissionpolicybindings"}[o.GetKind() == "ValidatingAdmissionPolicy"])
		if err := (attack{"", r, "", o.GetName(), "", "delete", ""}).try(t.Context(), thief); !apierrors.IsForbidden(err) {
			t.Errorf("delete %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// thief has a token of linkwright's account.
func (b *testEnv) thief() dynamic.Interface {
	b.Helper()
	token, err := b.client("west").CoreV1().ServiceAccounts(namespace).CreateToken(b.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	b.must(err)
	cfg := rest.AnonymousClientConfig(b.Clusters[0].Config)
	cfg.BearerToken, cfg.QPS, cfg.WarningHandler = token.Status.Token, -1, rest.NoWarnings{}
	client, err := dynamic.NewForConfig(cfg)
	b.must(err)
	return client
}

// victims are objects of others.
func (b *testEnv) victims() {
	b.Helper()
	ctx, c := b.Context(), b.client("west")
	ports := corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}
	probe := metav1.ObjectMeta{Name: "probe-east", Namespace: testbed.Multicluster}
	alike := metav1.ObjectMeta{
		Name: "probe-victim", Labels: map[string]string{object.OwnerLabel: "linkwright"}, Annotations: map[string]string{linkerd.RemoteIdentity: "gateway"},
	}
	role := thing(rbacv1.GroupName+"/v1", "Role", testbed.Multicluster, nil)
	role.SetName("controller-read-remote-creds-east")
	shared := role.DeepCopy()
	shared.SetName("linkwright-mirror")
	mirror := metav1.ObjectMeta{Name: "victim-east", Labels: map[string]string{linkerd.MirroredLabel: "true", linkerd.ClusterNameLabel: "east"}}
	for _, meta := range []metav1.ObjectMeta{{Name: "victim"}, {Name: "victim", Namespace: testbed.Multicluster}, alike, mirror, probe} {
		ns := cmp.Or(meta.Namespace, "default")
		_, err := c.CoreV1().Services(ns).Create(ctx, &corev1.Service{ObjectMeta: meta, Spec: ports}, metav1.CreateOptions{})
		b.must(err)
		_, err = c.CoreV1().Endpoints(ns).Create(ctx, &corev1.Endpoints{ObjectMeta: meta}, metav1.CreateOptions{}) //nolint:staticcheck // Linkerd writes them
		b.must(err)
	}
	b.apply("west", slices.Concat(mayConfigure(), mayRestart(), b.workers()))
	b.apply("west", []*unstructured.Unstructured{
		thing("v1", "Secret", testbed.Multicluster, nil), thing("v1", "Secret", "linkwright-access", nil), thing("v1", "ServiceAccount", testbed.Multicluster, nil),
		thing("coordination.k8s.io/v1", "Lease", testbed.Multicluster, nil), thing(rbacv1.GroupName+"/v1", "Role", testbed.Multicluster, nil), role, shared, others(b),
		b.held(testbed.ControlPlane, "cluster-credentials-east", ""), b.held(testbed.Multicluster, "cluster-credentials-good", theirs()),
		b.held(testbed.Multicluster, "cluster-credentials-made", "apiVersion: v1\nkind: Config\n"),
		thing(rbacv1.GroupName+"/v1", "RoleBinding", testbed.Multicluster, map[string]any{"apiGroup": rbacv1.GroupName, "kind": "ClusterRole", "name": "view"}),
		thing(rbacv1.GroupName+"/v1", "ClusterRoleBinding", "", map[string]any{"apiGroup": rbacv1.GroupName, "kind": "ClusterRole", "name": linkerd.RemoteAccessRole}),
	})
	b.eventually("each namespace has its root certificates", func(ctx context.Context) error {
		_, err := c.CoreV1().ConfigMaps("linkwright-access").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		if err == nil {
			_, err = c.CoreV1().ServiceAccounts("linkwright-access").Get(ctx, "default", metav1.GetOptions{})
		}
		return err
	})
}

// mayConfigure returns a Role of the control plane's namespace, as where a ProxyConfig is declared, and more: also to delete. It is bound to the account.
func mayConfigure() []*unstructured.Unstructured {
	role, binding := thing(rbacv1.GroupName+"/v1", "Role", testbed.ControlPlane, nil), thing(rbacv1.GroupName+"/v1", "RoleBinding", testbed.ControlPlane, nil)
	role.Object["rules"] = []any{map[string]any{
		"apiGroups": []any{""}, "resources": []any{"configmaps"}, "resourceNames": []any{linkerd.ConfigName}, "verbs": []any{"get", "patch", "delete"},
	}}
	binding.Object["roleRef"] = map[string]any{"apiGroup": rbacv1.GroupName, "kind": "Role", "name": role.GetName()}
	binding.Object["subjects"] = []any{map[string]any{"kind": "ServiceAccount", "name": account, "namespace": namespace}}
	return []*unstructured.Unstructured{role, binding}
}

// held returns a Secret of a link, with such a kubeconfig.
func (b *testEnv) held(namespace, name, kubeconfig string) *unstructured.Unstructured {
	o := thing("v1", "Secret", namespace, nil)
	o.SetName(name)
	o.Object["type"], o.Object["stringData"] = linkerd.KubeconfigSecretType, map[string]any{linkerd.KubeconfigKey: kubeconfig}
	return o
}

// others returns a Deployment of others.
func others(b *testEnv) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	b.must(yaml.Unmarshal([]byte(`{apiVersion: apps/v1, kind: Deployment, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: c}]}}}}`), &o.Object))
	o.SetName("victim")
	o.SetNamespace(testbed.Multicluster)
	return o
}

func thing(version, kind, namespace string, role map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
	o.SetName("victim")
	o.SetNamespace(namespace)
	if role != nil {
		o.Object["roleRef"] = role
	}
	return o
}

// try sends the request as a dry run: everything is asked but the storage.
func (a attack) try(ctx context.Context, by dynamic.Interface) error {
	dry, client := []string{metav1.DryRunAll}, by.Resource(a.resource).Namespace(a.namespace)
	var sub []string
	if a.sub != "" {
		sub = []string{a.sub}
	}
	body, err := yaml.YAMLToJSON([]byte(a.body))
	if err != nil {
		return err
	}
	switch a.verb {
	case "delete":
		return client.Delete(ctx, a.name, metav1.DeleteOptions{DryRun: dry}, sub...)
	case "apply": // creates it, by a right on its name
		_, err := client.Patch(ctx, a.name, types.ApplyPatchType, body, metav1.PatchOptions{DryRun: dry, FieldManager: "thief"}, sub...)
		return err
	case "patch":
		_, err := client.Patch(ctx, a.name, types.MergePatchType, body, metav1.PatchOptions{DryRun: dry}, sub...)
		return err
	}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(a.body), &o.Object); err != nil {
		return err
	}
	if a.sub == "" {
		o.SetAPIVersion(a.resource.GroupVersion().String())
		o.SetKind(kindOf(a.resource.Resource))
	}
	_, err = client.Create(ctx, o, metav1.CreateOptions{DryRun: dry}, sub...)
	return err
}

func kindOf(plural string) string {
	return map[string]string{
		"deployments": "Deployment", "services": "Service", "secrets": "Secret", "clusterrolebindings": "ClusterRoleBinding", "roles": "Role",
		"serviceaccounts": "ServiceAccount", "rolebindings": "RoleBinding", "configmaps": "ConfigMap", "leases": "Lease",
	}[plural]
}
