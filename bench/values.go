package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/render/values"
)

// Edits of one cluster. With more than five linkwright would leave the ConfigMap alone for a while.
const editsAlone, editsTogether = 3, 2

// levelPath is the field that is edited, and declaredLevel its declared value.
const levelPath, declaredLevel = "proxy.logLevel", `"debug"`

// proxyLevels declares it for all clusters.
const proxyLevels = "---\napiVersion: " + api.GroupVersion + "\nkind: ProxyConfig\nmetadata: {name: all}\nspec: {clusters: {}, proxy: {logLevel: debug}}\n"

// takeValues edits a declared value of Linkerd's configuration by hand, and measures how long it takes until another client's watch shows it set back.
func takeValues(ctx context.Context, opts options) (err error) {
	if err := checkMemory(opts.clusters * need); err != nil {
		return err
	}
	r, err := newRing(ctx, opts.clusters, proxyLevels)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.daemon.stop(), r.bed.Close()) }()
	fmt.Printf("\n%d clusters; from the moment an edit by hand is sent until another client's watch shows the declared value\n\n", opts.clusters)
	var rows [][]any
	for _, turn := range []struct {
		what            string
		edits, together int
	}{{"one cluster at a time", editsAlone, 1}, {"all clusters at once", editsTogether, opts.clusters}} {
		took, err := r.editValues(ctx, turn.edits, turn.together)
		if err != nil {
			return err
		}
		rows = append(rows, []any{turn.what, len(took), quantile(took, 0.5), quantile(took, 0.99), quantile(took, 1)})
	}
	table([]any{"what changes", "edits", "p50", "p99", "most"}, rows)
	return nil
}

// editValues edits the value in all clusters, in so many at once.
func (r *clusterRing) editValues(ctx context.Context, edits, together int) (all []time.Duration, err error) {
	took := make([][]time.Duration, len(r.bed.Clusters))
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(together)
	for i, c := range r.bed.Clusters {
		g.Go(func() (err error) {
			took[i], err = editValues(inner, c, edits)
			return err
		})
	}
	err = g.Wait()
	return slices.Concat(took...), err
}

// editValues edits the value in one cluster, each time once it is set back.
func editValues(ctx context.Context, c *testbed.Cluster, edits int) (took []time.Duration, err error) {
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	configs := client.CoreV1().ConfigMaps(testbed.ControlPlane)
	events, err := configs.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + linkerd.ConfigName})
	if err != nil {
		return nil, err
	}
	defer events.Stop()
	for n := range edits {
		live, err := configs.Get(ctx, linkerd.ConfigName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		edited, err := withLevel(live.Data[linkerd.ValuesKey], fmt.Sprintf(`"edit-%d"`, n))
		if err != nil {
			return nil, err
		}
		began := time.Now()
		now, err := configs.Patch(ctx, linkerd.ConfigName, types.MergePatchType, edited, metav1.PatchOptions{FieldManager: "kubectl-edit"})
		if err != nil {
			return nil, err
		}
		if err := waitSetBack(ctx, events.ResultChan(), now.ResourceVersion); err != nil {
			return nil, fmt.Errorf("cluster %s, edit %d: %w", c.Name, n, err)
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// withLevel returns a merge patch of the values with another level.
func withLevel(text, level string) ([]byte, error) {
	doc, err := values.Parse(text)
	if err != nil {
		return nil, err
	}
	if doc, err = doc.Set(levelPath, level); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"data":{%q:%s}}`, linkerd.ValuesKey, values.JSON(doc.String())), nil
}

// waitSetBack waits until a watch shows an edit, and after it the declared value.
func waitSetBack(ctx context.Context, events <-chan watch.Event, edit string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	seen := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, open := <-events:
			cm, ok := e.Object.(*corev1.ConfigMap)
			if !open || !ok {
				return errors.New("the watch ended")
			}
			seen = seen || cm.ResourceVersion == edit
			doc, err := values.Parse(cm.Data[linkerd.ValuesKey])
			if level, _ := doc.Value(levelPath); err == nil && seen && level == declaredLevel {
				return nil
			}
		}
	}
}
