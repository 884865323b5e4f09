package sync_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/linkwright/linkwright/hack/testbed"
)

const bound = `, credentials: {mode: Bound, ttl: 200h}`

// TestBound: a token that expires is issued once, revoked by deleting what it is bound to, and replaced; no mode of a
// link leaves its source without a token, and no token is shown.
func TestBound(t *testing.T) {
	b := newClusterEnv(t, "east", "west")
	d, log := &declaredText{}, &bytes.Buffer{}
	l := b.loop(d, agent)
	l.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d.set(b.declarations(linkWith("west", "east", bound+federated)))
	b.writeLog(log, b.clean(l, 2))
	b.mirrored("west", "web-of-east-east")
	first := b.token()
	if life := first.exp - first.iat; first.secret.Name != "linkwright.west-1" || life != int64((200*time.Hour).Seconds()) {
		t.Errorf("the first token is bound to %s and lives %d s", first.secret.Name, life)
	}
	if _, err := b.client("east").CoreV1().Secrets("linkwright-access").Get(t.Context(), "linkwright.west-token", metav1.GetOptions{}); err == nil {
		t.Error("there is a token that does not expire")
	}
	b.noRequests(t, b.loop(d, agent)) // a process that remembers nothing

	t.Run("deleting its Secret revokes exactly one token", func(t *testing.T) {
		b.t = t
		other := b.another(first)
		b.accepted(first.token, true)
		b.accepted(other, true)
		if err := b.client("east").CoreV1().Secrets("linkwright-access").Delete(t.Context(), "linkwright.west-1", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		b.accepted(first.token, false)
		b.accepted(other, true)
		b.writeLog(log, b.clean(l, 2))
		second := b.token()
		if second.secret.Name != "linkwright.west-2" {
			t.Errorf("the second token is bound to %s", second.secret.Name)
		}
		b.accepted(second.token, true)
		b.accepted(first.token, false)
	})
	t.Run("to LegacyToken and back", func(t *testing.T) {
		b.t = t
		bound2 := b.token().token
		d.set(b.declarations(linkWith("west", "east", federated)))
		b.writeLog(log, b.clean(l, 2))
		b.accepted(b.token().token, true)
		b.accepted(bound2, true) // west's control plane was told a moment ago, and goes on with it until it may be told again
		b.reportedEarlier("west")
		b.writeLog(log, b.clean(l, 2))
		b.writeLog(log, b.clean(l, 2))
		b.accepted(bound2, false)
		d.set(b.declarations(linkWith("west", "east", bound+federated)))
		b.writeLog(log, b.clean(l, 2))
		b.accepted(b.token().token, true)
		b.mirrored("west", "web-of-east-east")
	})
	b.t = t
	last := b.token().token
	d.set(b.declarations(""))
	b.writeLog(log, b.once(l))
	if left := b.left("west", "east"); len(left) > 0 {
		t.Errorf("left of west→east: %v", left)
	}
	b.accepted(last, false)
	for _, token := range []string{first.token, last} {
		for _, part := range []string{token, token[len(token)-40:], strings.Split(token, ".")[1]} {
			if strings.Contains(log.String(), part) {
				t.Errorf("logs and reports hold a part of a token:\n%s", log)
			}
		}
	}
}

// reportedEarlier has a destination controller told what it was told ten minutes before that.
func (b *clusterEnv) reportedEarlier(cluster string) {
	b.t.Helper()
	const annotation = "linkwright.dev/credentials"
	deployments := b.client(cluster).AppsV1().Deployments(testbed.ControlPlane)
	d, err := deployments.Get(b.t.Context(), "linkerd-destination", metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	at, marks, _ := strings.Cut(d.Spec.Template.Annotations[annotation], " ")
	moment, err := time.Parse(time.RFC3339, at)
	if err != nil {
		b.t.Fatal(err)
	}
	body := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:"%s %s"}}}}}`, annotation, moment.Add(-10*time.Minute).Format(time.RFC3339), marks)
	if _, err := deployments.Patch(b.t.Context(), d.Name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// jwt is a token that a source uses, and what it says of itself; legacy ones say less.
type jwt struct {
	token    string
	iat, exp int64
	secret   struct{ Name, UID string }
}

func (b *clusterEnv) token() (out jwt) {
	b.t.Helper()
	s, err := b.client("west").CoreV1().Secrets("linkerd-multicluster").Get(b.t.Context(), "cluster-credentials-east", metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	cfg, err := clientcmd.RESTConfigFromKubeConfig(s.Data["kubeconfig"])
	if err != nil {
		b.t.Fatal(err)
	}
	out.token = cfg.BearerToken
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(out.token, ".")[1])
	if err != nil {
		b.t.Fatal(err)
	}
	var c struct {
		Iat, Exp   int64
		Kubernetes struct{ Secret struct{ Name, UID string } } `json:"kubernetes.io"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		b.t.Fatal(err)
	}
	out.iat, out.exp, out.secret = c.Iat, c.Exp, c.Kubernetes.Secret
	return out
}

// another returns a token of the same account that is bound to nothing.
func (b *clusterEnv) another(than jwt) string {
	b.t.Helper()
	got, err := b.client("east").CoreV1().ServiceAccounts("linkwright-access").CreateToken(b.t.Context(), "linkwright.west", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil || got.Status.Token == than.token {
		b.t.Fatalf("another token: %v", err)
	}
	return got.Status.Token
}

// accepted asks east's API server; what it cached of a token that it took may last for seconds.
func (b *clusterEnv) accepted(token string, want bool) {
	b.t.Helper()
	b.eventually(fmt.Sprintf("a token that is accepted: %t", want), func(ctx context.Context) (bool, error) {
		review, err := b.client("east").AuthenticationV1().TokenReviews().Create(ctx,
			&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
		return err == nil && review.Status.Authenticated == want, err
	})
}
