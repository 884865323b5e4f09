package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/access"
)

// added gives an access, links with it, and renews its token.
func (l *lab) added() {
	add := func(code int, words []string, more ...string) result {
		l.t.Helper()
		kubeconfig := l.Cluster("east").Kubeconfig
		file, err := clientcmd.LoadFromFile(kubeconfig)
		if err != nil {
			l.t.Fatal(err)
		}
		return l.must(code, words, append([]string{"cluster", "add", "--kubeconfig", kubeconfig, "--context", file.CurrentContext}, more...)...)
	}
	add(cli.ExitError, []string{"was not made by this command", "--force"}, "east")
	add(cli.ExitError, []string{"known as east"}, "second", "--secret", "own")
	add(cli.ExitUsage, []string{"--ttl"}, "east", "--secret", "own", "--ttl", "1m")
	add(cli.ExitError, []string{"namespace nowhere is missing"}, "east", "--secret", "own", "--linkerd-namespace", "nowhere")
	for _, mode := range []string{"client", "server"} {
		dry := add(cli.ExitDone, []string{"ClusterRole linkwright would be written", "Secret linkwright/own would be written", "(" + mode + " dry run)"}, "east", "--secret", "own", "--ttl", "1h", "--dry-run", mode)
		if !strings.Contains(dry.stderr, "management cluster: https://") {
			l.t.Errorf("the management cluster is not announced:\n%s", dry.stderr)
		}
	}
	if _, err := l.secret("own"); err == nil {
		l.t.Error("there is a Secret after refusals and dry runs")
	}
	r := add(cli.ExitDone, []string{"ClusterRole linkwright written", "name: own"}, "east", "--secret", "own", "--ttl", "1h")
	before, err := l.secret("own")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, more := range []string{"--confine", "--confine=false"} {
		add(cli.ExitError, []string{"policies of another installation confine the same account", "linkwright.secrets", "--account"}, "east", "--secret", "blue", "--owner", "blue", more)
	}
	l.annotate("own", "another")
	add(cli.ExitError, []string{"leads to another cluster"}, "east", "--secret", "own")
	l.annotate("own", before.Annotations[access.WhoseAnnotation])
	if before, err = l.secret("own"); err != nil {
		l.t.Fatal(err)
	}
	if again := add(cli.ExitDone, []string{"holds a token that is good"}, "east", "--secret", "own", "--ttl", "1h"); strings.Contains(again.stderr, "written") {
		l.t.Errorf("done again, it wrote:\n%s", again.stderr)
	}
	if now, _ := l.secret("own"); now.ResourceVersion != before.ResourceVersion {
		l.t.Error("done again, it wrote the Secret")
	}
	// The API server still accepts the token, because it caches the answer.
	if err := l.client("east").CoreV1().ServiceAccounts("linkwright").Delete(l.t.Context(), "linkwright", metav1.DeleteOptions{}); err != nil {
		l.t.Fatal(err)
	}
	add(cli.ExitDone, []string{"ServiceAccount linkwright/linkwright was created again", "Secret linkwright/own written"}, "east", "--secret", "own", "--ttl", "1h")
	if before, err = l.secret("own"); err != nil {
		l.t.Fatal(err)
	}
	declared := strings.Replace(r.out, "spec:", "spec:\n  apiServer: "+l.Cluster("east").Config.Host, 1) + "---\n" + l.cluster("west") + link("west", "east", "") + link("east", "west", "")
	l.commit(declared)
	l.must(cli.ExitDone, []string{"2 links: ", "0 failed"}, "sync") // controllers changed
	l.renewed(before)
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
	l.grantedOtherwise(add)
	l.grantedWithoutOverlay(declared, add)
}

