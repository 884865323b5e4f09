package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	lw "github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/report"
)

// clusters are the clusters of a fleet: the source is real, all others are simulated.
type clusters struct {
	registry *cluster.Registry
	played   map[api.ClusterName]*simCluster

	mu    sync.Mutex
	wrote []object.Change // in the source, as they were done
	news  chan struct{}   // something was written
}

// open connects to the source anew, as a process that was just started does.
func open(ctx context.Context, cfg *rest.Config, count *counter, targets map[api.ClusterName]*simCluster) (*clusters, error) {
	c := &clusters{registry: cluster.New(cluster.Options{Wrap: func(_ api.ClusterName, next http.RoundTripper) http.RoundTripper { return count.wrap(next) }}), played: targets, news: make(chan struct{}, 1)}
	return c, c.registry.Spawn(ctx, source, cfg)
}

func (c *clusters) close(ctx context.Context) error { return c.registry.Stop(ctx, source) }

// Follow implements sync.Clusters.
func (*clusters) Follow(context.Context, []fleet.Cluster) map[api.ClusterName]error { return nil }

// WithCluster implements sync.Clusters.
func (c *clusters) WithCluster(ctx context.Context, name api.ClusterName, f func(object.Cluster) error) error {
	if name != source {
		return f(c.played[name])
	}
	return c.registry.WithClient(ctx, name, func(client *cluster.Client) error { return f(recordingCluster{client, c.record}) })
}

// Token implements sync.Clusters.
func (*clusters) Token(context.Context, api.ClusterName, object.TokenRequest) (object.Secret, error) {
	return object.Secret{}, errLegacy
}

var errLegacy = errors.New("tokens of mode LegacyToken are not asked for")

// recordingCluster is a real connection whose writes are recorded.
type recordingCluster struct {
	*cluster.Client
	to func(object.Change)
}

// Write implements object.Cluster.
func (n recordingCluster) Write(ctx context.Context, c object.Change) (object.Record, error) {
	now, err := n.Client.Write(ctx, c)
	if err == nil {
		n.to(c)
	}
	return now, err
}

func (c *clusters) record(ch object.Change) {
	c.mu.Lock()
	c.wrote = append(c.wrote, ch)
	c.mu.Unlock()
	notify(c.news)
}

// notify sends to a channel with room for one value, unless it is full.
func notify(news chan<- struct{}) {
	select {
	case news <- struct{}{}:
	default:
	}
}

// takeWrites returns the writes since its last call.
func (c *clusters) takeWrites() []object.Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.wrote
	c.wrote = nil
	return out
}

// loop is linkwright's own loop with real rendering. With changes it is that of a daemon, without that of a
// single sync.
func loop(d *declared, c lw.Clusters, home *simCluster, changes lw.Changes) *lw.Loop {
	return &lw.Loop{
		Options: lw.Options{Owner: object.DefaultOwner}, Declared: d, Clusters: c, Management: record.ManagementCluster{Cluster: home, Namespace: "linkwright"},
		Renderer: render.New(object.DefaultOwner), Policies: []plan.Policy{plan.Suspend, plan.PrunePolicy},
		Errors: lw.Errors{Explain: cluster.Explain}, Changes: changes, Log: slog.New(slog.DiscardHandler),
	}
}

// failures are the failed writes and denied clusters of a report.
func failures(r report.Report) error {
	var errs []error
	for _, c := range r.Clusters {
		if c.Step.Denied != nil {
			errs = append(errs, fmt.Errorf("%s: %s", c.Name, c.Step.Denied.Message))
		}
		for _, row := range c.Step.Rows {
			if row.Phase == plan.Blocked {
				errs = append(errs, fmt.Errorf("%s is held: %s", row.End, row.Why.Message))
			}
		}
		for _, o := range c.Outcomes {
			errs = append(errs, o.Err)
		}
	}
	if len(errs) > 3 {
		errs = errs[:3]
	}
	return errors.Join(errs...)
}

// unreadyEnds counts the ends that are not ready.
func unreadyEnds(r report.Report) int {
	n := 0
	for _, c := range r.Clusters {
		for _, row := range c.Step.Rows {
			if row.Phase != plan.Ready {
				n++
			}
		}
	}
	return n
}

// readSource reads from the source what targets have, too, to simulate them.
func readSource(ctx context.Context, c *clusters) (seen object.Observation, err error) {
	err = c.registry.WithClient(ctx, source, func(client *cluster.Client) error {
		seen, err = client.Observe(ctx, linkerd.Watches(api.Cluster{}.WithDefaults()))
		return err
	})
	return seen, err
}
