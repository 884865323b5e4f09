package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	helm "helm.sh/helm/v4/pkg/cmd"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/linkwright/linkwright/hack/outputschema"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/sync/report/output"
)

// newcomer is a person who has clusters with Linkerd, an empty repository and the README.
type newcomer struct {
	*testing.T
	*testbed.ControlPlanes
	dir     string // where they work
	program string
	log     bytes.Buffer // of the daemon
}

// TestBootstrap does what the README says, line by line, with real Git, Helm and control planes. The pods of control planes without a container
// engine are simulated, so the test runs the program as the pod of the installed Deployment would.
func TestBootstrap(t *testing.T) {
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
	testbed.Need(t)
	n := newNewcomer(t)
	n.refusals()
	begun := time.Now()
	for _, command := range n.commands("### In one command") {
		n.follow(command)
	}
	stop := n.pod()
	defer stop()
	n.linked(2)
	n.Logf("two clusters are linked %.0f s after the first command", time.Since(begun).Seconds())
	n.again()
	n.replaces()
	n.old()
	n.limited()
	n.grows()
}

func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	n := &newcomer{T: t, dir: t.TempDir()}
	binaries, err := testbed.Binaries()
	n.must(err)
	n.program = filepath.Join(binaries, "linkwright")
	n.ControlPlanes, err = testbed.Start(t.Context(), testbed.Options{Names: []string{"west", "east", "north", "old"}})
	n.must(err)
	t.Cleanup(func() { _ = n.Close() })
	logins := clientcmdapi.NewConfig()
	for i, c := range n.Clusters {
		linkerd := testbed.Linkerd{GatewayAddresses: []string{fmt.Sprintf("192.0.2.%d", 10+i)}}
		if c.Name == "old" {
			linkerd.LinkerdVersion, linkerd.LinkVersions = "stable-2.14.10", []string{"v1alpha1"}
		}
		n.must(testbed.InstallLinkerd(t.Context(), c.Config, linkerd))
		one, err := clientcmd.LoadFromFile(c.Kubeconfig)
		n.must(err)
		context := one.Contexts[one.CurrentContext]
		logins.Clusters[c.Name], logins.AuthInfos[c.Name] = one.Clusters[context.Cluster], one.AuthInfos[context.AuthInfo]
		logins.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: c.Name}
	}
	reader := logins.AuthInfos["north"].DeepCopy()
	reader.Impersonate, reader.ImpersonateGroups = "reader", []string{"system:authenticated"}
	logins.AuthInfos["reader"], logins.Contexts["reader"] = reader, &clientcmdapi.Context{Cluster: "north", AuthInfo: "reader"}
	n.must(clientcmd.WriteToFile(*logins, filepath.Join(n.dir, "logins")))
	n.must(os.Symlink(binaries, filepath.Join(n.dir, "bin")))
	n.repository()
	n.mirrors()
	return n
}

// mirrors plays Linkerd's controllers.
func (n *newcomer) mirrors() {
	ctx, stop := context.WithCancel(context.Background())
	running := slices.DeleteFunc(slices.Clone(n.Clusters), func(c *testbed.Cluster) bool { return c.Name == "old" })
	done := make(chan error, len(running))
	for _, c := range running {
		go func() { done <- testbed.RunMirrors(ctx, c.Config, testbed.MirrorOptions{}) }()
	}
	n.Cleanup(func() {
		stop()
		for range running {
			if err := <-done; err != nil {
				n.Error(err)
			}
		}
	})
}

