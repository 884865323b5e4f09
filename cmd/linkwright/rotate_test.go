package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// TestRotate: a token is replaced because people ask for it, once, and the former one ends when the new one is in use: exactly
// that one. One that expires stays, unless it is to be revoked.
func TestRotate(t *testing.T) {
	t.Parallel()
	l := newLab(t, "east", "west")
	l.program = raced()
	l.commit(l.clusters() + link("west", "east", "") + link("east", "west", ", credentials: {mode: Bound}"))
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
	lasting, bound := l.token("west", "east"), l.token("east", "west")
	beside := l.issue("east", "linkwright.west")

	before := l.writes()
	l.must(cli.ExitDone, []string{"west→east: another token is requested"}, "rotate", "west/east", "--revoke")
	l.must(cli.ExitDone, []string{"west→east: another token is already requested"}, "rotate", "west-east")
	if n := l.writes() - before; n != 1 {
		t.Errorf("asked for twice, %d writes", n)
	}
	l.takes("east", lasting, true)
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
	next := l.token("west", "east")
	l.takes("east", next, true)
	l.takes("east", lasting, false)
	l.takes("east", beside, true)
	if got, want := l.tokens("east"), []string{"linkwright.west-token.2"}; !slices.Equal(got, want) {
		t.Errorf("in east are %v, want %v", got, want)
	}
	l.takes("west", bound, true)
	l.must(cli.ExitDone, []string{"nothing to write"}, "sync")

	l.must(cli.ExitDone, []string{"east→west: another", "west→east: another"}, "rotate")
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
	l.takes("east", next, false)
	l.takes("east", l.token("west", "east"), true)
	l.takes("west", bound, true)
	l.takes("west", l.token("east", "west"), true)
	if got, want := l.tokens("west"), []string{"linkwright.east-1", "linkwright.east-2"}; !slices.Equal(got, want) {
		t.Errorf("in west are %v, want %v", got, want)
	}
	second := l.token("east", "west")
	l.must(cli.ExitDone, []string{"east→west: another"}, "rotate", "east/west", "--revoke")
	l.must(cli.ExitDone, []string{"2 links: "}, "sync")
	l.takes("west", bound, false)
	l.takes("west", second, false)
	l.takes("west", l.token("east", "west"), true)
	l.must(cli.ExitDone, []string{"nothing to write"}, "sync")

	l.must(cli.ExitError, []string{"no link nowhere is declared"}, "rotate", "nowhere")
	l.commit(l.clusters() + link("west", "east", ", suspend: true") + link("east", "west", ", credentials: {mode: Existing}"))
	l.must(cli.ExitPartial, []string{"it waits: Suspended", "secret manager"}, "rotate", "west-east", "east-west")
	l.must(cli.ExitDone, []string{"west→east"}, "rotate")
}

// token is what a source uses for a target.
func (l *lab) token(source, target string) string {
	l.t.Helper()
	s, err := l.client(source).CoreV1().Secrets("linkerd-multicluster").Get(l.t.Context(), "cluster-credentials-"+target, metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	cfg, err := clientcmd.RESTConfigFromKubeConfig(s.Data["kubeconfig"])
	if err != nil {
		l.t.Fatal(err)
	}
	return cfg.BearerToken
}

// issue is a token of an account that is bound to nothing.
func (l *lab) issue(cluster, account string) string {
	l.t.Helper()
	got, err := l.client(cluster).CoreV1().ServiceAccounts("linkwright-access").CreateToken(l.t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return got.Status.Token
}

// takes asks an API server; what it cached of a token that it took may last for seconds.
func (l *lab) takes(cluster, token string, want bool) {
	l.t.Helper()
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		got, err := l.client(cluster).AuthenticationV1().TokenReviews().Create(l.t.Context(), review, metav1.CreateOptions{})
		if err == nil && got.Status.Authenticated == want {
			return
		}
		if time.Now().After(end) {
			l.t.Fatalf("%s takes a token: want %t, %v", cluster, want, err)
		}
	}
}

// tokens are the Secrets of tokens in a target.
func (l *lab) tokens(cluster string) (out []string) {
	l.t.Helper()
	all, err := l.client(cluster).CoreV1().Secrets("linkwright-access").List(l.t.Context(), metav1.ListOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, s := range all.Items {
		if strings.HasPrefix(s.Name, "linkwright.") {
			out = append(out, s.Name)
		}
	}
	return out
}
