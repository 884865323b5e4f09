package enroll

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/sync/source"
)

// gitSecretName is the Secret with the credentials for the repository, in linkwright's namespace of the management cluster.
const gitSecretName = "linkwright-git"

// repository is how linkwright is to read the declarations from its pod.
type repository struct {
	keys     source.Keys // that flags name; empty: none
	known    bool        // the Secret exists
	revision string      // of the ref; empty: nothing was pushed there yet
}

// secret is the name of the Secret with the credentials; empty: none is needed.
func (r repository) secret() string {
	if r.known || len(r.keys) > 0 {
		return gitSecretName
	}
	return ""
}

// readRepository reads the repository as linkwright will: at its address, with the credentials that flags name, or else those that the Secret
// holds already. A repository without the branch is one to which nothing was pushed yet.
func (b *bootstrap) readRepository(ctx context.Context, management admin, branch string) (repository, error) {
	var out repository
	keys, err := b.f.Git.Keys(ctx)
	if err != nil {
		return out, err
	}
	out.keys = keys
	live, err := management.client.CoreV1().Secrets(b.f.Management.Namespace).Get(ctx, gitSecretName, metav1.GetOptions{})
	switch {
	case err == nil:
		out.known = true
		if len(keys) == 0 {
			if keys, err = source.ParseKeys(live.Data); err != nil {
				return out, fmt.Errorf("read Secret %s/%s of the management cluster: %w", live.Namespace, live.Name, err)
			}
		}
	case !apierrors.IsNotFound(err):
		return out, fmt.Errorf("read Secret %s/%s of the management cluster: %w", b.f.Management.Namespace, gitSecretName, explained(err))
	}
	from, err := b.f.Git.OpenWith(keys)
	if err != nil {
		return out, err
	}
	defer from.Close() //nolint:errcheck // nothing is kept
	unpushed := func(err error) bool {
		return errors.Is(err, source.ErrEmpty) || errors.Is(err, source.ErrRefGone) && b.f.Git.Options.Ref == branch
	}
	now, err := from.Poll(ctx)
	if errors.Is(err, source.ErrPathGone) { // the directory is new; the checkout must follow the revision all the same
		now, err = b.pollRevision(ctx, keys)
	}
	out.revision = string(now.Commit)
	if err != nil && !unpushed(err) {
		if len(keys) == 0 {
			err = fmt.Errorf("%w: give linkwright credentials of its own, with --git-credentials-dir or another --git-… flag; it does not use yours", err)
		}
		return out, fmt.Errorf("read the repository as linkwright will: %w", err)
	}
	return out, nil
}

// pollRevision finds the revision of the repository, and reads no file of it.
func (b *bootstrap) pollRevision(ctx context.Context, keys source.Keys) (source.Snapshot, error) {
	from, err := b.f.Git.OpenRevisions(keys)
	if err != nil {
		return source.Snapshot{}, err
	}
	defer from.Close() //nolint:errcheck // nothing is kept
	return from.Poll(ctx)
}

// writeGitSecret puts the credentials that flags name into the Secret.
func (b *bootstrap) writeGitSecret(ctx context.Context, management admin, of repository) error {
	if len(of.keys) == 0 {
		if of.known {
			cli.Say(b.notes, fmt.Sprintf("the management cluster: Secret %s/%s stays, because no --git-… flag names credentials", b.f.Management.Namespace, gitSecretName))
		}
		return nil
	}
	err := management.grant(ctx, []any{corev1.Secret{
		TypeMeta:   typed("v1", "Secret"),
		ObjectMeta: metav1.ObjectMeta{Namespace: b.f.Management.Namespace, Name: gitSecretName},
		Data:       of.keys,
	}}, b.granting(""))
	if errors.As(err, new(differing)) {
		return fmt.Errorf("others wrote Secret %s/%s of the management cluster (Git credentials): replace it with --force, or leave out the --git-… flags to use it as it is", b.f.Management.Namespace, gitSecretName)
	}
	return err
}
