package history

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	live "github.com/linkwright/linkwright/sync/cluster"
)

// envReal is how many histories are played on real API servers.
const envReal = "HISTORIES_REAL"

// realSlice is how many of them a test of every day plays.
const realSlice = 4

// apiServer is a real API server. Nothing happens there by itself: its controllers are stopped, and the history plays them.
type apiServer struct {
	ctx     context.Context // of one test
	client  *live.Client
	foreign dynamic.Interface
}

// The simulator and real API servers agree after every step of random histories: on marks, digests, what goes, and on what is
// to be done next.
func TestRealHistories(t *testing.T) {
	testbed.Need(t)
	count, from, began := number(t, envReal, realSlice), number(t, envSeed, 0), time.Now()
	p := New()
	p.Servers = servers(t, "first", "second")
	for i := range count {
		events := tame(Generate(from + i))
		if why := p.Play(events); why != "" {
			t.Fatalf("seed %d: %s\nits script:\n%s", from+i, why, Script(events))
		}
	}
	t.Logf("%d histories from seed %d, %d writes, %.2f histories a second", count, from, p.Writes, float64(count)/time.Since(began).Seconds())
}

// tame leaves out what cannot be done to a server between two looks, or takes it long; there are two clusters.
func tame(events []Event) []Event {
	out := slices.DeleteFunc(slices.Clone(events), func(e Event) bool {
		wild := func(do string) bool {
			return slices.Contains([]string{"crd", "rebuild", "wipe", "move", "extra", "approve", "adopt", "release"}, do)
		}
		return wild(e.Do) || e.Then != nil && wild(e.Then.Do)
	})
	names := clusterSets()[events[0].N%2]
	among := func(n api.ClusterName) api.ClusterName {
		if n == "" {
			return n
		}
		return names[len(n)%2]
	}
	out[0].N %= 2
	for i := range out {
		for e := &out[i]; e != nil; e = e.Then {
			if e.At = among(e.At); e.To != "" {
				e.To = names[(slices.Index(names, e.At)+1)%2]
			}
		}
	}
	return out
}