func (n *newcomer) must(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

// repository serves an empty repository behind a password, and clones it as a person with another one.
func (n *newcomer) repository() {
	n.Helper()
	served := n.TempDir()
	n.typed(0, "git", "init", "--quiet", "--bare", "--initial-branch=main", filepath.Join(served, "fleet.git"))
	n.typed(0, "git", "-C", filepath.Join(served, "fleet.git"), "config", "http.receivepack", "true")
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(n.typed(0, "git", "--exec-path")), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + served, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard,
	}
	passwords := map[string]string{"person": "of the person", "linkwright": "of linkwright"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user == "" || passwords[user] != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="fleet"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	n.Cleanup(server.Close)
	n.typed(0, "git", "clone", "--quiet", strings.Replace(server.URL, "//", "//person:of%20the%20person@", 1)+"/fleet.git", "fleet")
	n.must(os.Mkdir(filepath.Join(n.dir, "git"), 0o700))
	for name, text := range map[string]string{"username": "linkwright", "password": "of linkwright"} {
		n.must(os.WriteFile(filepath.Join(n.dir, "git", name), []byte(text), 0o600))
	}
}

// typed runs a command where the person works, and returns all that it prints.
func (n *newcomer) typed(want int, words ...string) string {
	n.Helper()
	name := words[0]
	if name == "linkwright" {
		name = n.program
	}
	cmd := exec.CommandContext(n.Context(), name, words[1:]...)
	cmd.Dir = n.dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(n.dir, "logins"), "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=person", "GIT_AUTHOR_EMAIL=person@example.com", "GIT_COMMITTER_NAME=person", "GIT_COMMITTER_EMAIL=person@example.com")
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		n.Fatal(err)
	}
	n.Logf("%s\n%s", strings.Join(words, " "), out)
	if code := cmd.ProcessState.ExitCode(); code != want {
		n.Fatalf("%s: exit code %d, want %d", strings.Join(words, " "), code, want)
	}
	for _, secret := range []string{"of the person", "of%20the%20person", "of linkwright"} {
		if words[0] == "linkwright" && strings.Contains(string(out), secret) {
			n.Errorf("%s prints a password", strings.Join(words, " "))
		}
	}
	return string(out)
}

// commands are those of a section of the README.
func (n *newcomer) commands(heading string) (out []string) {
	n.Helper()
	page, err := os.ReadFile("../../README.md")
	n.must(err)
	_, rest, _ := strings.Cut(string(page), "\n"+heading+"\n")
	_, rest, _ = strings.Cut(rest, "```sh\n")
	block, _, ok := strings.Cut(rest, "```")
	if !ok {
		n.Fatalf("the README has no commands under %s", heading)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(strings.ReplaceAll(block, "\\\n", " ")), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// follow runs a command of the README.
func (n *newcomer) follow(command string) {
	n.Helper()
	switch words := strings.Fields(command); words[0] {
	case "make": // make test built the program; the chart and the image have tests of their own
	case "linkwright", "git":
		if words[0] == "linkwright" {
			words = append(words, n.addresses("west", "east")...)
		}
		n.typed(0, words...)
	case "helm":
		n.helm(words[1:])
	default:
		n.Fatalf("the README has a command that this test cannot follow: %s", command)
	}
}

// addresses are flags with those of the test's API servers, which answer only on this machine.
func (n *newcomer) addresses(clusters ...string) (out []string) {
	for _, c := range clusters {
		out = append(out, "--api-server", c+"="+n.Cluster(c).Config.Host)
	}
	return out
}

// helm is Helm's own program.
func (n *newcomer) helm(words []string) {
	n.Helper()
	file, err := pack(filepath.Join(root, chartDir), n.TempDir())
	n.must(err)
	for i, w := range words {
		switch {
		case strings.HasSuffix(w, ".tgz"):
			words[i] = file
		case strings.HasSuffix(w, ".yaml"):
			words[i] = filepath.Join(n.dir, w)
		}
	}
	n.Setenv("KUBECONFIG", filepath.Join(n.dir, "logins"))
	var out bytes.Buffer
	program, err := helm.NewRootCmd(&out, words, func(bool) {})
	n.must(err)
	program.SetArgs(words)
	err = program.ExecuteContext(n.Context())
	n.Logf("helm %s\n%s", strings.Join(words, " "), out.String())
	n.must(err)
}

func (n *newcomer) client(cluster string) *kubernetes.Clientset {
	n.Helper()
	c, err := kubernetes.NewForConfig(n.Cluster(cluster).As("chart-test"))
	n.must(err)
	return c
}

// pod runs the program with the arguments, the environment, the volumes and the account of the pod that the Deployment has.
func (n *newcomer) pod() (stop func()) {
	n.Helper()
	client := n.client("west")
	d, err := client.AppsV1().Deployments("linkwright").Get(n.Context(), "linkwright", metav1.GetOptions{})
	n.must(err)
	spec := d.Spec.Template.Spec
	run := n.TempDir() // what the pod has in /run
	account := filepath.Join(run, "secrets", "kubernetes.io", "serviceaccount")
	n.must(os.MkdirAll(account, 0o700))
	token, err := client.CoreV1().ServiceAccounts("linkwright").CreateToken(n.Context(), spec.ServiceAccountName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	n.must(err)
	server := n.Cluster("west").Config
	for name, data := range map[string][]byte{"token": []byte(token.Status.Token), "ca.crt": server.CAData, "namespace": []byte("linkwright")} {
		n.must(os.WriteFile(filepath.Join(account, name), data, 0o600))
	}
	args := append(slices.Clone(spec.Containers[0].Args), "--listen=127.0.0.1:0")
	for _, mount := range spec.Containers[0].VolumeMounts {
		dir := n.volume(spec, mount.Name)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], mount.MountPath, dir)
		}
	}
	host, port, _ := strings.Cut(strings.TrimPrefix(server.Host, "https://"), ":")
	ctx, cancel := context.WithCancel(n.Context())
	words := append([]string{"--mount", "--map-root-user", "sh", "-c", `mount --bind "$0" /run && exec "$@"`, run, n.program}, args...)
	cmd := exec.CommandContext(ctx, "unshare", words...)
	cmd.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port, "KUBECONFIG=")
	cmd.Stderr, cmd.Stdout = &n.log, &n.log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	n.must(cmd.Start())
	return func() {
		cancel()
		_ = cmd.Wait() // its exit code tells
		text := n.log.String()
		if cmd.ProcessState.ExitCode() != 0 || strings.Contains(text, "level=ERROR") || strings.Contains(strings.ToLower(text), "forbidden") || n.Failed() {
			n.Errorf("linkwright %s: exit code %d\n%s", strings.Join(args, " "), cmd.ProcessState.ExitCode(), text)
		}
	}
}

