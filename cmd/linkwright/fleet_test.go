package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/render/linkerd"
)

// lab is real clusters, a real repository and the program; west is the management cluster.
type lab struct {
	*testbed.ControlPlanes
	t          *testing.T
	repo       string
	temp       string // of the programs: one that is killed leaves its store of Git there
	remote     string // its address; empty: its path
	management string // kubeconfig of the management cluster; empty: west's own

	program string // empty: as it is released
}

// pool has the control planes of tests that are done.
var pool testbed.Pool

// newLab is of clusters that have Linkerd.
func newLab(t *testing.T, dressed ...string) *lab { return labOf(t, dressed) }

// labOf has more clusters, in which there is none.
func labOf(t *testing.T, dressed []string, more ...string) *lab {
	t.Helper()
	testbed.Need(t)
	bed, err := testbed.Start(t.Context(), testbed.Options{Names: slices.Concat(dressed, more), Pool: &pool})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bed.CloseAfter(t) })
	l := &lab{ControlPlanes: bed, t: t, repo: filepath.Join(t.TempDir(), "repo"), temp: t.TempDir()}
	for _, name := range dressed {
		if err := testbed.InstallLinkerd(t.Context(), bed.Cluster(name).Config, testbed.Linkerd{}); err != nil {
			t.Fatal(err)
		}
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "linkwright"}}
	if _, err := l.client("west").CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range bed.Clusters {
		raw, err := os.ReadFile(c.Kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		l.access(c.Name, string(raw))
	}
	l.git("init", "-q", "-b", "main", l.repo)
	return l
}

func (l *lab) client(name string) *kubernetes.Clientset {
	l.t.Helper()
	c, err := kubernetes.NewForConfig(l.Cluster(name).Config)
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

// access puts a kubeconfig where declarations may point at.
func (l *lab) access(name, kubeconfig string) {
	l.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"kubeconfig": kubeconfig}}
	if _, err := l.client("west").CoreV1().Secrets("linkwright").Create(l.t.Context(), s, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) git(args ...string) {
	l.t.Helper()
	if args[0] != "init" {
		args = append([]string{"-C", l.repo, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "maintenance.auto=false"}, args...)
	}
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil { //nolint:noctx // it ends by itself
		l.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// commit replaces all declarations.
func (l *lab) commit(text string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.repo, "fleet.yaml"), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	l.git("add", ".")
	l.git("commit", "-q", "--allow-empty", "-m", "change")
}

// cluster declares one, by its access Secret.
func (l *lab) cluster(name string) string {
	return fmt.Sprintf(`apiVersion: linkwright.dev/v1alpha1
kind: Cluster
metadata: {name: %s}
spec: {access: {kubeconfigSecret: {name: %s}}, apiServer: %s}
---
`, name, name, l.Cluster(name).Config.Host)
}

func (l *lab) clusters() string { return l.cluster("east") + l.cluster("west") }

func link(source, target, more string) string {
	return fmt.Sprintf(`apiVersion: linkwright.dev/v1alpha1
kind: Link
metadata: {name: %[1]s-%[2]s}
spec: {source: %[1]s, target: %[2]s%[3]s}
---
`, source, target, more)
}

// result is what one run of the program gave.
type result struct {
	code        int
	out, stderr string
}

// start begins the program; its flags name the repository and the management cluster.
func (l *lab) start(ctx context.Context, args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	l.t.Helper()
	var out, stderr bytes.Buffer
	return l.startTo(ctx, &out, &stderr, args...), &out, &stderr
}

// managementConfig is the kubeconfig of the management cluster that the program gets.
func (l *lab) managementConfig() string { return cmp.Or(l.management, l.Cluster("west").Kubeconfig) }

func (l *lab) startTo(ctx context.Context, out, stderr io.Writer, args ...string) *exec.Cmd {
	l.t.Helper()
	flag := "--kubeconfig"
	if args[0] == "cluster" {
		flag = "--management-kubeconfig"
	}
	args = append(args, flag, l.managementConfig())
	if !slices.Contains(args, l.repo) { // which is named by an argument
		args = append(args, "--repo", cmp.Or(l.remote, l.repo), "--allow-file-repo")
	}
	c := exec.CommandContext(ctx, cmp.Or(l.program, "linkwright"), args...) //nolint:gosec // our own
	c.Stdout, c.Stderr, c.Env = out, stderr, append(os.Environ(), "TMPDIR="+l.temp)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 20 * time.Second
	if err := c.Start(); err != nil {
		l.t.Fatal(err)
	}
	return c
}

func testService(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

// testMirror is a mirror of a target's service, as Linkerd's controller makes it.
func testMirror(service, target string) *corev1.Service {
	mirror := testService(service + "-" + target)
	mirror.Labels = map[string]string{linkerd.MirroredLabel: "true", linkerd.ClusterNameLabel: target}
	mirror.Annotations = map[string]string{linkerd.RemoteServiceName: service + ".default.svc.cluster.local", linkerd.RemoteResourceVersion: "1"}
	return mirror
}

// run is one run to its end.
func (l *lab) run(args ...string) result {
	l.t.Helper()
	c, out, stderr := l.start(l.t.Context(), args...)
	err := c.Wait()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		l.t.Fatal(err)
	}
	return result{c.ProcessState.ExitCode(), out.String(), stderr.String()}
}

// takeLease has a holder take the Lease of a link's controller. Until one does, each sync that makes the link waits for it.
func (l *lab) takeLease(source, target string) {
	holder, seconds, now := "controller", int32(3600), metav1.NowMicro()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "service-mirror-write-" + target},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
	if _, err := l.client(source).CoordinationV1().Leases("linkerd-multicluster").Create(l.t.Context(), lease, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

// conditionsAlone reports whether all writes record conditions: on a busy machine one may be due at any time.
func conditionsAlone(out string) bool {
	recorded := 0
	for line := range strings.Lines(out) {
		switch verb, what, _ := strings.Cut(strings.TrimSpace(line), "  "); {
		case !strings.HasPrefix(line, "  "):
		case verb == "update" && strings.Contains(what, "  Ready is "):
			recorded++
		default:
			return false
		}
	}
	return recorded > 0
}

// must runs the program, which must end with the code and say all the words.
func (l *lab) must(code int, words []string, args ...string) result {
	l.t.Helper()
	r := l.run(args...)
	if r.code != code {
		l.t.Errorf("%v: exit code %d, want %d\n%s%s", args, r.code, code, r.out, r.stderr)
	}
	for _, w := range words {
		if !bytes.Contains([]byte(r.out+r.stderr), []byte(w)) && (!strings.HasPrefix(w, "nothing ") || !conditionsAlone(r.out)) {
			l.t.Errorf("%v: does not say %q:\n%s%s", args, w, r.out, r.stderr)
		}
	}
	return r
}
