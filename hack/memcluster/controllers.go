package memcluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/linkwright/linkwright/object"
)

// controllers is the field manager of Kubernetes' own controllers.
const controllers = "kube-controller-manager"

const tokenType = "kubernetes.io/service-account-token"

// authority is the certificate authority that every cluster publishes; nothing verifies it.
const authority = "-----BEGIN CERTIFICATE-----\nbWVtY2x1c3Rlcg==\n-----END CERTIFICATE-----\n"

// runControllers runs the controllers for an object that was created or changed.
func (c *Cluster) runControllers(key object.Key, was, now *unstructured.Unstructured) {
	switch {
	case key == object.Key{Kind: "Namespace", Name: key.Name}:
		c.addNamespaceObjects(key.Name)
	case key.Kind == "Secret" && key.Group == "" && now.Object["type"] == tokenType && now.Object["data"] == nil:
		c.after(c.opts.TokenAfter, func() { c.issueToken(key, now) })
	case key.Kind == "Deployment" && key.Group == "apps" && (was == nil || was.GetGeneration() != now.GetGeneration()):
		c.after(c.opts.ReadyAfter, func() { c.makeAvailable(key, now) })
	}
}

// after runs a controller at once or later, with the lock held; below zero: never.
func (c *Cluster) after(d time.Duration, do func()) {
	switch {
	case d == 0:
		do()
	case d > 0:
		time.AfterFunc(d, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			do()
		})
	}
}

// addNamespaceObjects creates the objects that Kubernetes creates in every namespace.
func (c *Cluster) addNamespaceObjects(ns string) {
	for _, content := range []map[string]any{
		{"kind": "ConfigMap", "metadata": map[string]any{"name": "kube-root-ca.crt", "namespace": ns}, "data": map[string]any{"ca.crt": authority}},
		{"kind": "ServiceAccount", "metadata": map[string]any{"name": "default", "namespace": ns}},
	} {
		content["apiVersion"] = "v1"
		u := &unstructured.Unstructured{Object: content}
		if c.objects[keyOf(u)] == nil {
			_, err := c.update(u, writer{name: controllers})
			c.must(err)
		}
	}
}

// unchanged is the live object, if it is the same one and has not changed.
func (c *Cluster) unchanged(key object.Key, seen *unstructured.Unstructured) *unstructured.Unstructured {
	now := c.objects[key]
	if now == nil || now.GetUID() != seen.GetUID() || now.GetGeneration() != seen.GetGeneration() {
		return nil
	}
	return now.DeepCopy()
}

// issueToken writes the token of its account to a Secret, if the account exists.
func (c *Cluster) issueToken(key object.Key, seen *unstructured.Unstructured) {
	next := c.unchanged(key, seen)
	if next == nil {
		return
	}
	name := next.GetAnnotations()["kubernetes.io/service-account.name"]
	account := c.objects[object.Key{Kind: "ServiceAccount", Namespace: key.Namespace, Name: name}]
	if account == nil {
		c.remove(key, false)
		return
	}
	annotations := next.GetAnnotations()
	annotations["kubernetes.io/service-account.uid"] = string(account.GetUID())
	next.SetAnnotations(annotations)
	token := c.newToken(map[string]any{"sub": "system:serviceaccount:" + key.Namespace + ":" + name, "secret": string(next.GetUID())})
	next.Object["data"] = map[string]any{}
	for k, v := range map[string]string{"token": token, "ca.crt": authority, "namespace": key.Namespace} {
		next.Object["data"].(map[string]any)[k] = base64.StdEncoding.EncodeToString([]byte(v)) //nolint:forcetypeassert // made above
	}
	_, err := c.update(next, writer{name: controllers})
	c.must(err)
}

// newToken makes a token with an invalid signature.
func (c *Cluster) newToken(claims map[string]any) string {
	claims["iss"] = c.Address()
	payload, err := json.Marshal(claims)
	c.must(err)
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"none"}`)) + "." + part(payload) + "." + part([]byte("unsigned"))
}

// Token issues a token as requested.
func (c *Cluster) Token(ctx context.Context, r object.TokenRequest) (object.Secret, error) {
	if err := c.connect(ctx, "token"); err != nil {
		return object.Secret{}, fmt.Errorf("issue a token of %s: %w", r.Account, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	account, bound := c.objects[r.Account], c.objects[r.Secret]
	if account == nil || bound == nil || string(bound.GetUID()) != r.UID {
		missing := apierrors.NewNotFound(schema.GroupResource{Resource: "serviceaccounts"}, r.Account.Name)
		return object.Secret{}, fmt.Errorf("issue a token of %s: %w", r.Account, missing)
	}
	now := time.Now()
	return object.NewSecret([]byte(c.newToken(map[string]any{
		"iat": now.Unix(), "exp": now.Add(r.TTL).Unix(),
		"kubernetes.io": map[string]any{
			"namespace":      r.Account.Namespace,
			"serviceaccount": map[string]any{"name": account.GetName(), "uid": string(account.GetUID())},
			"secret":         map[string]any{"name": bound.GetName(), "uid": string(bound.GetUID())},
		},
	}))), nil
}

// makeAvailable makes a Deployment available.
func (c *Cluster) makeAvailable(key object.Key, seen *unstructured.Unstructured) {
	next := c.unchanged(key, seen)
	if next == nil {
		return
	}
	replicas, ok, _ := unstructured.NestedInt64(next.Object, "spec", "replicas")
	if !ok {
		replicas = 1
	}
	next.Object["status"] = map[string]any{
		"observedGeneration": next.GetGeneration(),
		"replicas":           replicas, "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
		"conditions": []any{
			map[string]any{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
			map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
		},
	}
	_, err := c.update(next, writer{name: controllers, subresource: "status"})
	c.must(err)
}

// deleteTokens deletes the token Secrets of an account that is gone.
func (c *Cluster) deleteTokens(key object.Key, gone *unstructured.Unstructured) {
	if key.Group != "" || key.Kind != "ServiceAccount" {
		return
	}
	for k, u := range c.objects {
		a := u.GetAnnotations()
		if k.Kind == "Secret" && k.Namespace == key.Namespace && u.Object["type"] == tokenType &&
			a["kubernetes.io/service-account.name"] == gone.GetName() && a["kubernetes.io/service-account.uid"] == string(gone.GetUID()) {
			c.remove(k, false)
		}
	}
}
