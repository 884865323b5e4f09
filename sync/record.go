package sync

import (
	"context"
	"fmt"
	"maps"
	"reflect"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
)

// look reads some of a cluster: Observe or Live.
type look func(context.Context, []object.Watch) (object.Observation, error)

// readRecord reads what the home cluster remembers: known, where that is still so. Without it no identity can be checked.
func (l *Loop) readRecord(ctx context.Context, look look, known inventory.Record) (inventory.Record, error) {
	key := inventory.RecordKey(l.Owner, l.Home.Namespace)
	seen, err := look(ctx, []object.Watch{
		{Version: "v1", Kind: "ConfigMap", Namespace: key.Namespace, Names: []string{key.Name}, Depth: object.Whole},
	})
	if err != nil {
		return inventory.Record{}, fmt.Errorf("read the home cluster: %w", err)
	}
	if now := seen.Record(key); known.Clusters != nil && now.UID == known.Was.UID && now.ResourceVersion == known.Was.ResourceVersion {
		return known, nil
	}
	return inventory.ReadRecord(key, seen)
}

// recall gives what the home cluster remembers: watched, where that is possible.
func (b *board) recall(ctx context.Context) (inventory.Record, error) {
	look := b.loop.Home.Cluster.Observe
	if b.loop.Changes != nil {
		look = b.loop.Home.Cluster.Live
	}
	return b.loop.readRecord(ctx, look, b.lastRecord())
}

// remember writes a cluster's identity down before the first write to it.
func (b *board) remember(ctx context.Context, c fleet.Cluster, uid string) error {
	known := inventory.Known{UID: uid, Access: c.Spec.Access, Linkerd: c.Spec.Linkerd}
	return b.amend(ctx, func(clusters map[api.ClusterName]inventory.Known) bool {
		if reflect.DeepEqual(clusters[c.Name], known) {
			return false
		}
		clusters[c.Name] = known
		return true
	})
}

// forget drops a cluster that left the fleet and holds nothing of ours any more.
func (b *board) forget(ctx context.Context, name api.ClusterName) error {
	return b.amend(ctx, func(clusters map[api.ClusterName]inventory.Known) bool {
		_, known := clusters[name]
		delete(clusters, name)
		return known
	})
}

// amend changes the record as it is now: other processes may write it, each for its own clusters.
func (b *board) amend(ctx context.Context, change func(map[api.ClusterName]inventory.Known) bool) error {
	b.recording.Lock()
	defer b.recording.Unlock()
	var err error
	for range 5 {
		last := b.lastRecord()
		next := inventory.Record{Clusters: maps.Clone(last.Clusters), Was: last.Was}
		if !change(next.Clusters) {
			return nil
		}
		if next.Was, err = b.loop.writeRecord(ctx, next); err == nil {
			b.setRecord(next)
			return nil
		}
		fresh, readErr := b.loop.readRecord(ctx, b.loop.Home.Cluster.Observe, inventory.Record{})
		if readErr != nil {
			return readErr
		}
		b.setRecord(fresh)
	}
	return fmt.Errorf("write the record of clusters: %w", err)
}

func (b *board) lastRecord() inventory.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.record
}

func (b *board) setRecord(r inventory.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keep(r)
}

// keep takes a record over; b.mu is held.
func (b *board) keep(r inventory.Record) {
	if b.record.Was != r.Was {
		b.derived.carried = nil
	}
	b.record, b.uids = r, make(map[api.ClusterName]string, len(r.Clusters))
	for name, k := range r.Clusters {
		b.uids[name] = k.UID
	}
}

func (l *Loop) writeRecord(ctx context.Context, r inventory.Record) (object.Record, error) {
	o, err := r.Object(l.Owner, l.Home.Namespace)
	if err != nil {
		return object.Record{}, err
	}
	action := object.Create
	if !r.Was.IsZero() {
		action = object.Update
	}
	return l.Home.Cluster.Write(ctx, object.Change{Action: action, Key: o.Key, Object: o, Was: r.Was, Fenced: true})
}
