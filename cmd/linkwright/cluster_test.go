package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/cluster"
)

func TestOwnAccessIsDue(t *testing.T) {
	t.Parallel()
	issued := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	o := owned{issued: issued, expires: issued.Add(3 * time.Hour)}
	for after, want := range map[time.Duration]bool{0: false, 2*time.Hour - time.Second: false, 2 * time.Hour: true, 9 * time.Hour: true} {
		if got := o.due(issued.Add(after)); got != want {
			t.Errorf("due %s after a token of 3 h was issued: %v, want %v", after, got, want)
		}
	}
}

func TestOwnAccess(t *testing.T) {
	t.Parallel()
	// {"iat":1000,"exp":2000}
	const expires = "e30.eyJpYXQiOjEwMDAsImV4cCI6MjAwMH0.e30"
	at := location{server: "https://east:6443"}
	secret := func(mark object.Mark, account, token string) kept {
		raw, err := at.kubeconfig("east", object.NewSecret([]byte(token)))
		if err != nil {
			t.Fatal(err)
		}
		s := corev1.Secret{Data: map[string][]byte{"kubeconfig": raw}}
		if account != "" {
			s.Annotations = map[string]string{renewAnnotation: account, whoseAnnotation: "uid"}
		}
		body, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return kept{object.Record{UID: "u", Mark: mark}, object.NewBody(body)}
	}
	for name, c := range map[string]struct {
		is   kept
		want bool
	}{
		"made by us":                 {secret(object.Ours, "linkwright/linkwright", expires), true},
		"made by others":             {secret(object.Unmarked, "linkwright/linkwright", expires), false},
		"without the annotation":     {secret(object.Ours, "", expires), false},
		"a token that never expires": {secret(object.Ours, "linkwright/linkwright", "plain"), false},
	} {
		own, ok := ownAccess(c.is, "kubeconfig")
		if ok != c.want || ok && (own.uid != "uid" || !own.at.same(at) || own.expires.Unix() != 2000) {
			t.Errorf("ownAccess(%s) = %v, %v", name, own.account, ok)
		}
	}
	if _, ok := ownAccess(secret(object.Ours, "a/b", expires), "other"); ok {
		t.Error("ownAccess of a key that is not there")
	}
}

// An access that cannot be renewed is tried again later, also by who runs once.
func TestRenewalThatFails(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c := newClusters(&homeFlags{owner: "linkwright", namespace: "linkwright", timeout: time.Second}, slog.New(slog.DiscardHandler))
	cfg := &rest.Config{Host: "https://127.0.0.1:1"}
	var err error
	if c.home, err = newHome(t.Context(), cfg, cluster.Options{Owner: "linkwright", Timeout: time.Second}, "linkwright"); err != nil {
		t.Fatal(err)
	}
	defer c.home.close(t.Context())
	c.want = []fleet.Cluster{bySecret("east"), {Name: "west"}}
	due := &owned{issued: now.Add(-2 * time.Hour), expires: now}
	c.entries = map[api.ClusterName]*entry{"east": {place: place{own: due}}, "west": {place: place{own: due}}} // west is declared otherwise by now
	r := (&engine{clusters: c, loop: &sync.Loop{}}).renewal()
	r.all(t.Context(), now)
	if got := r.failed["east"]; !got.Equal(now) || len(r.failed) != 1 {
		t.Errorf("after a failure: %v", r.failed)
	}
}

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
	add(exitError, []string{"was not made by this command", "--force"}, "east")
	add(exitError, []string{"known as east"}, "second", "--secret", "own")
	add(exitUsage, []string{"--ttl"}, "east", "--secret", "own", "--ttl", "1m")
	add(exitError, []string{"namespace nowhere is missing"}, "east", "--secret", "own", "--linkerd-namespace", "nowhere")
	if _, err := l.secret("own"); err == nil {
		l.t.Error("there is a Secret after refusals")
	}
	r := add(exitDone, []string{"ClusterRole linkwright written", "name: own"}, "east", "--secret", "own", "--ttl", "1h")
	before, err := l.secret("own")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, more := range []string{"--confine", "--confine=false"} {
		add(exitError, []string{"policies of another installation confine the same account", "linkwright.secrets", "--account"}, "east", "--secret", "blue", "--owner", "blue", more)
	}
	l.annotate("own", "another")
	add(exitError, []string{"leads to another cluster"}, "east", "--secret", "own")
	l.annotate("own", before.Annotations[whoseAnnotation])
	if before, err = l.secret("own"); err != nil {
		l.t.Fatal(err)
	}
	if again := add(exitDone, []string{"holds a token that is good"}, "east", "--secret", "own", "--ttl", "1h"); strings.Contains(again.stderr, "written") {
		l.t.Errorf("done again, it wrote:\n%s", again.stderr)
	}
	if now, _ := l.secret("own"); now.ResourceVersion != before.ResourceVersion {
		l.t.Error("done again, it wrote the Secret")
	}
	l.commit(strings.Replace(r.out, "spec:", "spec:\n  apiServer: "+l.Cluster("east").Config.Host, 1) + "---\n" + l.cluster("west") + link("west", "east", "") + link("east", "west", ""))
	l.must(exitDone, []string{"2 links in place", "0 failed"}, "sync") // controllers changed
	l.renewed(before)
	l.must(exitDone, []string{"2 links in place"}, "sync")
	l.grantedOtherwise(add)
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
	add(exitError, []string{"Role linkerd/linkwright", "--force"}, "east", "--secret", "own")
	add(exitDone, []string{"Role linkerd/linkwright written"}, "east", "--secret", "own", "--force")
}

// annotate has an access Secret say that it leads to a cluster.
func (l *lab) annotate(name, uid string) {
	l.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, whoseAnnotation, uid)
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
	r := renewal{clusters: c, failed: map[api.ClusterName]time.Time{}}
	was := c.own("east")
	if was == nil {
		l.t.Fatal("nobody knows that the token is to be renewed")
	}
	r.all(l.t.Context(), was.issued.Add(39*time.Minute))
	if now, _ := l.secret("own"); now.ResourceVersion != before.ResourceVersion {
		l.t.Errorf("renewed before it was due:\n%s", log.String())
	}
	due := was.issued.Add(41 * time.Minute)
	l.eventually("the token is renewed", func() bool {
		r.failed = map[api.ClusterName]time.Time{} // within a second of its making a new one lives no longer
		r.all(l.t.Context(), due)
		now, err := l.secret("own")
		return err == nil && now.ResourceVersion != before.ResourceVersion
	})
	l.eventually("the connection is exchanged", func() bool {
		c.Follow(l.t.Context(), []fleet.Cluster{east})
		now := c.own("east")
		return now != nil && now.expires.After(was.expires)
	})
	if strings.Contains(log.String(), string(was.token.Bytes())) {
		l.t.Error("the log has a token")
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	cancel()
	r.all(ctx, due.Add(time.Hour)) // somebody says to stop
}
