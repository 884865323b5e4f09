package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/linkwright/linkwright/hack/testbed"
)

// setUp makes the Services of both clusters, and the links.
func (b *mirrorBed) setUp(ctx context.Context) error {
	for _, c := range b.clusters.Clusters {
		if err := testbed.InstallLinkerd(ctx, c.Config, testbed.Linkerd{NoGateway: true}); err != nil {
			return err
		}
		client := kubernetes.NewForConfigOrDie(c.Config)
		if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range mirrorServices {
		g.Go(func() error { return createService(ctx, b.west, fmt.Sprintf("local%04d", i), nil) })
		name, labels := serviceName(i), map[string]string(nil)
		switch {
		case i < mirrorExports:
			labels = map[string]string{testbed.ExportedLabel: "true"}
		case i >= mirrorServices-mirrorBulk:
			name, labels = "bulk"+name, map[string]string{testbed.ExportedLabel: "bulk"}
		}
		g.Go(func() error { return createService(ctx, b.east, name, labels) })
	}
	for _, link := range linkNames() {
		g.Go(func() error { return b.createLink(ctx, link) })
	}
	return g.Wait()
}

func createService(ctx context.Context, client *kubernetes.Clientset, name string, labels map[string]string) error {
	s, e := exportedService(name, labels)
	if _, err := client.CoreV1().Services("shop").Create(ctx, s, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := client.CoreV1().Endpoints("shop").Create(ctx, e, metav1.CreateOptions{})
	return err
}

func (b *mirrorBed) createLink(ctx context.Context, link string) error {
	kubeconfig, err := os.ReadFile(b.clusters.Cluster("east").Kubeconfig)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cluster-credentials-" + link}, Data: map[string][]byte{"kubeconfig": kubeconfig}}
	if _, err := b.west.CoreV1().Secrets(testbed.Multicluster).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	probe := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "probe-" + link}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "mc-probe", Port: 4191}}}}
	if _, err := b.west.CoreV1().Services(testbed.Multicluster).Create(ctx, probe, metav1.CreateOptions{}); err != nil {
		return err
	}
	matching := func(key, value string) map[string]any {
		return map[string]any{"matchLabels": map[string]any{key: value}}
	}
	_, err = b.links().Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "multicluster.linkerd.io/v1alpha3", "kind": "Link", "metadata": map[string]any{"name": link},
		"spec": map[string]any{
			"targetClusterName": link, "targetClusterDomain": "cluster.local", "targetClusterLinkerdNamespace": "linkerd", "clusterCredentialsSecret": secret.Name,
			"gatewayAddress": "192.0.2.10", "gatewayPort": "4143", "gatewayIdentity": "gateway.id",
			"probeSpec":                map[string]any{"path": "/ready", "port": "4191", "period": "3s", "failureThreshold": "3"},
			"selector":                 matching(testbed.ExportedLabel, "true"),
			"remoteDiscoverySelector":  matching(testbed.ExportedLabel, "remote-discovery"),
			"federatedServiceSelector": matching(testbed.FederatedLabel, "member"),
		},
	}}, metav1.CreateOptions{})
	return err
}

func (b *mirrorBed) links() dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(b.clusters.Cluster("west").As("bench")).
		Resource(schema.GroupVersionResource{Group: "multicluster.linkerd.io", Version: "v1alpha3", Resource: "links"}).Namespace(testbed.Multicluster)
}

// readyMirrors are the mirrors of the source that have a ready address.
type readyMirrors struct {
	mu      sync.Mutex
	names   map[string]bool
	changed chan struct{}
}

func watchMirrors(ctx context.Context, west *kubernetes.Clientset) (*readyMirrors, error) {
	r := &readyMirrors{names: map[string]bool{}, changed: make(chan struct{}, 1)}
	events, err := west.CoreV1().Endpoints("shop").Watch(ctx, metav1.ListOptions{LabelSelector: "mirror.linkerd.io/mirrored-service=true"})
	if err != nil {
		return nil, err
	}
	go func() {
		for e := range events.ResultChan() {
			o, ok := e.Object.(*corev1.Endpoints) //nolint:staticcheck // what Linkerd's clients read
			if !ok {
				continue
			}
			r.mu.Lock()
			if e.Type != watch.Deleted && len(o.Subsets) == 1 && len(o.Subsets[0].Addresses) > 0 {
				r.names[o.Name] = true
			} else {
				delete(r.names, o.Name)
			}
			r.mu.Unlock()
			select {
			case r.changed <- struct{}{}:
			default:
			}
		}
	}()
	return r, nil
}

