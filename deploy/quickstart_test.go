package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
)

// quickstart is a person who follows the pages, on two clusters.
type quickstart struct {
	*testEnv
	readme, install string
}

// TestQuickstart declares what the README declares, and installs linkwright with kustomize, as docs/how-to/install.md says. Then a daemon runs with
// the rights that its commands gave.
func TestQuickstart(t *testing.T) {
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
	testbed.Need(t)
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	install, err := os.ReadFile("../docs/how-to/install.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Parallel()
	q := quickstart{testEnv: newTestEnv(t), readme: string(readme), install: string(install)}
	q.commit(q.declarations())
	q.logins()
	for _, command := range q.commands("## Run it in the management cluster")[:2] { // the others look at the result
		q.follow(command)
	}
	q.available()
	q.atHome()
	q.daemon(func() {
		q.mirrored()
		q.eventually("every link is ready", func(context.Context) error { return q.ready() }) //nolint:contextcheck // the bed has its own
	})
	q.unrefused()
	q.grows()
}

// grows: a mesh of one link gets another, for which nobody granted the Secret of east's control plane. All else of that link is made;
// the command that the report names gives the rest, and changes rights that it gave before.
func (q *quickstart) grows() {
	q.Helper()
	clusters, _, _ := strings.Cut(q.declarations(), "---\napiVersion: linkwright.dev/v1alpha1\nkind: Mesh")
	q.commit(clusters + `---
apiVersion: linkwright.dev/v1alpha1
kind: Link
metadata: {name: west-east}
spec: {source: west, target: east, federatedServiceSelector: {matchLabels: {mirror.linkerd.io/federated: member}}}
---
apiVersion: linkwright.dev/v1alpha1
kind: SyncPolicy
spec: {prune: {maxLinks: 100%}}
`)
	q.grants(true) // the Secret is there still, and must be deleted
	q.syncs(0)
	q.grants(false)

	q.commit(q.declarations())
	out := q.syncs(4)
	for _, words := range []string{"Forbidden", "Secret linkerd/cluster-credentials-west", object.Installation{}.Grant()} {
		if !strings.Contains(out, words) {
			q.Errorf("the report does not say %q:\n%s", words, out)
		}
	}
	q.eventually("mirrors in east", func(ctx context.Context) error {
		_, err := q.client("east").CoreV1().Services("default").Get(ctx, "web-of-west-west", metav1.GetOptions{})
		return err
	})
	q.grants(true)
	q.syncs(0)
	q.mirrored()
}

// grants runs the command, and sees whether east's Role names the Secret for west then.
func (q *quickstart) grants(want bool) {
	q.Helper()
	command := strings.Replace(strings.TrimPrefix(object.Installation{}.Grant(), "linkwright "), "PATH", ".", 1)
	if code, out := q.typed(append(strings.Fields(command), "--management-kubeconfig", "../west.yaml")...); code != 0 {
		q.Fatalf("%s: exit code %d\n%s", command, code, out)
	}
	role, err := q.client("east").RbacV1().Roles(testbed.ControlPlane).Get(q.Context(), "linkwright", metav1.GetOptions{})
	q.must(err)
	named := slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.ResourceNames, "cluster-credentials-west") })
	if named != want {
		q.Errorf("east's Role: %v, want the Secret named: %t", role.Rules, want)
	}
	q.permits("east", grant{testbed.ControlPlane, "", "secrets", "cluster-credentials-west", "get"}, want)
}

// syncs runs once, and expects an exit code.
func (q *quickstart) syncs(want int) string {
	q.Helper()
	code, out := q.ask("sync")
	q.Logf("linkwright sync\n%s", out)
	if code != want {
		q.Fatalf("sync: exit code %d, want %d\n%s", code, want, out)
	}
	return out
}

// section returns the part of a page below a heading.
func (q *quickstart) section(page, heading string) string {
	q.Helper()
	_, rest, ok := strings.Cut(page, "\n"+heading+"\n")
	if !ok {
		q.Fatalf("the page has no %s", heading)
	}
	part, _, _ := strings.Cut(rest, "\n## ")
	return part
}

// blocks returns the fenced parts of a text, in a language, without their indentation.
func blocks(text, language string) (out []string) {
	var block []string
	open, indent := false, ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		switch {
		case !open && bare == "```"+language:
			open, indent, block = true, line[:strings.Index(line, "`")], nil
		case open && bare == "```":
			open, out = false, append(out, strings.Join(block, ""))
		case open:
			block = append(block, strings.TrimPrefix(line, indent))
		}
	}
	return out
}

