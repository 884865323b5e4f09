// Package deploy_test applies the manifests to real API servers, and lets the real program work with the rights they grant.
package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/linkwright/linkwright/hack/testbed"
)

const (
	namespace = "linkwright"
	account   = "linkwright"
	user      = "system:serviceaccount:" + namespace + ":" + account
	patience  = 3 * time.Minute
)

// testEnv is two real clusters, dressed as Linkerd's: east, and west, which is linkwright's home as well.
type testEnv struct {
	*testbed.ControlPlanes
	*testing.T
	program              string
	repo                 string
	managementKubeconfig string // kubeconfig of linkwright's account in west
}

// pool has the control planes of tests that are done.
var pool testbed.Pool

// TestDeploy is one story: apply the manifests in one cluster, what `linkwright rbac` prints in the other, and then link and
// unlink with no other rights than theirs.
func TestDeploy(t *testing.T) {
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
	testbed.Need(t)
	t.Parallel()
	b := newTestEnv(t)
	installed := b.install()
	b.available()
	b.job()

	b.commit(clusters(b) + links)
	b.run(1, "diff")
	b.run(0, "sync")
	b.run(0, "status")
	b.mirrored()
	b.restarted()
	b.unconfined()
	b.daemonLogging(b.drift)
	b.run(0, "sync")
	b.joinLocally()
	b.commit(clusters(b) + undrained)
	b.run(1, "diff")
	b.run(0, "sync")
	b.clean()
	b.adopt()
	b.extras()
	b.granted(installed)
	b.denied()
}

func newTestEnv(t *testing.T) *testEnv {
	t.Helper()
	b := &testEnv{T: t, program: program(t), repo: t.TempDir()}
	var err error
	b.ControlPlanes, err = testbed.Start(t.Context(), testbed.Options{Names: []string{"east", "west"}, Pool: &pool})
	b.must(err)
	t.Cleanup(func() { b.CloseAfter(t) })
	for i, c := range b.Clusters {
		b.must(testbed.InstallLinkerd(t.Context(), c.Config, testbed.Linkerd{GatewayAddresses: []string{fmt.Sprintf("192.0.2.%d", 10+i)}}))
		b.must(testbed.Export(t.Context(), c.Config, testbed.Exported{Namespace: "default", Name: "web-of-" + c.Name}))
		b.must(testbed.Export(t.Context(), c.Config, testbed.Exported{
			Namespace: "default", Name: "api", Labels: map[string]string{testbed.FederatedLabel: "member"},
		}))
	}
	b.mirrors()
	return b
}

// mirrors plays Linkerd's controllers, with no more rights than linkwright gives them.
func (b *testEnv) mirrors() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, len(b.Clusters))
	for _, c := range b.Clusters {
		go func() { done <- testbed.RunMirrors(ctx, c.Config, testbed.MirrorOptions{}) }()
	}
	b.Cleanup(func() {
		stop()
		for range b.Clusters {
			b.must(<-done)
		}
	})
}

// program is linkwright itself, as make build leaves it.
func program(t *testing.T) string {
	t.Helper()
	dir, err := testbed.Binaries()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "linkwright")
	if _, err := os.Stat(file); err != nil {
		if ci := os.Getenv("CI"); ci == "1" || ci == "true" {
			t.Fatal(err)
		}
		t.Skipf("%v: run make build", err)
	}
	return file
}

// cluster returns what examples/install/west makes, for a source of a link to target, and the policies.
func cluster(t *testing.T, targets ...string) []*unstructured.Unstructured {
	t.Helper()
	var secrets []any
	for _, target := range targets {
		secrets = append(secrets, "cluster-credentials-"+target)
	}
	objects := build(t, "../examples/install/west", map[string]bool{})
	for _, o := range objects {
		if o.GetKind() == "Role" && o.GetName() == "linkwright-credentials" {
			if !put(o.Object, []string{"rules", "0", "resourceNames"}, secrets) {
				t.Fatal("linkwright-credentials has no names")
			}
		}
	}
	return slices.Concat(objects, build(t, "sweep", map[string]bool{}), build(t, "confine", map[string]bool{}))
}

func (b *testEnv) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *testEnv) client(name string) *kubernetes.Clientset {
	b.Helper()
	c, err := kubernetes.NewForConfig(b.Cluster(name).As("deploy-test"))
	b.must(err)
	return c
}

