package memcluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Try verifies a login: the server of the kubeconfig accepts a token of a live Secret of its own.
func (s *Clusters) Try(ctx context.Context, t object.Login) (why *object.Reason, denied bool) {
	var config struct {
		Clusters []struct{ Cluster struct{ Server string } }
		Users    []struct{ User struct{ Token string } }
	}
	if yaml.Unmarshal(t.Config.Bytes(), &config) != nil || len(config.Clusters) != 1 || len(config.Users) != 1 {
		return object.Because(reason.Invalid, "the kubeconfig cannot be used"), false
	}
	for _, name := range s.Names() {
		if c := s.named[name]; c.Address() == config.Clusters[0].Cluster.Server {
			return c.try(ctx, config.Users[0].User.Token)
		}
	}
	return object.Because(reason.Unreachable, "LIST of services at %s: no such host", config.Clusters[0].Cluster.Server), false
}

func (c *Cluster) try(ctx context.Context, token string) (why *object.Reason, denied bool) {
	if c.respond(ctx) != nil {
		return object.Because(reason.Unreachable, "LIST of services at %s: no answer", c.Address()), false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.faults.Unauthorized || !c.issued(token) {
		return object.Because(reason.Unauthorized, "LIST of services at %s: 401 Unauthorized", c.Address()), true
	}
	return nil, false
}

// issued reports whether this cluster issued a token, and the Secret that holds it, or that it is bound to, is live.
func (c *Cluster) issued(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Issuer     string `json:"iss"`
		Secret     string `json:"secret"`
		Kubernetes struct {
			Secret struct {
				UID string `json:"uid"`
			} `json:"secret"`
		} `json:"kubernetes.io"`
	}
	if err != nil || json.Unmarshal(raw, &claims) != nil || claims.Issuer != c.Address() {
		return false
	}
	uids := []string{claims.Secret, claims.Kubernetes.Secret.UID}
	for k, u := range c.objects {
		if k.Kind == "Secret" && k.Group == "" && slices.Contains(uids, string(u.GetUID())) {
			return true
		}
	}
	return false
}