// volume has what a volume of the pod has.
func (n *newcomer) volume(spec corev1.PodSpec, name string) string {
	n.Helper()
	dir := n.TempDir()
	for _, v := range spec.Volumes {
		if v.Name != name || v.Secret == nil {
			continue
		}
		s, err := n.client("west").CoreV1().Secrets("linkwright").Get(n.Context(), v.Secret.SecretName, metav1.GetOptions{})
		n.must(err)
		for key, value := range s.Data {
			n.must(os.WriteFile(filepath.Join(dir, key), value, 0o600))
		}
	}
	return dir
}

// linked waits until this number of links is declared, and all of them are ready.
func (n *newcomer) linked(links int) {
	n.Helper()
	var last []byte
	err := wait.PollUntilContextTimeout(n.Context(), 500*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		cmd := exec.CommandContext(ctx, n.program, "get", "links", "--context", "west", "--kubeconfig", filepath.Join(n.dir, "logins"))
		out, err := cmd.CombinedOutput()
		if len(out) > 0 {
			last = out
		}
		return err == nil && strings.Count(string(last), " True ") == links, nil
	})
	n.Logf("linkwright get links\n%s", last)
	if err != nil {
		n.Fatalf("%d links: %v\n%s", links, err, n.log.String())
	}
}

// refusals: what is wrong is said before anything is written.
func (n *newcomer) refusals() {
	n.Helper()
	base := []string{"linkwright", "bootstrap", "fleet", "--management-context", "west", "--context", "west"}
	if out := n.typed(64, base...); !strings.Contains(out, "--api-server west=https://") {
		n.Error("an address of this machine: does not name --api-server")
	}
	base = append(base, n.addresses("west")...)
	for _, tt := range []struct {
		name, says string
		code       int
		more       []string
	}{
		{"no credentials", "give linkwright credentials of its own", 2, nil},
		{"an unknown context", `no context "south"`, 2, []string{"--context", "south"}},
		{"two names of one cluster", "west and other are one cluster", 64, []string{"--context", "other=west"}},
		{"a bad image", "--image", 64, []string{"--image", "nothing"}},
		{"an old Linkerd", "LinkerdTooOld: Linkerd stable-2.14.10 in old", 2, append([]string{"--git-credentials-dir", "git", "--context", "old", "--mesh", "prod", "--yes"}, n.addresses("old")...)},
		{"without a terminal", "needs a confirmation", 4, []string{"--git-credentials-dir", "git"}},
	} {
		if out := n.typed(tt.code, append(slices.Clone(base), tt.more...)...); !strings.Contains(out, tt.says) {
			n.Errorf("%s: does not say %q", tt.name, tt.says)
		}
	}
	if _, err := n.client("west").CoreV1().Namespaces().Get(n.Context(), "linkwright", metav1.GetOptions{}); err == nil {
		n.Error("a refused bootstrap wrote a namespace")
	}
	if out := n.typed(0, "git", "-C", "fleet", "status", "--porcelain"); out != "" {
		n.Errorf("a refused bootstrap changed the checkout: %s", out)
	}
}

