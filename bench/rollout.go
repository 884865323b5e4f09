package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/rollout/survey"
)

// What a survey reads.
const surveyNamespaces, surveyDeployments = 50, 10

// takeRollout measures how long it takes until the workloads are known that must restart, after one value changed.
func takeRollout(ctx context.Context, opts options) (err error) {
	bed, err := testbed.Start(ctx, testbed.Options{Names: []string{"east"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	cfg := bed.Clusters[0].Config
	if err := testbed.InstallLinkerd(ctx, cfg, testbed.Linkerd{}); err != nil {
		return err
	}
	injector, err := testbed.StartInjector(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, injector.Close(context.WithoutCancel(ctx))) }()
	requests := &countedRequests{}
	client, err := kubernetes.NewForConfig(requests.counting(cfg))
	if err != nil {
		return err
	}
	if err := makeWorkloads(ctx, client); err != nil {
		return err
	}
	var rows [][]any
	for round := range opts.rounds {
		if err := changeLevel(ctx, client, fmt.Sprintf(`"round-%d"`, round)); err != nil {
			return err
		}
		before, admissions, began := requests.n.Load(), injector.Calls(), time.Now()
		found, err := survey.Read(ctx, survey.Client{Core: client.CoreV1(), Apps: client.AppsV1()}, survey.Options{})
		if err != nil {
			return err
		}
		took, outdated := time.Since(began), 0
		for _, w := range found.Workloads {
			if w.Outdated > 0 {
				outdated++
			}
		}
		rows = append(rows, []any{round + 1, len(found.Workloads), outdated, took, requests.n.Load() - before, injector.Calls() - admissions})
	}
	fmt.Printf("\n%d Deployments in %d namespaces, one value of linkerd-config changed; a survey of all, with an injector in this process\n\n", surveyNamespaces*surveyDeployments, surveyNamespaces)
	table([]any{"round", "workloads", "must restart", "known after", "requests", "dry runs"}, rows)
	return takeRestarts(ctx, client, cfg)
}

// countedRequests counts requests.
type countedRequests struct{ n atomic.Int64 }

func (r *countedRequests) counting(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return countingTripper{r, next} })
	return cfg
}

type countingTripper struct {
	*countedRequests
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t countingTripper) RoundTrip(q *http.Request) (*http.Response, error) {
	t.n.Add(1)
	return t.next.RoundTrip(q)
}

// makeWorkloads makes Deployments of one pod each, and waits for their pods.
func makeWorkloads(ctx context.Context, client kubernetes.Interface) error {
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i := range surveyNamespaces {
		g.Go(func() error {
			ns := fmt.Sprintf("shop-%02d", i)
			if _, err := client.CoreV1().Namespaces().Create(inner, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}); err != nil {
				return err
			}
			for j := range surveyDeployments {
				if _, err := client.AppsV1().Deployments(ns).Create(inner, testbed.MeshedDeployment(fmt.Sprintf("app-%d", j), map[string]string{rollout.Reconcile: rollout.Auto}), metav1.CreateOptions{}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, time.Second, 10*time.Minute, true, func(ctx context.Context) (bool, error) {
		l, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{LabelSelector: rollout.Meshed})
		return err == nil && len(l.Items) >= surveyNamespaces*surveyDeployments, err
	})
}

// changeLevel changes the log level of proxies.
func changeLevel(ctx context.Context, client kubernetes.Interface, level string) error {
	configs := client.CoreV1().ConfigMaps(testbed.ControlPlane)
	live, err := configs.Get(ctx, linkerd.ConfigName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	patch, err := withLevel(live.Data[linkerd.ValuesKey], level)
	if err != nil {
		return err
	}
	_, err = configs.Patch(ctx, linkerd.ConfigName, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
