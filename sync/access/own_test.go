package access

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/cluster"
)

func TestOwnAccessIsDue(t *testing.T) {
	t.Parallel()
	issued := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	o := ManagedAccess{Issued: issued, Expires: issued.Add(3 * time.Hour)}
	for after, want := range map[time.Duration]bool{0: false, 2*time.Hour - time.Second: false, 2 * time.Hour: true, 9 * time.Hour: true} {
		if got := o.Due(issued.Add(after)); got != want {
			t.Errorf("due %s after a token of 3 h was issued: %v, want %v", after, got, want)
		}
	}
}

func TestOwnAccess(t *testing.T) {
	t.Parallel()
	// {"iat":1000,"exp":2000}
	const expires = "e30.eyJpYXQiOjEwMDAsImV4cCI6MjAwMH0.e30"
	at := Location{Server: "https://east:6443"}
	secret := func(mark object.Mark, account, token string) CachedObject {
		raw, err := at.Kubeconfig("east", object.NewSecret([]byte(token)))
		if err != nil {
			t.Fatal(err)
		}
		s := corev1.Secret{Data: map[string][]byte{"kubeconfig": raw}}
		if account != "" {
			s.Annotations = map[string]string{RenewAnnotation: account, WhoseAnnotation: "uid"}
		}
		body, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return CachedObject{object.Record{UID: "u", Mark: mark}, object.NewBody(body)}
	}
	for name, c := range map[string]struct {
		is   CachedObject
		want bool
	}{
		"made by us":                 {secret(object.Ours, "linkwright/linkwright", expires), true},
		"made by others":             {secret(object.Unmarked, "linkwright/linkwright", expires), false},
		"without the annotation":     {secret(object.Ours, "", expires), false},
		"a token that never expires": {secret(object.Ours, "linkwright/linkwright", "plain"), false},
	} {
		own, ok := ManagedAccessIn(c.is, "kubeconfig")
		if ok != c.want || ok && (own.UID != "uid" || !own.At.Same(at) || own.Expires.Unix() != 2000) {
			t.Errorf("OwnAccess(%s) = %v, %v", name, own.Account, ok)
		}
	}
	if _, ok := ManagedAccessIn(secret(object.Ours, "a/b", expires), "other"); ok {
		t.Error("ownAccess of a key that is not there")
	}
}

// An access that cannot be renewed is tried again later, also by who runs once.
func TestRenewalThatFails(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c := newClusters(Options{Owner: "linkwright", Namespace: "linkwright", Timeout: time.Second, Log: slog.New(slog.DiscardHandler)})
	cfg := &rest.Config{Host: "https://127.0.0.1:1"}
	var err error
	if c.management, err = OpenManagementCluster(t.Context(), cfg, cluster.Options{Owner: "linkwright", Namespace: "linkwright", Timeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	defer c.management.Close(t.Context())
	c.want = []fleet.Cluster{{Name: "east", Spec: api.Cluster{Access: api.Access{KubeconfigSecret: &api.SecretKey{Name: "east", Key: "kubeconfig"}}}}, {Name: "west"}}
	due := &ManagedAccess{Issued: now.Add(-2 * time.Hour), Expires: now}
	c.entries = map[api.ClusterName]*entry{"east": {target: target{own: due}}, "west": {target: target{own: due}}} // west is declared otherwise by now
	r := c.Renewal(nil)
	r.Once(t.Context(), now)
	if got := r.failed["east"]; !got.Equal(now) || len(r.failed) != 1 {
		t.Errorf("after a failure: %v", r.failed)
	}
}
