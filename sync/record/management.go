package record

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// ManagementCluster is where linkwright's own record lives.
type ManagementCluster struct {
	Cluster   object.Cluster
	Namespace string
}

// ErrNotRead means that the management cluster's record could not be read.
var ErrNotRead = errors.New("read the record of clusters")

// readFunc reads some of a cluster: Observe or Live.
type readFunc func(context.Context, []object.Watch) (object.Observation, error)

// read reads the record: last, where that is still so. Without it no identity can be checked.
func (h ManagementCluster) read(ctx context.Context, owner string, look readFunc, last inventory.Record) (inventory.Record, error) {
	key := inventory.RecordKey(owner, h.Namespace)
	observed, err := look(ctx, []object.Watch{
		{Version: "v1", Kind: "ConfigMap", Namespace: key.Namespace, Names: []string{key.Name}, Depth: object.Whole},
	})
	if err != nil {
		return inventory.Record{}, fmt.Errorf("%w: %w", ErrNotRead, err)
	}
	if now := observed.Record(key); last.Clusters != nil && now.UID == last.Was.UID && now.ResourceVersion == last.Was.ResourceVersion {
		return last, nil
	}
	return inventory.ReadRecord(key, observed)
}

// Record returns what the management cluster remembers for an owner; an absent one is empty.
func (h ManagementCluster) Record(ctx context.Context, owner string) (inventory.Record, error) {
	return h.read(ctx, owner, h.Cluster.Observe, inventory.Record{})
}

// amendments is how often a change of the record is tried: each time somebody else was quicker.
const amendments = 20

// ErrUnchanged is returned by the function that changes a record if nothing is to be written. Amend then returns no error.
var ErrUnchanged = errors.New("nothing changes")

// Amend records what a person decided: it reads the record, has it changed, writes it, and begins again if somebody else wrote it meanwhile, so that
// of two people at once neither loses anything. An error of change ends it, and nothing is written.
func (h ManagementCluster) Amend(ctx context.Context, owner string, change func(*inventory.Record) error) error {
	return h.AmendBy(ctx, owner, change, func(ctx context.Context, c object.Change) error {
		_, err := h.Cluster.Write(ctx, c)
		return err
	})
}

// AmendBy is Amend with another way to write the record, such as a dry run.
func (h ManagementCluster) AmendBy(ctx context.Context, owner string, change func(*inventory.Record) error, write func(context.Context, object.Change) error) error {
	var failed error
	for range amendments {
		r, err := h.Record(ctx, owner)
		if err == nil && r.Was.IsZero() {
			err = NoRecord(owner, h.Namespace, "") // commands that write say it first
		}
		if err == nil {
			err = change(&r)
		}
		if errors.Is(err, ErrUnchanged) {
			return nil
		}
		if err != nil {
			return err
		}
		o, err := r.Object(owner, h.Namespace)
		if err != nil {
			return err
		}
		failed = write(ctx, object.Change{
			Action: object.Update, Key: o.Key, Object: o, Was: r.Was, Conditional: true,
			Why: object.Reason{Code: reason.DecisionRecorded, Message: "somebody recorded a decision"},
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

// NoRecord says that an installation has no record. which says which management cluster was asked; empty: people know.
func NoRecord(owner, namespace, which string) error {
	if which != "" {
		which = " " + which
	}
	return fmt.Errorf("there is no record of installation %s in namespace %s of the management cluster%s: %s is missing; check --context, then --owner and --namespace; if nothing was ever applied, run linkwright cluster add --all PATH, and then linkwright sync --repo URL",
		owner, namespace, which, inventory.RecordKey(owner, namespace))
}
