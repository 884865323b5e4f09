package survey_test

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/rollout/survey"
	"github.com/linkwright/linkwright/rollout/trust"
)

// trust: the anchors of all proxies of a cluster are read, and of its issuer's Secret the certificate alone.
func (b *bed) trust() {
	b.Helper()
	client := survey.Client{Core: b.client.CoreV1(), Apps: b.client.AppsV1()}
	found, err := survey.Trust(b.Context(), client, testbed.ControlPlane)
	b.must(err)
	if !errors.Is(found.Issuer.Err, trust.ErrNoIssuer) || found.Issuer.ValuesErr != nil || found.Bundle.Changed.IsZero() {
		b.Errorf("without a Secret: issuer %+v, bundle of %s", found.Issuer, found.Bundle.Changed)
	}
	want := map[string]int{"DaemonSet/agent": 1, "Deployment/loud": 1, "Deployment/web": 2, "Pod/bare": 1, "StatefulSet/db": 1}
	for _, w := range found.Workloads {
		name := w.Kind + "/" + w.Name
		if len(w.Proxies) != want[name] {
			b.Errorf("%s has %d proxies, want %d", name, len(w.Proxies), want[name])
		}
		for _, p := range w.Proxies {
			if strings.TrimSpace(p.Anchors) != strings.TrimSpace(found.Bundle.Text) || p.Bundled {
				b.Errorf("%s knows %q, and the bundle is %q", name, p.Anchors, found.Bundle.Text)
			}
		}
		delete(want, name)
	}
	if len(want) > 0 {
		b.Errorf("not found: %v", want)
	}
	b.issuer(client)
	if _, err := survey.Trust(b.Context(), client, "default"); !errors.Is(err, trust.ErrNoBundle) {
		b.Errorf("a namespace without a control plane: %v", err)
	}
}

// issuer creates the issuer's Secret, and reads it with the right to do so and without.
func (b *bed) issuer(client survey.Client) {
	b.Helper()
	const key = "MHcCAQEEIDsecretKeyOfTheIssuer"
	certificate, err := testbed.NewTrustAnchors()
	b.must(err)
	private := "-----BEGIN EC PRIVATE KEY-----\n" + key + "\n-----END EC PRIVATE KEY-----\n"
	_, err = b.client.CoreV1().Secrets(testbed.ControlPlane).Create(b.Context(), &corev1.Secret{
		ObjectMeta: meta(trust.Secret), Data: map[string][]byte{"crt.pem": []byte(certificate + private), "key.pem": []byte(private)},
	}, metav1.CreateOptions{})
	b.must(err)
	found, err := survey.Trust(b.Context(), client, testbed.ControlPlane)
	b.must(err)
	if found.Issuer.Err != nil || found.Issuer.Certificates != certificate || found.Issuer.Changed.IsZero() {
		b.Errorf("got %+v, want the certificate", found.Issuer)
	}
	if all := fmt.Sprintf("%+v", found); strings.Contains(all, key) {
		b.Error("the issuer's key was kept")
	}
	reader := rest.CopyConfig(b.config)
	reader.Impersonate.UserName = "reader"
	role := &rbacv1.ClusterRole{ObjectMeta: meta("reader"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "apps"}, Resources: []string{"configmaps", "namespaces", "pods", "deployments", "statefulsets", "daemonsets"}, Verbs: []string{"get", "list"}},
	}}
	_, err = b.client.RbacV1().ClusterRoles().Create(b.Context(), role, metav1.CreateOptions{})
	b.must(err)
	_, err = b.client.RbacV1().ClusterRoleBindings().Create(b.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta("reader"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "reader"}},
	}, metav1.CreateOptions{})
	b.must(err)
	client, err = survey.NewClient(reader)
	b.must(err)
	b.eventually("the reader may read", func() (bool, error) {
		found, err = survey.Trust(b.Context(), client, testbed.ControlPlane)
		return err == nil, nil
	})
	if !apierrors.IsForbidden(found.Issuer.Err) || found.Issuer.Certificates != "" || len(found.Workloads) == 0 {
		b.Errorf("without the right to read the Secret: %+v", found.Issuer)
	}
}