// again: the same once more changes nothing.
func (n *newcomer) again() {
	n.Helper()
	before := n.typed(0, "git", "-C", "fleet", "rev-parse", "HEAD")
	n.answers()
	words := []string{"linkwright", "bootstrap", "fleet", "--context", "west", "--context", "east", "--mesh", "prod", "--management-context", "west", "--yes", "--values"}
	if out := n.typed(2, append(slices.Clone(words), "values.yaml")...); !strings.Contains(out, "the file exists with other content") {
		n.Error("it does not refuse to overwrite a file with values")
	}
	out := n.typed(0, append(words, "other.yaml")...)
	if _, err := os.Stat(filepath.Join(n.dir, "other.yaml")); err != nil {
		n.Errorf("done again, it writes no values: %v", err)
	}
	out = strings.ReplaceAll(out, "values of the Helm chart written", "")
	if !strings.Contains(out, "nothing to write") || strings.Contains(out, "written") || strings.Contains(out, "created") || n.typed(0, "git", "-C", "fleet", "rev-parse", "HEAD") != before {
		n.Error("done again, it changed something")
	}
}

// replaces: a Secret with keys of somebody else stays as it is without --force, and has none of them with it.
func (n *newcomer) replaces() {
	n.Helper()
	secrets := n.client("west").CoreV1().Secrets("linkwright")
	_, err := secrets.Patch(n.Context(), "linkwright-git", types.MergePatchType, []byte(`{"data":{"identity":"eA=="}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"})
	n.must(err)
	words := []string{"linkwright", "bootstrap", "fleet", "--context", "west", "--management-context", "west", "--git-credentials-dir", "git"}
	keys := func() []string {
		s, err := secrets.Get(n.Context(), "linkwright-git", metav1.GetOptions{})
		n.must(err)
		return slices.Sorted(maps.Keys(s.Data))
	}
	for _, tt := range []struct {
		code int
		says string
		more []string
		keys []string
	}{
		{2, "others wrote Secret linkwright/linkwright-git of the management cluster (Git credentials): replace it with --force", []string{"--yes"}, []string{"identity", "password", "username"}},
		{0, "Secret linkwright/linkwright-git would be written", []string{"--force", "--dry-run=server"}, []string{"identity", "password", "username"}},
		{0, "Secret linkwright/linkwright-git written", []string{"--force", "--yes"}, []string{"password", "username"}},
		{0, "nothing to write", []string{"--yes"}, []string{"password", "username"}},
	} {
		if out := n.typed(tt.code, append(slices.Clone(words), tt.more...)...); !strings.Contains(out, tt.says) {
			n.Errorf("%s: does not say %q", strings.Join(tt.more, " "), tt.says)
		}
		if got := keys(); !slices.Equal(got, tt.keys) {
			n.Errorf("after %s the Secret has the keys %v, want %v", strings.Join(tt.more, " "), got, tt.keys)
		}
	}
}

// answers: programs get an answer of the documented shape, and no change.
func (n *newcomer) answers() {
	n.Helper()
	cmd := exec.CommandContext(n.Context(), n.program, "bootstrap", "fleet", "--context", "north", "--api-server", "north="+n.Cluster("north").Config.Host,
		"--management-context", "west", "--dry-run=server", "-o", "json")
	cmd.Dir, cmd.Env = n.dir, append(os.Environ(), "KUBECONFIG="+filepath.Join(n.dir, "logins"))
	out, err := cmd.Output()
	n.must(err)
	n.must(outputschema.Check(out))
	var answer output.Bootstrap
	n.must(json.Unmarshal(out, &answer))
	if answer.DryRun != "server" || len(answer.Files) != 1 || answer.Files[0].Name != "clusters/north.yaml" || len(answer.Written) == 0 || answer.Commit != "" {
		n.Errorf("the answer of a dry run: %s", out)
	}
}

// old: a cluster with an old Linkerd, whose mesh is declared already, is refused before anything is written there.
func (n *newcomer) old() {
	n.Helper()
	words := append([]string{"linkwright", "bootstrap", "fleet", "--context", "old", "--management-context", "west", "--yes"}, n.addresses("old")...)
	if out := n.typed(2, words...); !strings.Contains(out, "LinkerdTooOld: Linkerd stable-2.14.10 in old") {
		n.Error("it does not say that Linkerd is too old")
	}
	if _, err := n.client("old").CoreV1().Namespaces().Get(n.Context(), "linkwright", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		n.Errorf("it wrote into a cluster with an old Linkerd: %v", err)
	}
}

// limited: a login that may read everything in a cluster and write nothing gets an error with the missing right. The next bootstrap, with another
// login, does the rest.
func (n *newcomer) limited() {
	n.Helper()
	roles := n.client("north").RbacV1()
	_, err := roles.ClusterRoles().Create(n.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}},
	}, metav1.CreateOptions{})
	n.must(err)
	_, err = roles.ClusterRoleBindings().Create(n.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "reader"}},
	}, metav1.CreateOptions{})
	n.must(err)
	words := append([]string{"linkwright", "bootstrap", "fleet", "--context", "north=reader", "--management-context", "west", "--yes"}, n.addresses("north")...)
	if out := n.typed(2, words...); !strings.Contains(out, `User "reader" cannot`) || !strings.Contains(out, "use the context of a login that may do this") {
		n.Errorf("it does not name the right that is missing:\n%s", out)
	}
	if _, err := n.client("west").CoreV1().Secrets("linkwright").Get(n.Context(), "north", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		n.Errorf("it gave access to a cluster in which it wrote nothing: %v", err)
	}
	if out := n.typed(0, "git", "-C", "fleet", "status", "--porcelain"); out != "" {
		n.Errorf("it left in the checkout: %s", out)
	}
}

// behind: a checkout that lacks a revision of the repository, and files of the person, are left as they are.
func (n *newcomer) behind(words []string) {
	n.Helper()
	n.typed(0, "git", "clone", "--quiet", "fleet", "stale")
	n.typed(0, "git", "-C", "stale", "remote", "set-url", "origin", strings.TrimSpace(n.typed(0, "git", "-C", "fleet", "remote", "get-url", "origin")))
	n.typed(0, "git", "-C", "stale", "commit", "--quiet", "--amend", "--message", "Another history")
	n.must(os.Mkdir(filepath.Join(n.dir, "stale", "new"), 0o700))
	for _, dir := range []string{"stale", "stale/new"} { // the repository does not have the latter
		stale := slices.Clone(words)
		stale[1] = dir
		if out := n.typed(2, append([]string{"linkwright"}, stale...)...); !strings.Contains(out, "run git pull there") {
			n.Errorf("%s: it does not say that the checkout lacks a revision", dir)
		}
	}
	theirs := filepath.Join(n.dir, "fleet", "clusters", "north.yaml")
	n.must(os.WriteFile(theirs, []byte("# to be written\n"), 0o600))
	if out := n.typed(2, append([]string{"linkwright"}, words...)...); !strings.Contains(out, "north.yaml exists") {
		n.Error("it does not refuse to overwrite a file of the person")
	}
	n.must(os.Remove(theirs))
}

// grows: a bootstrap of a third cluster, killed after its first write, is finished by the next one.
func (n *newcomer) grows() {
	n.Helper()
	words := []string{"bootstrap", "fleet", "--context", "north", "--management-context", "west", "--yes"}
	words = append(words, n.addresses("north")...)
	n.behind(words)
	cmd := exec.CommandContext(n.Context(), n.program, words...)
	cmd.Dir, cmd.Env = n.dir, append(os.Environ(), "KUBECONFIG="+filepath.Join(n.dir, "logins"))
	stderr, err := cmd.StderrPipe()
	n.must(err)
	n.must(cmd.Start())
	buf, seen := make([]byte, 1<<16), ""
	for !strings.Contains(seen, "north: ServiceAccount linkwright/linkwright written") {
		got, err := stderr.Read(buf)
		if seen += string(buf[:got]); err != nil {
			n.Fatalf("it ended before it could be killed: %s", seen)
		}
	}
	n.must(cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	if out := n.typed(0, "git", "-C", "fleet", "status", "--porcelain"); out != "" {
		n.Errorf("a killed bootstrap left: %s", out)
	}
	if out := n.typed(0, append([]string{"linkwright"}, words...)...); strings.Contains(out, "north: ServiceAccount linkwright/linkwright written") || !strings.Contains(out, "Secret linkwright/north written") {
		n.Error("the next bootstrap does not go on with what is missing")
	}
	n.typed(0, "git", "-C", "fleet", "push")
	n.typed(0, "linkwright", "reconcile", "--context", "west")
	n.linked(6)
}