func (r *readyMirrors) count(prefix string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.names {
		if strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}

// await waits until so many mirrors are ready whose names begin with prefix.
func (r *readyMirrors) await(ctx context.Context, count int, prefix string) error {
	return r.until(ctx, func() bool { return r.count(prefix) >= count }, fmt.Sprintf("%d mirrors %s* ready", count, prefix))
}

// awaitGone waits until none is ready.
func (r *readyMirrors) awaitGone(ctx context.Context, prefix string) error {
	return r.until(ctx, func() bool { return r.count(prefix) == 0 }, "no mirror "+prefix+"* ready")
}

func (r *readyMirrors) until(ctx context.Context, holds func() bool, what string) error {
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return fmt.Errorf("not after 2 minutes: %s (%d ready)", what, r.count(""))
		case <-r.changed:
		}
	}
	return nil
}

// mirrorProcess is one linkwright mirror.
type mirrorProcess struct {
	cmd   *exec.Cmd
	ended chan struct{}

	mu    sync.Mutex
	leads int
	last  []string
}

// start starts a mirror of some links, or of all.
func (b *mirrorBed) start(ctx context.Context, links ...string) (*mirrorProcess, error) {
	args := append([]string{"mirror", "--listen", "127.0.0.1:0", "--kubeconfig", b.clusters.Cluster("west").Kubeconfig}, links...)
	p := &mirrorProcess{cmd: exec.CommandContext(ctx, b.program, args...), ended: make(chan struct{})} //nolint:gosec // the program that is measured
	p.cmd.Env = append(os.Environ(), "HTTP_PROXY="+b.gateways.address)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(stderr)
	return p, nil
}

// lead starts a mirror of some links, and waits until it leads all of them.
func (b *mirrorBed) lead(ctx context.Context, links ...string) (*mirrorProcess, error) {
	p, err := b.start(ctx, links...)
	if err != nil {
		return nil, err
	}
	if err := p.awaitLeading(ctx, len(links)); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// read counts in the log how many links the process leads.
func (p *mirrorProcess) read(log io.Reader) {
	defer close(p.ended)
	for lines := bufio.NewScanner(log); lines.Scan(); {
		p.mu.Lock()
		if strings.Contains(lines.Text(), `msg="leads the link"`) {
			p.leads++
		}
		p.last = append(p.last, lines.Text())
		p.mu.Unlock()
	}
}

func (p *mirrorProcess) awaitLeading(ctx context.Context, links int) error {
	for begun := time.Now(); ; pause(ctx, 5*time.Millisecond) {
		p.mu.Lock()
		leads, last := p.leads, p.last
		p.mu.Unlock()
		if leads >= links {
			return nil
		}
		if time.Since(begun) > time.Minute || ctx.Err() != nil {
			return fmt.Errorf("the mirror leads %d of %d links after a minute:\n%s", leads, links, strings.Join(last, "\n"))
		}
	}
}

// stop ends the process, and waits until it has ended.
func (p *mirrorProcess) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.ended
	_ = p.cmd.Wait() // its exit code says nothing here
}

// memoryOf returns the memory of processes in MiB: resident, and what of it no file backs.
func memoryOf(all []*mirrorProcess) (resident, anonymous float64, err error) {
	for _, p := range all {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
		if err != nil {
			return 0, 0, err
		}
		for line := range strings.Lines(string(raw)) {
			var kib float64
			if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
				resident += kib / 1024
			}
			if _, err := fmt.Sscanf(line, "RssAnon: %f kB", &kib); err == nil {
				anonymous += kib / 1024
			}
		}
	}
	return resident, anonymous, nil
}

// processorOf is the time of a core that processes have used.
func processorOf(all []*mirrorProcess) (used time.Duration) {
	for _, p := range all {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		if err != nil {
			return 0
		}
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		var user, system int64
		_, _ = fmt.Sscan(fields[11], &user)
		_, _ = fmt.Sscan(fields[12], &system)
		used += time.Duration(user+system) * 10 * time.Millisecond
	}
	return used
}