func servers(t *testing.T, names ...string) []Server {
	t.Helper()
	bed, err := testbed.Start(t.Context(), testbed.Options{Names: names, Light: true})
	if err != nil {
		t.Fatal(err)
	}
	registry := live.New(live.Options{})
	t.Cleanup(func() {
		for _, c := range bed.Clusters {
			_ = registry.Stop(context.Background(), api.ClusterName(c.Name))
			if pid := c.PIDs["kube-controller-manager"]; pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGCONT)
			}
		}
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	var out []Server
	for _, c := range bed.Clusters {
		if err := registry.Spawn(t.Context(), api.ClusterName(c.Name), c.Config); err != nil {
			t.Fatal(err)
		}
		r := &apiServer{ctx: t.Context(), foreign: dynamic.NewForConfigOrDie(c.As("foreign"))}
		err := registry.WithClient(t.Context(), api.ClusterName(c.Name), func(client *live.Client) error {
			r.client = client // for as long as the registry has it, which is the test
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		furnish(t, c, r)
		out = append(out, r)
	}
	return out
}

// furnish installs Linkerd, and what controllers would make by themselves; then it stops them.
func furnish(t *testing.T, c *testbed.Cluster, r *apiServer) {
	t.Helper()
	if err := testbed.InstallLinkerd(t.Context(), c.Config, testbed.Linkerd{}); err != nil {
		t.Fatal(err)
	}
	core := kubernetes.NewForConfigOrDie(c.Config).CoreV1()
	if _, err := core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := core.ServiceAccounts(mc).Create(t.Context(), account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	ns := coreac.Namespace(object.AccessNamespace)
	o, err := object.New(object.Spec{
		Key: object.Key{Kind: "Namespace", Name: object.AccessNamespace}, Version: "v1", Owner: owner, Meta: ns.ObjectMetaApplyConfiguration, Config: ns,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Write(object.Change{Action: object.Create, Key: o.Key, Object: o}); err != nil {
		t.Fatal(err)
	}
	if pid := c.PIDs["kube-controller-manager"]; pid == 0 || syscall.Kill(pid, syscall.SIGSTOP) != nil {
		t.Fatalf("stop the controllers of %s: %v", c.Name, c.PIDs)
	}
}

func (r *apiServer) Observe(w []object.Watch) (object.Observation, error) {
	return r.client.Observe(r.ctx, w)
}

func (r *apiServer) Write(c object.Change) error {
	_, err := r.client.Write(r.ctx, c)
	return err
}

func (r *apiServer) at(k object.Key) dynamic.ResourceInterface {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(apiVersion(k))
	u.SetKind(k.Kind)
	kind, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
	if k.Kind == "Endpoints" {
		kind.Resource = "endpoints"
	}
	return r.foreign.Resource(kind).Namespace(k.Namespace)
}

// Foreign implements Server.
func (r *apiServer) Foreign(was, now *Live) error {
	switch {
	case now == nil:
		return r.remove(was, true)
	case was == nil:
		return r.create(now)
	case was.UID != now.UID:
		if err := r.remove(was, true); err != nil {
			return err
		}
		return r.create(now)
	case now.Going && !was.Going:
		return r.remove(was, false)
	}
	return r.change(was, now)
}

func (r *apiServer) remove(was *Live, quite bool) error {
	if was.Held && quite {
		err := r.patch(was.Key, map[string]any{"metadata": map[string]any{"finalizers": nil}})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	now := int64(0)
	err := r.at(was.Key).Delete(r.ctx, was.Key.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (r *apiServer) create(now *Live) error {
	var u unstructured.Unstructured
	if err := json.Unmarshal(now.Body.Bytes(), &u.Object); err != nil {
		return err
	}
	for _, f := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
		unstructured.RemoveNestedField(u.Object, "metadata", f)
	}
	if now.Held {
		u.SetFinalizers([]string{"example.com/hold"})
	}
	_, err := r.at(now.Key).Create(r.ctx, &u, metav1.CreateOptions{FieldManager: now.Manager})
	if err != nil {
		return fmt.Errorf("make %s: %w", now.Key, err)
	}
	return nil
}

// change patches what differs; what differs in nothing gets another version.
func (r *apiServer) change(was, now *Live) error {
	var from, to map[string]any
	if err := json.Unmarshal(was.Body.Bytes(), &from); err != nil {
		return err
	}
	if err := json.Unmarshal(now.Body.Bytes(), &to); err != nil {
		return err
	}
	patch := differs(from, to)
	switch {
	case now.Held && !was.Held:
		field(patch, "metadata")["finalizers"] = []string{"example.com/hold"}
	case was.Held && !now.Held:
		field(patch, "metadata")["finalizers"] = nil
	case len(patch) == 0:
		field(patch, "metadata", "annotations")["example.com/seen"] = fmt.Sprint(time.Now().UnixNano())
	}
	if err := r.patch(now.Key, patch); err != nil {
		return fmt.Errorf("change %s: %w", now.Key, err)
	}
	return nil
}

func (r *apiServer) patch(k object.Key, patch map[string]any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = r.at(k).Patch(r.ctx, k.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "foreign"})
	return err
}

// differs is the JSON merge patch that makes one object of another.
func differs(from, to map[string]any) map[string]any {
	out := map[string]any{}
	for name, was := range from {
		now, ok := to[name]
		a, both := was.(map[string]any)
		b, maps := now.(map[string]any)
		switch {
		case !ok:
			out[name] = nil
		case both && maps:
			if below := differs(a, b); len(below) > 0 {
				out[name] = below
			}
		case !reflect.DeepEqual(was, now):
			out[name] = now
		}
	}
	for name, now := range to {
		if _, ok := from[name]; !ok {
			out[name] = now
		}
	}
	return out
}