// grantedWithoutOverlay: rights given anew after an overlay was removed suffice to remove what it brought in.
func (l *lab) grantedWithoutOverlay(declared string, add func(code int, words []string, more ...string) result) {
	l.put("overlays/own/policy.yaml", "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: own}\nspec: {podSelector: {}}\n")
	l.put("overlays/own/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [policy.yaml]\n")
	l.commit(strings.Replace(declared, "spec:", "spec:\n  overlay: overlays/own", 1))
	add(cli.ExitDone, []string{"Role linkerd-multicluster/linkwright written"}, "east", l.repo)
	l.must(cli.ExitDone, []string{"create", "NetworkPolicy.networking.k8s.io linkerd-multicluster/own"}, "sync")
	l.git("rm", "-rq", "overlays")
	l.commit(declared)
	add(cli.ExitDone, []string{"rights on networkpolicies.networking.k8s.io stay"}, "east", l.repo)
	l.must(cli.ExitDone, []string{"delete", "NetworkPolicy.networking.k8s.io linkerd-multicluster/own"}, "sync")
	if again := add(cli.ExitDone, []string{"Role linkerd-multicluster/linkwright written"}, "east", l.repo); strings.Contains(again.stderr, "stay") {
		l.t.Errorf("rights stay although nothing is left to remove:\n%s", again.stderr)
	}
}

// grantedOtherwise: rights that somebody changed are overwritten when that is asked for, and only then.
func (l *lab) grantedOtherwise(add func(code int, words []string, more ...string) result) {
	roles := l.client("east").RbacV1().Roles("linkerd")
	role, err := roles.Get(l.t.Context(), "linkwright", metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	role.Rules = role.Rules[:1]
	if _, err := roles.Update(l.t.Context(), role, metav1.UpdateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	add(cli.ExitError, []string{"Role linkerd/linkwright", "--force"}, "east", "--secret", "own")
	add(cli.ExitDone, []string{"Role linkerd/linkwright written"}, "east", "--secret", "own", "--force")
}

// annotate has an access Secret say that it leads to a cluster.
func (l *lab) annotate(name, uid string) {
	l.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, access.WhoseAnnotation, uid)
	if _, err := l.client("west").CoreV1().Secrets("linkwright").Patch(l.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) secret(name string) (*corev1.Secret, error) {
	return l.client("west").CoreV1().Secrets("linkwright").Get(l.t.Context(), name, metav1.GetOptions{})
}

// renewed: what a term does once two thirds of the token's life are over, by the account's own rights.
func (l *lab) renewed(before *corev1.Secret) {
	var log shared
	c, stop := l.opened(l.Cluster("west").Kubeconfig, &log)
	defer stop()
	east := fleet.Cluster{Name: "east", Spec: api.Cluster{Access: api.Access{KubeconfigSecret: &api.SecretKey{Name: "own", Key: "kubeconfig"}}}.WithDefaults()}
	for name, err := range c.Follow(l.t.Context(), []fleet.Cluster{east}) {
		l.t.Fatal(name, err)
	}
	was := c.ManagedAccess("east")
	if was == nil {
		l.t.Fatal("nobody knows that the token is to be renewed")
	}
	c.Renewal(nil).Once(l.t.Context(), was.Issued.Add(39*time.Minute))
	if now, _ := l.secret("own"); now.ResourceVersion != before.ResourceVersion {
		l.t.Errorf("renewed before it was due:\n%s", log.String())
	}
	due := was.Issued.Add(41 * time.Minute)
	l.eventually("the token is renewed", func() bool {
		c.Renewal(nil).Once(l.t.Context(), due) // within a second of its making a new one lives no longer
		now, err := l.secret("own")
		return err == nil && now.ResourceVersion != before.ResourceVersion
	})
	l.eventually("the connection is exchanged", func() bool {
		c.Follow(l.t.Context(), []fleet.Cluster{east})
		now := c.ManagedAccess("east")
		return now != nil && now.Expires.After(was.Expires)
	})
	if strings.Contains(log.String(), string(was.Token.Bytes())) {
		l.t.Error("the log has a token")
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	cancel()
	c.Renewal(nil).Once(ctx, due.Add(time.Hour)) // somebody says to stop
}