// apply is kubectl apply --server-side --validate=strict.
func (b *testEnv) apply(name string, objects []*unstructured.Unstructured) {
	b.Helper()
	client, err := dynamic.NewForConfig(b.Cluster(name).As("deploy-test"))
	b.must(err)
	for _, o := range objects {
		body, err := o.MarshalJSON()
		b.must(err)
		resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		force := true
		_, err = client.Resource(resource).Namespace(o.GetNamespace()).Patch(b.Context(), o.GetName(), types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: "deploy-test", FieldValidation: metav1.FieldValidationStrict, Force: &force})
		if err != nil {
			b.Fatalf("apply %s %s to %s: %v", o.GetKind(), o.GetName(), name, err)
		}
	}
}

func (b *testEnv) eventually(what string, ask func(context.Context) error) {
	b.Helper()
	var last error
	err := testbed.Eventually(b.Context(), patience, func(ctx context.Context) (bool, error) {
		last = ask(ctx)
		return last == nil, nil
	})
	if err != nil {
		b.Fatalf("%s: %v", what, last)
	}
}

func (b *testEnv) available() {
	b.Helper()
	b.eventually("the Deployment", func(ctx context.Context) error {
		d, err := b.client("west").AppsV1().Deployments(namespace).Get(ctx, "linkwright", metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas != 1 {
			err = fmt.Errorf("%d replicas are available", d.Status.AvailableReplicas)
		}
		return err
	})
}

// job makes a Job of the CronJob, as kubectl create job --from does.
func (b *testEnv) job() {
	b.Helper()
	b.apply("west", slices.DeleteFunc(build(b.T, "cronjob", map[string]bool{}), func(o *unstructured.Unstructured) bool { return o.GetKind() != "CronJob" })) // the rest is there
	client := b.client("west").BatchV1()
	cron, err := client.CronJobs(namespace).Get(b.Context(), "linkwright", metav1.GetOptions{})
	b.must(err)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "once"}, Spec: cron.Spec.JobTemplate.Spec}
	_, err = client.Jobs(namespace).Create(b.Context(), job, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	b.must(err)
}

// credentials makes a kubeconfig of linkwright's account for each cluster; home's is a file, the clusters' are access Secrets.
func (b *testEnv) credentials() {
	b.Helper()
	for _, c := range b.Clusters {
		token, err := b.client(c.Name).CoreV1().ServiceAccounts(namespace).CreateToken(b.Context(), account,
			&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		b.must(err)
		text := b.kubeconfig(c, token.Status.Token)
		if c.Name == "west" {
			b.managementKubeconfig = filepath.Join(b.TempDir(), "home")
			b.must(os.WriteFile(b.managementKubeconfig, text, 0o600))
		}
		_, err = b.client("west").CoreV1().Secrets(namespace).Create(b.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: c.Name}, Data: map[string][]byte{"kubeconfig": text},
		}, metav1.CreateOptions{})
		b.must(err)
	}
}

func (b *testEnv) kubeconfig(c *testbed.Cluster, token string) []byte {
	b.Helper()
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: c.Config.Host, CertificateAuthorityData: c.Config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	})
	b.must(err)
	return text
}

// links use all that a link can have: remote access by both credentials, tokens that expire, and a disruption budget.
const links = `apiVersion: linkwright.dev/v1alpha1
kind: Mesh
metadata: {name: all}
spec:
  clusters: {}
  template:
    federatedServiceSelector: {matchLabels: {mirror.linkerd.io/federated: member}}
    controller: {replicas: 2} # no podAntiAffinity: the bed has one node, and the second would never be ready
    credentials: {mode: Bound}
`

// undrained has linkwright itself take mirrors away, not Linkerd's controller.
const undrained = `apiVersion: linkwright.dev/v1alpha1
kind: SyncPolicy
metadata: {name: undrained}
spec:
  prune: {drainDeadline: 0s}
`

