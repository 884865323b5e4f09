package sync

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
)

// skewed is a rig whose east has a clock of its own: it stamps what it issues by that, and refuses by that what has ended.
type skewed struct {
	*memoryEnv
	by     time.Duration // ahead of linkwright
	issued []time.Time   // by this process's clock
}

// Token implements Clusters.
func (s *skewed) Token(ctx context.Context, name api.ClusterName, q object.TokenRequest) (object.Secret, error) {
	token, err := s.memoryEnv.Token(ctx, name, q)
	if err != nil {
		return token, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.issued = append(s.issued, time.Now())
	return stamped(token, s.by)
}

// stamped returns a token that a server issues whose clock goes ahead by so much.
func stamped(token object.Secret, by time.Duration) (object.Secret, error) {
	parts := strings.Split(string(token.Bytes()), ".")
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	claims := map[string]any{}
	if err == nil {
		err = json.Unmarshal(raw, &claims)
	}
	for _, at := range []string{"iat", "exp"} {
		if moment, ok := claims[at].(float64); ok {
			claims[at] = int64(moment) + int64(by.Seconds())
		}
	}
	if err == nil {
		raw, err = json.Marshal(claims)
	}
	parts[1] = base64.RawURLEncoding.EncodeToString(raw)
	return object.NewSecret([]byte(strings.Join(parts, "."))), err
}

// Try implements Trier.
func (s *skewed) Try(ctx context.Context, t object.Login) (why *object.Reason, refused bool) {
	var config struct {
		Users []struct{ User struct{ Token string } }
	}
	if json.Unmarshal(t.Config.Bytes(), &config) == nil && len(config.Users) == 1 && s.ended(config.Users[0].User.Token) {
		return object.Because(reason.Unauthorized, "401 Unauthorized: the token has expired"), true
	}
	return s.Clusters.Try(ctx, t)
}

// ended is what east says of a token now; of none, too.
func (s *skewed) ended(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return true
	}
	var c struct{ Exp int64 }
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	return err != nil || json.Unmarshal(raw, &c) != nil || time.Now().Add(s.by).Unix() >= c.Exp
}

// inUse returns the token that west logs in by.
func (s *skewed) inUse() string {
	s.t.Helper()
	secret := s.Cluster("west").Object(object.Key{Kind: "Secret", Namespace: "linkerd-multicluster", Name: "cluster-credentials-east"})
	body, err := json.Marshal(secret)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(linkerd.TokenOf(object.NewBody(body)).Bytes())
}

// lives lets time go by, minute by minute: at none of them the source holds a token that has ended.
func (s *skewed) lives(d time.Duration) {
	s.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Minute) {
		if synctest.Wait(); s.ended(s.inUse()) {
			s.t.Fatalf("west's token has ended, %v after the last was issued", time.Since(s.issued[len(s.issued)-1]))
		}
	}
}

// since are the times between tokens since there were so many; all of them are alike.
func (s *skewed) since(n int, want time.Duration) {
	s.t.Helper()
	if len(s.issued) < n+3 {
		s.t.Fatalf("%d tokens since the %d-th", len(s.issued)-n, n)
	}
	for i := n + 1; i < len(s.issued); i++ {
		if got := s.issued[i].Sub(s.issued[i-1]); got < want || got > want+2*time.Minute {
			s.t.Errorf("token %d was asked for %v after the one before, want %v", i+1, got, want)
		}
	}
}

const shortLived = "---\napiVersion: " + api.GroupVersion + "\nkind: Link\nmetadata: {name: west-east}\n" +
	"spec: {source: west, target: east, credentials: {mode: Bound, ttl: 1h, preflight: Require}}\n"

// TestSkewedClocks: the clocks of a target and of linkwright are ten minutes apart, either way, and then the other way round. Tokens
// that live for an hour are renewed once in their life, and none that has ended is left in use, also where linkwright was down.
func TestSkewedClocks(t *testing.T) {
	for name, by := range map[string]time.Duration{"ahead": 10 * time.Minute, "behind": -10 * time.Minute, "in step": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &skewed{memoryEnv: newMemoryEnv(t, memcluster.Options{}, shortLived), by: by}
				l := s.loop()
				l.Changes, l.Clusters, l.Verifier = s, s, s
				stop := s.run(l)
				defer func() { stop() }()
				s.clean(30*time.Second, 2)
				s.lives(5 * time.Hour)
				s.since(0, 40*time.Minute+by)

				s.mu.Lock()
				s.by = -by // somebody sets the clock, too far
				s.mu.Unlock()
				s.clean(2*time.Minute, 2)
				s.lives(2 * time.Hour)
				before := len(s.issued)
				s.lives(5 * time.Hour)
				s.since(before, 40*time.Minute-by)

				stop()
				time.Sleep(2 * time.Hour)
				if !s.ended(s.inUse()) {
					t.Fatal("the token outlived the time that linkwright was down: nothing is shown")
				}
				before = len(s.issued)
				l = s.loop()
				l.Changes, l.Clusters, l.Verifier = s, s, s
				stop = s.run(l)
				s.clean(time.Minute, 2)
				if s.lives(time.Minute); len(s.issued) != before+1 {
					t.Errorf("%d tokens were issued once linkwright was back, want 1", len(s.issued)-before)
				}
			})
		})
	}
}
