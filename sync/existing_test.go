package sync_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/sync/report"
)

const vault = `, credentials: {mode: Existing, secretRef: {name: vault-east}}`

// TestExisting: a secret manager writes the credential of west→east, of an account of its own; linkwright uses it, never
// writes it, and takes its own away once it is in use.
func TestExisting(t *testing.T) {
	b := newClusterEnv(t, "east", "west")
	d, log := &declaredText{}, &bytes.Buffer{}
	l := b.loop(d, agent)
	l.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	reported := func(r report.Report) report.Report { b.writeLog(log, r); return r }
	values := b.account("vault")

	d.set(b.declarations(link("west", "east")))
	reported(b.clean(l, 2))
	d.set(b.declarations(linkWith("west", "east", vault+federated)))
	for _, step := range []struct{ code, says string }{
		{"SecretNotFound", "linkerd-multicluster/vault-east does not exist"},
		{"SecretInvalid", "tokenFile refers to a file"},
		{"SecretNotFound", "linkerd/cluster-credentials-east does not exist"},
	} {
		r := reported(b.once(l))
		held(t, r, step.code, step.says)
		switch step.says {
		case "linkerd-multicluster/vault-east does not exist":
			b.manage("linkerd-multicluster", "vault-east", strings.Replace(values.config, `"token"`, `"tokenFile"`, 1))
		case "tokenFile refers to a file":
			b.manage("linkerd-multicluster", "vault-east", values.config)
		default:
			b.manage("linkerd", "cluster-credentials-east", values.config)
		}
	}
	before := b.writes()
	reported(b.clean(l, 2))
	for _, w := range b.writes()[len(before):] {
		if w.Resource == "secrets" && (w.Verb != "delete" || w.Name == "vault-east" || w.Namespace == "linkerd") {
			t.Errorf("linkwright wrote a Secret that is not its own: %+v", w)
		}
	}
	b.mirrored("west", "web-of-east-east")
	if got := b.linkField("west", "east", "clusterCredentialsSecret"); got != "vault-east" {
		t.Errorf("the Linkerd Link names Secret %s", got)
	}
	if left := slices.DeleteFunc(b.left("west", "east"), func(s string) bool {
		return !strings.HasPrefix(s, "east: ") || strings.Contains(s, "configmaps")
	}); len(left) > 0 {
		t.Errorf("left of the account in east: %v", left)
	}
	b.noRequests(t, l)

	d.set(b.declarations(""))
	reported(b.once(l))
	for ns, name := range map[string]string{"linkerd-multicluster": "vault-east", "linkerd": "cluster-credentials-east"} {
		if _, err := b.client("west").CoreV1().Secrets(ns).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Errorf("the user's Secret after an unlink: %v", err)
		}
	}
	for _, value := range []string{values.token, values.token[:40], values.token[len(values.token)-20:]} {
		if strings.Contains(log.String(), value) {
			t.Errorf("logs and reports hold %q:\n%s", value, log)
		}
	}
	if !strings.Contains(log.String(), "vault-east") {
		t.Error("nothing was told")
	}
}

// writeLog writes a report in every format there is, and as Go prints it.
func (b *clusterEnv) writeLog(log *bytes.Buffer, r report.Report) {
	b.t.Helper()
	for _, f := range []report.Format{report.Text, report.Markdown, report.JSON, report.YAML} {
		if err := r.Write(log, f); err != nil {
			b.t.Fatal(err)
		}
	}
	fmt.Fprintf(log, "%v %+v %#v\n", r, r, r)
	_ = json.NewEncoder(log).Encode(r)
}

func held(t *testing.T, r report.Report, code, says string) {
	t.Helper()
	for _, c := range r.Clusters {
		for _, row := range c.Step.Rows {
			if row.Why != nil && string(row.Why.Code) == code && strings.Contains(row.Why.Message, says) {
				return
			}
		}
	}
	t.Errorf("no end is held by %s with %q:\n%s", code, says, dump(r))
}

// login is what an account of the user's in east logs in by.
type login struct{ token, config string }

// account makes one as people would, with the rights that Linkerd's readers need.
func (b *clusterEnv) account(name string) login {
	b.t.Helper()
	ctx, east := b.t.Context(), b.client("east")
	if _, err := east.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "linkerd-service-mirror-remote-access-default"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: name}},
	}
	if _, err := east.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	got, err := east.CoreV1().ServiceAccounts("default").CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{
		"current-context": "c", "contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "e", "user": "u"}}},
		"clusters": []any{map[string]any{"name": "e", "cluster": map[string]any{
			"server": b.Cluster("east").Config.Host, "certificate-authority-data": b.Cluster("east").Config.CAData,
		}}},
		"users": []any{map[string]any{"name": "u", "user": map[string]any{"token": got.Status.Token}}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return login{got.Status.Token, string(config)}
}

// manage writes a Secret of west as a secret manager would.
func (b *clusterEnv) manage(namespace, name, config string) {
	b.t.Helper()
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"multicluster.linkerd.io/cluster-name": "east"},
			Annotations: map[string]string{"multicluster.linkerd.io/trust-domain": "cluster.local", "multicluster.linkerd.io/cluster-domain": "cluster.local"},
		},
		Type: "mirror.linkerd.io/remote-kubeconfig", Data: map[string][]byte{"kubeconfig": []byte(config)},
	}
	secrets := b.client("west").CoreV1().Secrets(namespace)
	_, err := secrets.Update(b.t.Context(), s, metav1.UpdateOptions{})
	if err != nil {
		_, err = secrets.Create(b.t.Context(), s, metav1.CreateOptions{})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
