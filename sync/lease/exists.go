package lease

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Exists says whether there is such a lease: where nobody ever took it, nobody can hold it.
func (l Lock) Exists(ctx context.Context) (bool, error) {
	_, err := l.Client.Leases(l.Namespace).Get(ctx, l.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read lease %s/%s: %w", l.Namespace, l.Name, err)
	}
	return true, nil
}
