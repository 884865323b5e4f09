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

	// settled is for how long nothing may come or go, until a cluster counts as quiet.
	settled = 150 * time.Millisecond
	// resetDeadline bounds a reset. Who asked for it starts another cluster then.
	resetDeadline = 30 * time.Second
)

// own are keys that the cluster's components write for as long as they run: heartbeats, and events of what they did.
var own = []string{registry + "leases/kube-", registry + "minions/", registry + "events/"}

// store is what etcd holds of a cluster, and what it held when the cluster was ready.
type store struct {
	etcd  *clientv3.Client
	first map[string][]byte
}

// keep remembers what is there, once nothing comes or goes any more.
func (s *store) keep(ctx context.Context) error {
	for {
		before, err := s.read(ctx)
		if err != nil {
			return err
		}
		if err := rest(ctx); err != nil {
			return fmt.Errorf("wait until the new cluster is quiet: %w", err)
		}
		if s.first, err = s.read(ctx); err != nil {
			return err
		}
		if len(foreign(changes(before, s.first))) == 0 {
			return nil
		}
	}
}

// reset makes the cluster hold what it held when keep was called. The API server and its clients hear of each object that goes or changes
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
		back := changes(now, s.first)
		if len(foreign(back)) == 0 {
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
		if err := rest(ctx); err != nil {
			return fmt.Errorf("wait until %v stay away: %w", foreign(back), err)
		}
	}
	return unserved(ctx, f, groups)
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

// foreign are the keys that are not the components' own.
func foreign(values map[string][]byte) []string {
	var out []string
	for key := range values {
		if !isOwn(key) {
			out = append(out, key)
		}
	}
	return out
}

func isOwn(key string) bool {
	for _, prefix := range own {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// rest waits for as long as settled.
func rest(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(settled):
		return nil
	}
}

// unserved waits until the API server serves none of the groups. Who installed their definitions anew before would be answered by those that
// are gone.
func unserved(ctx context.Context, f files, groups map[string]bool) error {
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
			if err := rest(ctx); err != nil {
				return fmt.Errorf("wait until %s is not served: %w", group, err)
			}
		}
	}
	return nil
}
