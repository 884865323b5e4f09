package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	gosync "sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/access"
)

// opened is the connections of a daemon that does nothing else.
func (l *lab) opened(kubeconfig string, log *shared) (c *access.Clusters, stop func()) {
	l.t.Helper()
	flags := &cli.ManagementFlags{Owner: "linkwright", Namespace: "linkwright", Kubeconfig: kubeconfig, Timeout: 15 * time.Second}
	c, err := flags.OpenClusters(l.t.Context(), slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		l.t.Fatal(err)
	}
	c.Management().Watch()
	ctx, cancel := context.WithCancel(l.t.Context())
	var attending gosync.WaitGroup
	attending.Go(func() { c.Watch(ctx) })
	return c, func() {
		cancel()
		attending.Wait()
		c.Close(l.t.Context())
	}
}

// shared is a log that is read while others write it.
type shared struct {
	mu   gosync.Mutex
	text bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func bySecret(name string) fleet.Cluster {
	access := api.Access{KubeconfigSecret: &api.SecretKey{Name: name, Key: "kubeconfig"}}
	return fleet.Cluster{Name: api.ClusterName(name), Spec: api.Cluster{Access: access}}
}

// asked counts what was sent to the management cluster.
func asked(c *access.Clusters) (n int) {
	for kind, times := range c.Requests() {
		if kind.Cluster == "(management)" {
			n += times
		}
	}
	return n
}

// asksManagement is what a pass asks of the management cluster: where clusters are, the credentials of Git, the record.
func (l *lab) asksManagement(c *access.Clusters) {
	l.t.Helper()
	if failed := c.Follow(l.t.Context(), []fleet.Cluster{bySecret("east"), bySecret("west")}); len(failed) > 0 {
		l.t.Error(failed)
	}
	if data, err := c.Management().Secret(l.t.Context(), "west"); err != nil || len(data["kubeconfig"]) == 0 {
		l.t.Errorf("a Secret: %v", err)
	}
	record := object.Watch{Version: "v1", Kind: "ConfigMap", Namespace: "linkwright", Names: []string{"linkwright-fleet"}, Depth: object.Whole}
	if seen, err := c.Management().Live(l.t.Context(), []object.Watch{record}); err != nil || seen.Len() != 1 {
		l.t.Errorf("the record: %d objects, %v", seen.Len(), err)
	}
}

// watchesManagement: what has not changed is not asked for again, and a Secret that has is followed at once.
func (l *lab) watchesManagement() {
	var log shared
	c, stop := l.opened(l.Cluster("west").Kubeconfig, &log)
	defer stop()
	l.asksManagement(c)
	before := asked(c)
	for range 3 {
		l.asksManagement(c)
	}
	if n := asked(c) - before; n != 0 {
		l.t.Errorf("with nothing changed the management cluster was asked %d times", n)
	}
	l.patchAccess("east", kubeconfig("https://192.0.2.7", "token: x"))
	for soon := time.After(patience); !c.Take()["east"].All; { // nobody asks for it meanwhile
		select {
		case <-c.Moved():
		case <-soon:
			l.t.Fatal("a changed Secret is not noticed")
		}
	}
	if at := c.Server("east"); at != "https://192.0.2.7" {
		l.t.Errorf("after a Secret changed: %q", at)
	}
	if n := asked(c) - before; n != 1 {
		l.t.Errorf("a changed Secret was asked for %d times", n)
	}
	l.patchAccess("east", l.file(l.Cluster("east").Kubeconfig))
	if said := log.String(); said != "" {
		l.t.Errorf("it says:\n%s", said)
	}
}

// readsManagement: without the right to list and watch, every pass asks for the record, and it is said once; Secrets are read every 30 s.
func (l *lab) readsManagement() {
	var log shared
	c, stop := l.opened(l.mayGet(), &log)
	defer stop()
	l.asksManagement(c)
	before := asked(c)
	l.asksManagement(c)
	if n := asked(c) - before; n == 0 {
		l.t.Error("without watches a pass did not ask for the record")
	}
	if n := strings.Count(log.String(), "so each sync reads it again"); n != 1 {
		l.t.Errorf("it says so %d times, want once:\n%s", n, log.String())
	}
}

func (l *lab) file(path string) string {
	l.t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(raw)
}

func (l *lab) patchAccess(name, kubeconfig string) {
	l.t.Helper()
	secrets := l.client("west").CoreV1().Secrets("linkwright")
	s, err := secrets.Get(l.t.Context(), name, metav1.GetOptions{})
	if err == nil {
		s.Data = map[string][]byte{"kubeconfig": []byte(kubeconfig)}
		_, err = secrets.Update(l.t.Context(), s, metav1.UpdateOptions{})
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// mayGet is a kubeconfig for the management cluster with the rights of former releases.
func (l *lab) mayGet() string {
	l.t.Helper()
	return l.mayOnly("may-get", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"get"}})
}

// mayOnly is a kubeconfig for the management cluster of who has these rights alone.
func (l *lab) mayOnly(name string, rules ...rbacv1.PolicyRule) string {
	l.t.Helper()
	client := l.client("west")
	meta := metav1.ObjectMeta{Name: name, Namespace: "linkwright"}
	_, err := client.CoreV1().ServiceAccounts("linkwright").Create(l.t.Context(), &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	if err == nil {
		_, err = client.RbacV1().Roles("linkwright").Create(l.t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = client.RbacV1().RoleBindings("linkwright").Create(l.t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: "linkwright"}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		l.t.Fatal(err)
	}
	token, err := client.CoreV1().ServiceAccounts("linkwright").CreateToken(l.t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	cfg, err := clientcmd.LoadFromFile(l.Cluster("west").Kubeconfig)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, user := range cfg.AuthInfos {
		user.Token = token.Status.Token
	}
	last := rules[len(rules)-1]
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:linkwright:" + name,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: "linkwright", Verb: last.Verbs[0], Group: last.APIGroups[0], Resource: last.Resources[0], Name: slices.Concat(last.ResourceNames, []string{""})[0],
		},
	}}
	l.eventually("the rights have arrived", func() bool {
		got, err := client.AuthorizationV1().SubjectAccessReviews().Create(l.t.Context(), review, metav1.CreateOptions{})
		return err == nil && got.Status.Allowed
	})
	path := filepath.Join(l.t.TempDir(), name)
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		l.t.Fatal(err)
	}
	return path
}
