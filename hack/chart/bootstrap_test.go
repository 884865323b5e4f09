package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/linkwright/linkwright/hack/faultproxy"
	"github.com/linkwright/linkwright/hack/testbed"
)

// newcomer is a person who has clusters with Linkerd, an empty repository and the README.
type newcomer struct {
	*testing.T
	*testbed.ControlPlanes
	dir     string // where they work
	program string
	north   *faultproxy.Proxy // in front of north: the context slow
	log     bytes.Buffer      // of the daemon
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
	n.slow(logins)
	reader := logins.AuthInfos["north"].DeepCopy()
	reader.Impersonate, reader.ImpersonateGroups = "reader", []string{"system:authenticated"}
	logins.AuthInfos["reader"], logins.Contexts["reader"] = reader, &clientcmdapi.Context{Cluster: "north", AuthInfo: "reader"}
	n.must(clientcmd.WriteToFile(*logins, filepath.Join(n.dir, "logins")))
	n.must(os.Symlink(binaries, filepath.Join(n.dir, "bin")))
	n.repository()
	n.mirrors()
	return n
}

// slow adds a context in which the test can make a client of north wait.
func (n *newcomer) slow(logins *clientcmdapi.Config) {
	n.Helper()
	var err error
	n.north, err = faultproxy.New(n.Cluster("north").Config)
	n.must(err)
	n.Cleanup(func() { _ = n.north.Close() })
	config := n.north.Config()
	logins.Clusters["slow"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	logins.AuthInfos["slow"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	logins.Contexts["slow"] = &clientcmdapi.Context{Cluster: "slow", AuthInfo: "slow"}
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
	if code := cmd.ProcessState.ExitCode(); code != want {
		n.Fatalf("%s: exit code %d, want %d\n%s", strings.Join(words, " "), code, want, out)
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
	if err != nil {
		n.Fatalf("helm %s: %v\n%s", strings.Join(words, " "), err, out.String())
	}
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
		bad := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
			return !strings.Contains(line, `"level":"ERROR"`) && !strings.Contains(strings.ToLower(line), "forbidden")
		})
		if code := cmd.ProcessState.ExitCode(); code != 0 || len(bad) > 0 {
			n.Errorf("linkwright %s: exit code %d, and these lines:\n%s", strings.Join(args, " "), code, strings.Join(bad, "\n"))
		}
		if n.Failed() {
			n.Logf("the log of the installed linkwright:\n%s", text)
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
	err := wait.PollUntilContextTimeout(n.Context(), 500*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		cmd := exec.CommandContext(ctx, n.program, "get", "links", "--context", "west", "--kubeconfig", filepath.Join(n.dir, "logins"))
		out, err := cmd.CombinedOutput()
		if len(out) > 0 {
			last = out
		}
		return err == nil && strings.Count(string(last), " True ") == links, nil
	})
	if err != nil {
		n.Fatalf("%d links: %v\n%s", links, err, last)
	}
}
