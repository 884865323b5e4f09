package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	registry = "/registry/" // what the API server stores is below
	crds     = registry + "apiextensions.k8s.io/customresourcedefinitions/"

	// recheckDelay is for how long no object may be created, changed or deleted before a reset is done.
	recheckDelay = 150 * time.Millisecond
	// resetDeadline bounds a reset. A supervisor that misses it ends, and its cluster with it.
	resetDeadline = 30 * time.Second
)

// componentKeys are prefixes of keys that the cluster's components write for as long as they run: heartbeats, and Events of what they did.
var componentKeys = []string{registry + "leases/kube-", registry + "minions/", registry + "events/"}

// store is what etcd holds of a cluster, and what it held when the cluster was ready.
type store struct {
	etcd     *clientv3.Client
	baseline map[string][]byte
}

// saveBaseline saves what is there, once nothing is created, changed or deleted any more.
func (s *store) saveBaseline(ctx context.Context) error {
	for {
		before, err := s.read(ctx)
		if err != nil {
			return err
		}
		if err := wait(ctx); err != nil {
			return fmt.Errorf("wait until nothing changes in the new cluster: %w", err)
		}
		if s.baseline, err = s.read(ctx); err != nil {
			return err
		}
		if len(unexpected(changes(before, s.baseline))) == 0 {
			return nil
		}
	}
}

// reset makes the cluster hold what it held when saveBaseline was called. The API server and its clients hear of each object that goes or changes
// as of any other. Finalizers do not count, and what controllers make while they hear of it goes as well.
func (s *store) reset(ctx context.Context, f files) error {
	ctx, cancel := context.WithTimeoutCause(ctx, resetDeadline, errors.New("not done in time"))
	defer cancel()
	groups := map[string]bool{}
	for {
		now, err := s.read(ctx)
		if err != nil {
			return err
		}
		back := changes(now, s.baseline)
		if len(unexpected(back)) == 0 {
			break
		}
		for key := range back {
			if name, ok := strings.CutPrefix(key, crds); ok {
				_, group, _ := strings.Cut(name, ".")
				groups[group] = true
			}
		}
		if err := s.write(ctx, back); err != nil {
			return err
		}
		if err := wait(ctx); err != nil {
			return fmt.Errorf("wait until %v stay away: %w", unexpected(back), err)
		}
	}
	return waitUntilUnserved(ctx, f, groups)
}

func (s *store) read(ctx context.Context) (map[string][]byte, error) {
	answer, err := s.etcd.Get(ctx, registry, clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("read etcd: %w", err)
	}
	out := make(map[string][]byte, len(answer.Kvs))
	for _, kv := range answer.Kvs {
		out[string(kv.Key)] = kv.Value
	}
	return out, nil
}

// write puts each value, and deletes the keys without one, at once.
func (s *store) write(ctx context.Context, values map[string][]byte) error {
	var ops []clientv3.Op
	for key, value := range values {
		if value == nil {
			ops = append(ops, clientv3.OpDelete(key))
		} else {
			ops = append(ops, clientv3.OpPut(key, string(value)))
		}
	}
	_, err := s.etcd.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return fmt.Errorf("write etcd: %w", err)
	}
	return nil
}

// changes are the values to put for from to become to; nil means delete.
func changes(from, to map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for key, value := range to {
		if old, ok := from[key]; !ok || !bytes.Equal(old, value) {
			out[key] = value
		}
	}
	for key := range from {
		if _, ok := to[key]; !ok {
			out[key] = nil
		}
	}
	return out
}

// unexpected are the keys that no component writes by itself.
func unexpected(values map[string][]byte) []string {
	var out []string
	for key := range values {
		if !isComponentKey(key) {
			out = append(out, key)
		}
	}
	return out
}

func isComponentKey(key string) bool {
	for _, prefix := range componentKeys {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// wait waits for recheckDelay.
func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(recheckDelay):
		return nil
	}
}

// waitUntilUnserved waits until the API server no longer serves these groups. Otherwise a test that installs the same CRDs again could still reach
// the deleted ones.
func waitUntilUnserved(ctx context.Context, f files, groups map[string]bool) error {
	c, err := client(f)
	if err != nil {
		return err
	}
	for group := range groups {
		for {
			err := c.Discovery().RESTClient().Get().AbsPath("/apis/" + group).Do(ctx).Error()
			if apierrors.IsNotFound(err) {
				break
			}
			if err := wait(ctx); err != nil {
				return fmt.Errorf("wait until %s is not served: %w", group, err)
			}
		}
	}
	return nil
}
