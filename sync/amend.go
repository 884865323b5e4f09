package sync

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

// ErrNoRecord means that no installation of that owner has written anything yet.
var ErrNoRecord = errors.New("there is no record")

// Record reads what the management cluster remembers for an owner.
func (h Home) Record(ctx context.Context, owner string) (inventory.Record, error) {
	key := inventory.RecordKey(owner, h.Namespace)
	seen, err := h.Cluster.Observe(ctx, []object.Watch{
		{Version: "v1", Kind: key.Kind, Namespace: key.Namespace, Names: []string{key.Name}, Depth: object.Whole},
	})
	if err != nil {
		return inventory.Record{}, fmt.Errorf("read the record of clusters: %w", err)
	}
	r, err := inventory.ReadRecord(key, seen)
	if err == nil && r.Was.IsZero() {
		err = fmt.Errorf("%w %s in the management cluster: nothing of owner %s was applied from namespace %s", ErrNoRecord, key, owner, h.Namespace)
	}
	return r, err
}

// Amend writes down what a person decided: it reads the record, has it changed, writes it, and begins anew if somebody else wrote it
// meanwhile, so that of two people at once neither loses anything. An error of change ends it.
func (h Home) Amend(ctx context.Context, owner string, change func(*inventory.Record) error) error {
	var failed error
	for range 5 {
		r, err := h.Record(ctx, owner)
		if err == nil {
			err = change(&r)
		}
		if err != nil {
			return err
		}
		o, err := r.Object(owner, h.Namespace)
		if err != nil {
			return err
		}
		_, failed = h.Cluster.Write(ctx, object.Change{
			Action: object.Update, Key: o.Key, Object: o, Was: r.Was, Fenced: true,
			Why: object.Reason{Code: "Decided", Message: "somebody decided"},
		})
		if failed == nil || !apierrors.IsConflict(failed) {
			break
		}
	}
	if failed != nil {
		return fmt.Errorf("write the record of clusters: %w", failed)
	}
	return nil
}
