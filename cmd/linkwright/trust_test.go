package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/hack/outputschema"
)

// meshed is a cluster with one Deployment, as its API server shows it. A nil Secret may not be read. A proxy whose anchors are empty has those that the
// bundle had an hour ago, when it started.
type meshed struct {
	bundle, known string
	issuer        *corev1.Secret
	changed       time.Time // when the bundle was last written; zero: nothing shows that
}

func (m meshed) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(time.Now().AddDate(-1, 0, 0))}
	}
	pod := corev1.Pod{ObjectMeta: meta("shop", "web-5d7f-x"), Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "linkerd-proxy", Env: []corev1.EnvVar{{Name: "LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS", Value: m.known}}},
	}}}
	if m.known == "" {
		pod.Spec.Containers[0].Env[0].ValueFrom = &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "linkerd-identity-trust-roots"}, Key: "ca-bundle.crt",
		}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "linkerd-proxy", State: corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-time.Hour))},
		}}}
	}
	pod.Labels = map[string]string{"pod-template-hash": "5d7f", "linkerd.io/control-plane-ns": "linkerd"}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-5d7f", Controller: new(true)}}
	configMap := func(name, key, value string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: meta("linkerd", name), Data: map[string]string{key: value}}
	}
	roots := configMap("linkerd-identity-trust-roots", "ca-bundle.crt", m.bundle)
	if !m.changed.IsZero() {
		roots.ObjectMeta = lastWritten(m.changed)
	}
	found := map[string]runtime.Object{
		"/api/v1/namespaces": &corev1.NamespaceList{}, "/apis/apps/v1/statefulsets": &appsv1.StatefulSetList{}, "/apis/apps/v1/daemonsets": &appsv1.DaemonSetList{},
		"/apis/apps/v1/deployments":  &appsv1.DeploymentList{Items: []appsv1.Deployment{{ObjectMeta: meta("shop", "web")}}},
		"/apis/argoproj.io/v1alpha1": &metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "applications"}}}, // Argo CD alone
		"/api/v1/pods":               &corev1.PodList{Items: []corev1.Pod{pod}},
		"/api/v1/namespaces/linkerd/configmaps/linkerd-identity-trust-roots": roots,
		"/api/v1/namespaces/linkerd/configmaps/linkerd-config":               configMap("linkerd-config", "values", "identity: {issuer: {issuanceLifetime: 24h0m0s}}"),
	}
	if m.issuer != nil {
		found["/api/v1/namespaces/linkerd/secrets/linkerd-identity-issuer"] = m.issuer
	}
	w.Header().Set("Content-Type", "application/json")
	answer := found[req.URL.Path]
	if answer == nil || req.Method != http.MethodGet {
		w.WriteHeader(http.StatusForbidden)
		answer = &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "not allowed"}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// authority is a certificate with its key.
type authority struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

func (a authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Raw}))
}

// signedBy makes a certificate of an authority; without one, it signs itself.
func signedBy(t *testing.T, by *authority, name string) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().AddDate(0, -1, 0), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	if by == nil {
		by = &authority{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.Certificate, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{c, key}
}

// lastWritten is that of an object that was created a year ago, and written last at a time.
func lastWritten(at time.Time) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		CreationTimestamp: metav1.NewTime(time.Now().AddDate(-1, 0, 0)), ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "someone", Time: new(metav1.NewTime(at))}},
	}
}

// secret is the Secret of an issuer, with its key.
func (a authority) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	key, err := x509.MarshalECPrivateKey(a.key)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: lastWritten(time.Now().AddDate(0, -1, 0)), Data: map[string][]byte{"crt.pem": []byte(a.pem()), "key.pem": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})}}
}

