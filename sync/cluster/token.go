package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/object"
)

// Token asks for a token of an account, bound to a Secret by name and uid, if the request names one: with that Secret the
// token ends. The server
// may grant a shorter life than was asked for; the token says so itself.
func (c *Client) Token(ctx context.Context, r object.TokenRequest) (object.Secret, error) {
	token, err := c.token(ctx, r)
	if err != nil {
		return object.Secret{}, fmt.Errorf("issue a token of %s: %w", r.Account, err)
	}
	return token, nil
}

func (c *Client) token(ctx context.Context, r object.TokenRequest) (object.Secret, error) {
	seconds := int64(r.TTL.Seconds())
	body, err := json.Marshal(authenticationv1.TokenRequest{
		TypeMeta: metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "TokenRequest"},
		Spec: authenticationv1.TokenRequestSpec{
			Audiences:         []string{}, // the API server's own
			ExpirationSeconds: &seconds,
			BoundObjectRef:    boundTo(r),
		},
	})
	if err != nil {
		return object.Secret{}, err
	}
	path := []string{"api", "v1", "namespaces", r.Account.Namespace, "serviceaccounts", r.Account.Name, "token"}
	answer, err := c.send(ctx, setPath(c.rest.Post(), path).
		SetHeader("Content-Type", runtime.ContentTypeJSON).SetHeader("Accept", runtime.ContentTypeJSON).Body(body))
	if err != nil {
		return object.Secret{}, err
	}
	raw, err := answer.Raw()
	if err != nil {
		return object.Secret{}, err
	}
	var granted authenticationv1.TokenRequest
	if json.Unmarshal(raw, &granted) != nil || granted.Status.Token == "" {
		return object.Secret{}, errors.New("the answer holds no token") // the cause could quote it
	}
	return object.NewSecret([]byte(granted.Status.Token)), nil
}

func boundTo(r object.TokenRequest) *authenticationv1.BoundObjectReference {
	if r.Secret == (object.Key{}) {
		return nil
	}
	return &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: r.Secret.Name, UID: types.UID(r.UID)}
}

// Lifetime returns what a token says of when it was issued, and when it expires (RFC 7519, iat and exp; kubernetes pkg/serviceaccount/claims.go). It
// is read, not verified; false: it does not say.
func Lifetime(token object.Secret) (issued, expires time.Time, ok bool) {
	var c struct {
		Issued  int64 `json:"iat"`
		Expires int64 `json:"exp"`
	}
	if !token.Claims(&c) || c.Expires <= c.Issued {
		return time.Time{}, time.Time{}, false
	}
	return time.Unix(c.Issued, 0), time.Unix(c.Expires, 0), true
}

// AccountUID returns the uid of the ServiceAccount that a token was issued for (kubernetes pkg/serviceaccount/claims.go). It is read, not verified; empty:
// the token does not say.
func AccountUID(token object.Secret) string {
	var c struct {
		Kubernetes struct {
			Account struct {
				UID string `json:"uid"`
			} `json:"serviceaccount"`
		} `json:"kubernetes.io"`
	}
	_ = token.Claims(&c)
	return c.Kubernetes.Account.UID
}