// declarations returns the first that the README shows, with the addresses that the clusters have here: nobody takes that of an access for one that
// peers can use, since it is of this machine.
func (q *quickstart) declarations() string {
	q.Helper()
	all := blocks(q.section(q.readme, "## Declare"), "yaml")
	if len(all) == 0 {
		q.Fatal("the README has no declarations")
	}
	text := q.replace(all[0], "https://west.example.com:6443", q.Cluster("west").Config.Host)
	return q.replace(text, "    kubeconfigSecret: {name: east}", "    kubeconfigSecret: {name: east}\n  apiServer: "+q.Cluster("east").Config.Host+"\n")
}

// replace has declarations that the README shows hold something else, once.
func (q *quickstart) replace(text, visible, now string) string {
	q.Helper()
	if strings.Count(text, visible) != 1 {
		q.Fatalf("the README's declarations have no %q:\n%s", visible, text)
	}
	return strings.Replace(text, visible, now, 1)
}

// commands of a section of the page about the installation, in order: every line of what is to be typed.
func (q *quickstart) commands(heading string) (out []string) {
	q.Helper()
	for _, block := range blocks(q.section(q.install, heading), "sh") {
		out = append(out, strings.Split(strings.TrimSpace(block), "\n")...)
	}
	if len(out) < 2 {
		q.Fatalf("%s has the commands %q", heading, out)
	}
	return out
}

// follow does one command in the checkout.
func (q *quickstart) follow(command string) {
	q.Helper()
	words := strings.Fields(command)
	switch {
	case words[0] == "linkwright":
		if code, out := q.typed(words[1:]...); code != 0 {
			q.Fatalf("%s: exit code %d\n%s", command, code, out)
		}
	case strings.HasPrefix(command, "kubectl --context ") && words[3] == "apply" && words[4] == "--server-side" && words[5] == "-k" && len(words) == 7:
		q.apply(words[2], build(q.T, filepath.Join("..", words[6]), map[string]bool{}))
	default:
		q.Fatalf("the page has a command that this test cannot follow: %s", command)
	}
}

// typed runs the program as people do, in the checkout.
func (q *quickstart) typed(args ...string) (int, string) {
	q.Helper()
	cmd := exec.CommandContext(q.Context(), q.program, args...)
	cmd.Dir, cmd.Env = q.repo, append(os.Environ(), "KUBECONFIG="+filepath.Join(q.repo, "..", "logins.yaml"))
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		q.Fatal(err)
	}
	q.Logf("linkwright %s\n%s", strings.Join(args, " "), out)
	return cmd.ProcessState.ExitCode(), string(out)
}

// logins are the person's own: one context for each cluster, and a file for the management cluster.
func (q *quickstart) logins() {
	q.Helper()
	all := clientcmdapi.NewConfig()
	for _, c := range q.Clusters {
		one, err := clientcmd.LoadFromFile(c.Kubeconfig)
		q.must(err)
		context := one.Contexts[one.CurrentContext]
		all.Clusters[c.Name], all.AuthInfos[c.Name] = one.Clusters[context.Cluster], one.AuthInfos[context.AuthInfo]
		all.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: c.Name}
	}
	all.CurrentContext = "west"
	for _, file := range []string{"logins.yaml", "west.yaml"} { // beside the checkout: they are no declarations
		q.must(clientcmd.WriteToFile(*all, filepath.Join(q.repo, "..", file)))
	}
}

// atHome has the daemon run here as it would in its pod: with the token of its account, which access.inCluster finds in the pod.
func (q *quickstart) atHome() {
	q.Helper()
	token, err := q.client("west").CoreV1().ServiceAccounts(namespace).CreateToken(q.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	q.must(err)
	q.managementKubeconfig = filepath.Join(q.TempDir(), "home")
	q.must(os.WriteFile(q.managementKubeconfig, q.kubeconfig(q.Cluster("west"), token.Status.Token), 0o600))
}

func (q *quickstart) ready() error {
	code, out := q.ask("status")
	if code != 0 {
		return fmt.Errorf("status: exit code %d\n%s", code, out)
	}
	return nil
}

// unrefused: nothing that linkwright's account asked for was refused.
func (q *quickstart) unrefused() {
	q.Helper()
	for _, c := range q.Clusters {
		asked, err := c.Requests("linkwright/")
		q.must(err)
		for _, r := range asked {
			if r.User == user && r.Code == 403 {
				q.Errorf("%s: %s %s %s/%s was refused", c.Name, r.Verb, r.Resource, r.Namespace, r.Name)
			}
		}
	}
}
