package render

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	rbacac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Account is the key of a source's account in a target. Each link has its own, so that it can be revoked alone.
func Account(owner string, source api.ClusterName) object.Key {
	return object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: owner + "." + string(source)}
}

// TokenSecret is the key of the Secret that holds the account's first token that does not expire.
func TokenSecret(owner string, source api.ClusterName) object.Key {
	k := Account(owner, source)
	return object.Key{Kind: "Secret", Namespace: k.Namespace, Name: k.Name + tokenSuffix}
}

const tokenSuffix = "-token"

// SourceOf returns the source whose end in a target an object belongs to by its name; false for any other object. Names of Secrets
// end in -token, in -token.<n> for the n-th such Secret, or in -<n> for the Secret that the n-th token is bound to.
func SourceOf(owner string, k object.Key) (api.ClusterName, bool) {
	name := k.Name
	switch {
	case k.Kind == "ClusterRoleBinding":
		binding, ok := strings.CutPrefix(name, object.AccessNamespace+".")
		if !ok {
			return "", false
		}
		name = binding
	case k.Kind == "Secret" && k.Namespace == object.AccessNamespace:
		account, ok := accountOf(name)
		if !ok {
			return "", false
		}
		name = account
	case k.Kind != "ServiceAccount" || k.Namespace != object.AccessNamespace:
		return "", false
	}
	name, ok := strings.CutPrefix(name, owner+".")
	source := api.ClusterName(name)
	return source, ok && api.CheckClusterName(source) == nil
}

// accountOf is the account whose token a Secret holds, or whose n-th token is bound to it.
func accountOf(secret string) (string, bool) {
	if account, ok := strings.CutSuffix(secret, tokenSuffix); ok {
		return account, true
	}
	head := strings.TrimRight(secret, "0123456789")
	for _, numbered := range []string{tokenSuffix + ".", "-"} {
		if account, ok := strings.CutSuffix(head, numbered); ok && head != secret {
			return account, true
		}
	}
	return "", false
}

// access renders the source's account, its token and its rights (linkerd2
// multicluster/charts/linkerd-multicluster/templates/remote-access-service-mirror-rbac.yaml).
func access(b *builder) {
	account, tokens := Account(b.owner, b.Link.Source.Name), b.Tokens
	if b.Link.Spec.Credentials.Mode == api.LegacyToken && len(tokens) == 0 {
		tokens = []object.Key{TokenSecret(b.owner, b.Link.Source.Name)}
	}

	sa := coreac.ServiceAccount(account.Name, account.Namespace).WithAutomountServiceAccountToken(false)
	b.add(identity{key: account, version: "v1", phase: object.PhaseRights, meta: &sa.ObjectMetaApplyConfiguration}, sa)

	for _, token := range tokens {
		s := coreac.Secret(token.Name, token.Namespace).WithType(corev1.SecretTypeServiceAccountToken).
			WithAnnotations(map[string]string{corev1.ServiceAccountNameKey: account.Name})
		b.add(identity{key: token, version: "v1", phase: object.PhaseSecrets, meta: &s.ObjectMetaApplyConfiguration}, s)
	}
	for _, k := range b.Generations { // empty Secrets: a token is valid while its Secret exists
		s := coreac.Secret(k.Name, k.Namespace).WithType(corev1.SecretTypeOpaque)
		b.add(identity{key: k, version: "v1", phase: object.PhaseSecrets, meta: &s.ObjectMetaApplyConfiguration}, s)
	}

	name := object.AccessNamespace + "." + account.Name
	crb := rbacac.ClusterRoleBinding(name).
		WithRoleRef(roleRef("ClusterRole", linkerd.RemoteAccessRole)).
		WithSubjects(subject(account))
	b.add(identity{
		key: object.Key{Group: rbacGroup, Kind: "ClusterRoleBinding", Name: name}, version: "v1",
		phase: object.PhaseRights, meta: &crb.ObjectMetaApplyConfiguration,
	}, crb)
}

func roleRef(kind, name string) *rbacac.RoleRefApplyConfiguration {
	return rbacac.RoleRef().WithAPIGroup(rbacGroup).WithKind(kind).WithName(name)
}

func subject(account object.Key) *rbacac.SubjectApplyConfiguration {
	return rbacac.Subject().WithKind("ServiceAccount").WithNamespace(account.Namespace).WithName(account.Name)
}
