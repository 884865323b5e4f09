package main

import (
	"bufio"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	gosync "sync"
	"sync/atomic"
	"syscall"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/linkwright/linkwright/hack/fault"
	"github.com/linkwright/linkwright/hack/outputschema"
	"github.com/linkwright/linkwright/sync/report/output"
)

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

// limited: a login that may not write all that is needed gets an error with the missing right, before anything is written or halfway. A later
// bootstrap, with another login, does the rest.
func (n *newcomer) limited() {
	n.Helper()
	const binding = "reader"
	roles := n.client("north").RbacV1()
	role, err := roles.ClusterRoles().Create(n.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: binding},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}},
	}, metav1.CreateOptions{})
	n.must(err)
	_, err = roles.ClusterRoleBindings().Create(n.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: binding},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "reader"}},
	}, metav1.CreateOptions{})
	n.must(err)
	n.readerMay("list", "secrets")
	n.cannot(nil)
	role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces", "serviceaccounts"}, Verbs: []string{"*"}})
	_, err = roles.ClusterRoles().Update(n.Context(), role, metav1.UpdateOptions{})
	n.must(err)
	n.readerMay("create", "serviceaccounts")
	n.cannot([]string{"north: ServiceAccount linkwright/linkwright written"})
}

// readerMay waits until the API server grants a right to the reader.
func (n *newcomer) readerMay(verb, resource string) {
	n.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "reader", ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: resource},
	}}
	n.must(wait.PollUntilContextTimeout(n.Context(), 100*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		got, err := n.client("north").AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		return err == nil && got.Status.Allowed, nil
	}))
}

// cannot runs a bootstrap of north with the login of the reader. It writes this and no more. The clusters that linkwright
// could read before are done, so the exit code is that of a part.
func (n *newcomer) cannot(written []string) {
	n.Helper()
	words := append([]string{"linkwright", "bootstrap", "fleet", "--context", "north=reader", "--management-context", "west", "--yes"}, n.addresses("north")...)
	out := n.typed(4, words...)
	for _, says := range append(written, `User "reader" cannot`, "use the context of a login that may do this") {
		if !strings.Contains(out, says) {
			n.Errorf("a login with too few rights: does not say %q:\n%s", says, out)
		}
	}
	if _, err := n.client("west").CoreV1().Secrets("linkwright").Get(n.Context(), "north", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		n.Errorf("it gave access to a cluster in which its account has no rights: %v", err)
	}
	n.clean("a bootstrap without the rights")
}

// clean: the checkout is as before what was done.
func (n *newcomer) clean(done string) {
	n.Helper()
	if out := n.typed(0, "git", "-C", "fleet", "status", "--porcelain"); out != "" {
		n.Errorf("%s left in the checkout: %s", done, out)
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

// grows: a bootstrap of a third cluster, ended by Ctrl-C and then killed, each after its first write there, is finished by the next one.
func (n *newcomer) grows() {
	n.Helper()
	words := []string{"bootstrap", "fleet", "--context", "north", "--management-context", "west", "--yes"}
	words = append(words, n.addresses("north")...)
	n.behind(words)
	through := slices.Clone(words)
	through[slices.Index(through, "north")] = "north=slow"
	if out, code := n.ended(syscall.SIGINT, through); code != 4 || !strings.Contains(out, "2 of 3 clusters were not added: north, west; run the command again") {
		n.Errorf("ended by Ctrl-C with exit code %d, it does not say what is left to do:\n%s", code, out)
	}
	n.clean("a bootstrap ended by Ctrl-C")
	n.ended(syscall.SIGKILL, through)
	n.clean("a killed bootstrap")
	if out := n.typed(0, append([]string{"linkwright"}, words...)...); strings.Contains(out, "north: ServiceAccount linkwright/linkwright written") || !strings.Contains(out, "Secret linkwright/north written") {
		n.Error("the next bootstrap does not go on with what is missing")
	}
	n.typed(0, "git", "-C", "fleet", "push")
	n.typed(0, "linkwright", "reconcile", "--context", "west")
	n.linked(6)
}

// ended runs the program, and sends it a signal once it has written something into north. Until the program has heard it, north answers no
// other write. It returns what the program printed, and its exit code.
func (n *newcomer) ended(by os.Signal, words []string) (out string, code int) {
	n.Helper()
	var first atomic.Bool
	heard, ended := make(chan struct{}), make(chan struct{})
	n.north.Set(fault.Rule{Times: fault.Always, Fault: fault.Fault{Before: func(r fault.Request) {
		if !writes(r) || first.CompareAndSwap(false, true) {
			return
		}
		select {
		case <-heard:
		case <-ended:
			panic(http.ErrAbortHandler) // of a program that was killed, it does not reach the server
		}
	}}})
	hear := gosync.OnceFunc(func() { close(heard) })
	defer n.north.Set()
	cmd := exec.CommandContext(n.Context(), n.program, words...)
	cmd.Dir, cmd.Env = n.dir, append(os.Environ(), "KUBECONFIG="+filepath.Join(n.dir, "logins"))
	stderr, err := cmd.StderrPipe()
	n.must(err)
	n.must(cmd.Start())
	wrote := regexp.MustCompile(`north: .* written`)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		out += lines.Text() + "\n"
		switch {
		case by != nil && wrote.MatchString(lines.Text()):
			n.must(cmd.Process.Signal(by))
			by = nil
		case strings.HasPrefix(lines.Text(), "finishing what has begun"):
			hear()
		}
	}
	_ = cmd.Wait() // its exit code tells
	close(ended)
	if by != nil {
		n.Fatalf("it ended before a signal could be sent:\n%s", out)
	}
	return out, cmd.ProcessState.ExitCode()
}

// writes says whether a request changes the cluster.
func writes(r fault.Request) bool {
	return !r.DryRun && slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb) && !strings.HasSuffix(r.Resource, "reviews")
}