func (b *testEnv) commit(text string) {
	b.Helper()
	b.must(os.WriteFile(filepath.Join(b.repo, "fleet.yaml"), []byte(text), 0o600))
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "fleet.yaml"},
		{"-c", "user.name=deploy", "-c", "user.email=deploy@example.com", "commit", "--quiet", "-m", "change fleet"},
	} {
		if out, err := exec.CommandContext(b.Context(), "git", append([]string{"-C", b.repo}, args...)...).CombinedOutput(); err != nil {
			b.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
}

// run expects an exit code.
func (b *testEnv) run(want int, command string, more ...string) {
	b.Helper()
	got, out := b.ask(command, more...)
	if got != want || strings.Contains(strings.ToLower(out), "forbidden") {
		b.Fatalf("linkwright %s: exit code %d, want %d\n%s", command, got, want, out)
	}
}

// ask returns the exit code, and all that was told.
func (b *testEnv) ask(command string, more ...string) (int, string) {
	b.Helper()
	args := append([]string{command, "--repo", b.repo, "--allow-file-repo", "--kubeconfig", b.managementKubeconfig}, more...)
	cmd := exec.CommandContext(b.Context(), b.program, args...)
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		b.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func (b *testEnv) mirrored() {
	b.Helper()
	for name, mirror := range map[string]string{"west": "web-of-east-east", "east": "web-of-west-west"} {
		for _, service := range []string{mirror, "api-federated"} {
			b.eventually("mirrors in "+name, func(ctx context.Context) error {
				_, err := b.client(name).CoreV1().Services("default").Get(ctx, service, metav1.GetOptions{})
				return err
			})
		}
	}
}

// drift makes what a daemon has to take back, and waits until it has.
func (b *testEnv) drift(log *logged) {
	b.Helper()
	deployments := b.client("west").AppsV1().Deployments(testbed.Multicluster)
	_, err := deployments.Patch(b.Context(), "controller-east", types.MergePatchType,
		[]byte(`{"spec":{"revisionHistoryLimit":3}}`), metav1.PatchOptions{})
	b.must(err)
	b.eventually("a field that somebody changed is as declared", func(ctx context.Context) error {
		d, err := deployments.Get(ctx, "controller-east", metav1.GetOptions{})
		if err == nil && *d.Spec.RevisionHistoryLimit == 3 {
			err = errors.New("it is not")
		}
		return err
	})
	b.eventually("the first sync is done, so that what follows is a change", func(context.Context) error {
		if !strings.Contains(log.String(), `msg="sync done"`) {
			return errors.New("the log does not say so")
		}
		return nil
	})
	b.secretBack()
	b.paused(log)
}

// secretBack deletes a Secret of the control plane: it is watched by its name, so it is back in a moment. What may not be watched is read every 30 s.
func (b *testEnv) secretBack() {
	b.Helper()
	secrets := b.client("west").CoreV1().Secrets(testbed.ControlPlane)
	const name = "cluster-credentials-east"
	was, err := secrets.Get(b.Context(), name, metav1.GetOptions{})
	b.must(err)
	begun := time.Now()
	b.must(secrets.Delete(b.Context(), name, metav1.DeleteOptions{}))
	b.eventually("the Secret that somebody deleted is back", func(ctx context.Context) error {
		now, err := secrets.Get(ctx, name, metav1.GetOptions{})
		if err == nil && now.UID == was.UID {
			err = errors.New("it is not deleted")
		}
		return err
	})
	took := time.Since(begun)
	b.Logf("a deleted Secret of the control plane was back after %s", took)
	requests, err := b.Cluster("west").Requests("linkwright")
	b.must(err)
	if !slices.ContainsFunc(requests, func(r testbed.Request) bool {
		return r.Verb == "watch" && r.Resource == "secrets" && r.Namespace == testbed.ControlPlane && r.Name == name && r.Code == http.StatusOK
	}) {
		b.Errorf("nobody watches the Secret %s by its name", name)
	}
}

// joinLocally gives a federated Service a member of its own cluster, so that it outlives the link.
func (b *testEnv) joinLocally() {
	b.Helper()
	_, err := b.client("west").CoreV1().Services("default").Patch(b.Context(), "api-federated", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"multicluster.linkerd.io/local-discovery":"api"}}}`), metav1.PatchOptions{})
	b.must(err)
}

// clean: nothing of a link is left anywhere, and the federated Service in west has only its own member.
func (b *testEnv) clean() {
	b.Helper()
	for _, c := range b.Clusters {
		core := b.client(c.Name).CoreV1()
		all, err := core.Services("").List(b.Context(), metav1.ListOptions{LabelSelector: "mirror.linkerd.io/mirrored-service"})
		b.must(err)
		for _, s := range all.Items {
			if members := s.Annotations["multicluster.linkerd.io/remote-discovery"]; c.Name != "west" || s.Name != "api-federated" || members != "" {
				b.Errorf("%s: mirror %s/%s is left, with members %q", c.Name, s.Namespace, s.Name, members)
			}
		}
		for _, ns := range []string{testbed.ControlPlane, testbed.Multicluster, "linkwright-access"} {
			secrets, err := core.Secrets(ns).List(b.Context(), metav1.ListOptions{LabelSelector: "linkwright.dev/owner"})
			b.must(err)
			for _, s := range secrets.Items {
				b.Errorf("%s: Secret %s/%s is left", c.Name, ns, s.Name)
			}
		}
		_, err = b.client(c.Name).AppsV1().Deployments(testbed.Multicluster).Get(b.Context(), "controller-"+other(c.Name), metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			b.Errorf("%s: the controller is left: %v", c.Name, err)
		}
	}
}

func other(name string) string {
	if name == "east" {
		return "west"
	}
	return "east"
}