// contextsOf starts an API server for each cluster, and returns a kubeconfig with a context for each, and one of a dead cluster.
func contextsOf(t *testing.T, clusters map[string]meshed) string {
	t.Helper()
	text := "apiVersion: v1\nkind: Config\nusers: [{name: me, user: {token: x}}]\ncontexts:\n"
	servers := "clusters:\n- {name: dead, cluster: {server: 'http://127.0.0.1:1'}}\n"
	for _, name := range []string{"dead", "east", "west"} {
		text += fmt.Sprintf("- {name: %s, context: {cluster: %s, user: me}}\n", name, name)
		if c, ok := clusters[name]; ok {
			server := httptest.NewServer(c)
			t.Cleanup(server.Close)
			servers += fmt.Sprintf("- {name: %s, cluster: {server: '%s'}}\n", name, server.URL)
		}
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	write(t, file, text+servers)
	return file
}

// TestTrustStatus: exit code and answer say whether an anchor may be removed, and nothing shows the issuer's key.
func TestTrustStatus(t *testing.T) {
	old, fresh := signedBy(t, nil, "old"), signedBy(t, nil, "new")
	both := old.pem() + fresh.pem()
	oldIssuer, newIssuer := signedBy(t, &old, "issuer").secret(t), signedBy(t, &fresh, "issuer").secret(t)
	renewed := newIssuer.DeepCopy()
	renewed.ObjectMeta = lastWritten(time.Now().Add(-time.Hour))
	stripped := newIssuer.DeepCopy()
	stripped.ManagedFields = nil
	today, soon := time.Now().UTC().Format(time.DateOnly), time.Now().UTC().AddDate(0, 0, 2).Format(time.DateOnly)
	done := meshed{bundle: both, known: both, issuer: newIssuer}
	for _, tt := range []struct {
		name  string
		west  meshed
		args  string
		code  int
		words string // of all that is printed
	}{
		{name: "all", west: done, words: "2 trust anchors: 1 may be removed, 1 needed"},
		{name: "the old one", west: done, args: "--anchor old", words: "may be removed: nothing in 2 clusters needs it"},
		{name: "the new one", west: done, args: "--anchor new", code: cli.ExitPartial, words: "IssuerUsesAnchor"},
		{name: "an issuer of the old one", west: meshed{bundle: both, known: both, issuer: oldIssuer}, args: "--anchor old", code: cli.ExitPartial, words: "may not be removed now: 1 reason"},
		{name: "a proxy of the old one", west: meshed{bundle: both, known: old.pem(), issuer: newIssuer}, args: "--anchor old", code: cli.ExitPartial, words: "restart the Deployment"},
		{name: "a proxy of the bundle", west: meshed{bundle: both, issuer: newIssuer, changed: time.Now().Add(-2 * time.Hour)}, args: "--anchor old", words: "nothing in 2 clusters needs it"},
		{name: "a proxy of a former bundle", west: meshed{bundle: both, issuer: newIssuer, changed: time.Now()}, args: "--anchor old", code: cli.ExitPartial, words: "ProxyAnchorsUnknown"},
		{name: "a proxy of a bundle of no known time", west: meshed{bundle: both, issuer: newIssuer}, args: "--anchor old", code: cli.ExitPartial, words: "ProxyAnchorsUnknown"},
		{name: "a renewed issuer", west: meshed{bundle: both, known: both, issuer: renewed}, args: "--anchor old", code: cli.ExitPartial, words: "wait, or give --issuers-since"},
		{name: "a renewed issuer, of all", west: meshed{bundle: both, known: both, issuer: renewed}, words: "unknown (1)"},
		{name: "an issuer of no known time", west: meshed{bundle: both, known: both, issuer: stripped}, args: "--anchor old", code: cli.ExitPartial, words: "nothing shows when the Secret was last written"},
		{name: "an issuer of no known time, and of the same anchor", west: meshed{bundle: both, known: both, issuer: stripped}, args: "--anchor old --issuers-since 2020-01-01", words: "nothing in 2 clusters needs it"},
		{name: "the same anchor since a day", west: meshed{bundle: both, known: both, issuer: renewed}, args: "--anchor old --issuers-since 2020-01-01", words: "nothing in 2 clusters needs it"},
		{name: "the same anchor since a time", west: meshed{bundle: both, known: both, issuer: renewed}, args: "--anchor old --issuers-since 2020-01-01T12:00:00+02:00", words: "nothing in 2 clusters needs it"},
		{name: "the same anchor since today", west: meshed{bundle: both, known: both, issuer: renewed}, args: "--anchor old --issuers-since " + today, code: cli.ExitPartial, words: "nobody knows whether"},
		{name: "the same anchor since the future", west: done, args: "--issuers-since " + soon, code: cli.ExitUsage, words: "is in the future: it is "},
		{name: "the same anchor since no time", west: done, args: "--issuers-since yesterday", code: cli.ExitUsage, words: `--issuers-since "yesterday": want a time such as`},
		{name: "the same anchor since nothing", west: done, args: "--issuers-since=", code: cli.ExitUsage, words: `--issuers-since "": want a time such as`},
		{name: "a Secret that may not be read", west: meshed{bundle: both, known: both}, args: "--anchor old", code: cli.ExitPartial, words: "nobody knows whether"},
		{name: "a Secret that may not be read, of all", west: meshed{bundle: both, known: both}, words: "unknown (1)"},
		{name: "names", west: meshed{bundle: both, known: old.pem(), issuer: newIssuer}, args: "--anchor old -o name", code: cli.ExitPartial, words: "trustneed/west/Deployment/shop/web\n"},
		{name: "a dead cluster", west: done, args: "--context dead --anchor old", code: cli.ExitPartial, words: "nobody knows whether"},
		{name: "a dead cluster, of all", west: done, args: "--context dead", code: cli.ExitPartial, words: "cluster dead was not read: Unreachable"},
		{name: "no such anchor", west: done, args: "--anchor other", code: cli.ExitUsage, words: "--anchor other is no trust anchor of these clusters, which have:\n  "},
		{name: "perhaps no such anchor", west: done, args: "--context dead --anchor other", code: cli.ExitPartial, words: "of the clusters that were read"},
		{name: "an anchor without a name", west: done, args: "--anchor=", code: cli.ExitUsage, words: "--anchor is empty"},
		{name: "another namespace", west: done, args: "--linkerd-namespace mesh", code: cli.ExitError, words: "Forbidden"},
	} {
		file := contextsOf(t, map[string]meshed{"east": done, "west": tt.west})
		args := append([]string{"trust", "status", "--kubeconfig", file, "--context", "east", "--context", "west"}, strings.Fields(tt.args)...)
		var out, stderr bytes.Buffer
		code := run(t.Context(), args, &out, &stderr)
		all := out.String() + stderr.String()
		if code != tt.code || !strings.Contains(all, tt.words) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s", tt.name, code, tt.code, tt.words, all)
		}
		out.Reset()
		code = run(t.Context(), append(args, "-o", "json"), &out, &stderr)
		if empty := strings.Contains(out.String(), `"items": []`); strings.Contains(tt.args, "--anchor") && empty != (code == cli.ExitDone) {
			t.Errorf("%s: exit code %d, and the list is:\n%s", tt.name, code, &out)
		}
		if out.Len() > 0 {
			if err := outputschema.Check(out.Bytes()); err != nil {
				t.Errorf("%s: %v\n%s", tt.name, err, &out)
			}
		}
		for _, secret := range []*corev1.Secret{oldIssuer, newIssuer} {
			key := strings.Split(string(secret.Data["key.pem"]), "\n")[1]
			if strings.Contains(all+out.String()+stderr.String(), key) {
				t.Errorf("%s: the key of an issuer is shown", tt.name)
			}
		}
	}
}

// TestIssuersSince: a date counts from its end, and is not in the future on that day.
func TestIssuersSince(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-06-30": "2026-07-01T00:00:00Z", "2026-07-01": "2026-07-02T00:00:00Z", "2026-07-02": "",
		"2026-07-01T12:00:00Z": "2026-07-01T12:00:00Z", "2026-07-01T12:00:01Z": "", "2026-07-01T13:00:00+02:00": "2026-07-01T11:00:00Z",
		"2026-7-1": "", "12:00": "", "-2h": "", "0000-00-00": "",
	} {
		f, c := trustFlags{}, trustStatus()
		if err := c.Flags().Set(issuersSince, text); err != nil {
			t.Fatal(err)
		}
		f.since = text
		got, err := f.issuersSince(c, now)
		if want == "" && err == nil || want != "" && got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q: got %s and %v, want %q", text, got, err, want)
		}
	}
}
