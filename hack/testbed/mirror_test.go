package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Labels and annotations of mirrors.
const (
	mirroredLabel = "mirror.linkerd.io/mirrored-service"
	remoteNameKey = "mirror.linkerd.io/remote-svc-fq-name"
	discoveryKey  = "multicluster.linkerd.io/remote-discovery"
)

// linked is a link from one cluster of the bed to another, made by hand.
type linked struct {
	Source, Target string
	Kubeconfig     string
	Drained        bool

	Replicas            int    // 1 when zero
	Gateway             string // addresses; two of them when empty
	ProbePeriod         string // 3s when empty
	ExcludedAnnotations []string
	Args                []string

	source, target kubernetes.Interface
}

// newLinked dresses both clusters and plays the mirrors of the source until
// the test ends.
func newLinked(t *testing.T, source, target string) *linked {
	t.Helper()
	l := newPair(t, source, target)
	play(t, source, MirrorOptions{})
	return l
}

// newPair dresses both clusters.
func newPair(t *testing.T, source, target string) *linked {
	t.Helper()
	Need(t)
	for _, name := range []string{source, target} {
		if err := InstallLinkerd(t.Context(), sharedClusters.Cluster(name).Config, Linkerd{}); err != nil {
			t.Fatal(err)
		}
	}
	l := &linked{
		Source: source, Target: target,
		source: kubernetes.NewForConfigOrDie(sharedClusters.Cluster(source).Config),
		target: kubernetes.NewForConfigOrDie(sharedClusters.Cluster(target).Config),
	}
	l.Kubeconfig = l.remoteAccess(t)
	t.Cleanup(func() { l.clean(t) })
	return l
}

// clean takes the controller of the link away, and what it needs to begin, and nothing of it is still being deleted then: the
// next test applies it anew.
func (l *linked) clean(t *testing.T) {
	t.Helper()
	ctx, foreground, now := context.Background(), metav1.DeletePropagationForeground, metav1.DeleteOptions{}
	err := poll(ctx, func() error {
		err := l.source.AppsV1().Deployments(Multicluster).Delete(ctx, "controller-"+l.Target, metav1.DeleteOptions{PropagationPolicy: &foreground})
		if !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the controller is there"), err)
		}
		pods, err := l.source.CoreV1().Pods(Multicluster).List(ctx, metav1.ListOptions{LabelSelector: clusterLabel + "=" + l.Target})
		if err == nil && len(pods.Items) > 0 {
			return errors.New("the controller's pod is there")
		}
		return err
	})
	for _, gone := range []error{
		err,
		l.links().Delete(ctx, l.Target, now),
		l.source.CoordinationV1().Leases(Multicluster).Delete(ctx, "service-mirror-write-"+l.Target, now),
		l.source.RbacV1().Roles(Multicluster).Delete(ctx, "controller-read-remote-creds-"+l.Target, now),
	} {
		if gone != nil && !apierrors.IsNotFound(gone) {
			t.Error(gone)
		}
	}
}

// links of the source.
func (l *linked) links() dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(sharedClusters.Cluster(l.Source).Config).Resource(linkResource).Namespace(Multicluster)
}

// play runs the mirrors of a cluster until the test ends, or stop is called.
func play(t *testing.T, source string, opts MirrorOptions) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	opts.Period = 50 * time.Millisecond
	opts.Failed = func(link string, err error) { t.Log(link, err) }
	go func() { ended <- RunMirrors(ctx, sharedClusters.Cluster(source).Config, opts) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// remoteAccess is the kubeconfig of Linkerd's own account in the target.
func (l *linked) remoteAccess(t *testing.T) string {
	t.Helper()
	secret, err := l.target.CoreV1().Secrets(Multicluster).Get(t.Context(), "linkerd-service-mirror-remote-access-default-token", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := clientcmdapi.NewConfig()
	config.CurrentContext = l.Target
	config.Clusters[l.Target] = &clientcmdapi.Cluster{Server: sharedClusters.Cluster(l.Target).Config.Host, CertificateAuthorityData: secret.Data["ca.crt"]}
	config.AuthInfos[l.Target] = &clientcmdapi.AuthInfo{Token: string(secret.Data["token"])}
	config.Contexts[l.Target] = &clientcmdapi.Context{Cluster: l.Target, AuthInfo: l.Target}
	data, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (l *linked) apply(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := expand(string(text), l)
	if err != nil {
		t.Fatal(err)
	}
	client := dynamic.NewForConfigOrDie(sharedClusters.Cluster(l.Source).Config)
	for _, object := range objects {
		if err := apply(t.Context(), client, object); err != nil {
			t.Fatal(err)
		}
	}
}

func (l *linked) export(t *testing.T, e Exported) {
	t.Helper()
	if err := Export(t.Context(), sharedClusters.Cluster(l.Target).Config, e); err != nil {
		t.Fatal(err)
	}
}

// mirrored asks for a Service of the source.
func (l *linked) mirrored(ctx context.Context, namespace, name string) (*corev1.Service, error) {
	return l.source.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
}

func TestMirrorsThroughAGateway(t *testing.T) {
	l := newLinked(t, "east", "west")
	ns := namespace(t, l.source)
	l.export(t, Exported{Namespace: ns, Name: "web", Labels: map[string]string{ExportedLabel: "true", "tier": "front", "private.example/x": "y"}})
	l.export(t, Exported{Namespace: ns, Name: "direct", Labels: map[string]string{ExportedLabel: "remote-discovery"}})
	l.export(t, Exported{Namespace: ns, Name: "both", Labels: map[string]string{FederatedLabel: "member"}})
	l.apply(t, "role.yaml")
	l.apply(t, "link.yaml")
	eventually(t, func() error { return l.allMirrored(t.Context(), ns) })
	l.checkMirror(t, ns)
	l.checkAccess(t)

	l.Drained = true
	l.apply(t, "link.yaml")
	eventually(t, func() error { return l.nothingMirrored(t.Context(), ns) })

	l.Drained = false
	l.apply(t, "link.yaml")
	eventually(t, func() error { return l.allMirrored(t.Context(), ns) })
	l.checkStop(t, ns)
}

func (l *linked) allMirrored(ctx context.Context, ns string) error {
	for _, name := range []string{"web-" + l.Target, "direct-" + l.Target, "both-federated"} {
		if _, err := l.mirrored(ctx, ns, name); err != nil {
			return err
		}
	}
	endpoints, err := l.source.CoreV1().Endpoints(Multicluster).Get(ctx, "probe-"+l.Target, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if got := endpoints.Subsets[0].Ports[0]; got.Name != "mc-probe" || got.Port != 4191 {
		return fmt.Errorf("port of the probe: %+v", got)
	}
	return l.statusOf(ctx, ns, "web")
}

// statusOf is nil when the Link says that a Service is mirrored.
func (l *linked) statusOf(ctx context.Context, ns, name string) error {
	link, err := l.links().Get(ctx, l.Target, metav1.GetOptions{})
	if err != nil {
		return err
	}
	list, _, _ := unstructured.NestedSlice(link.Object, "status", "mirrorServices")
	for _, entry := range list {
		ref, _, _ := unstructured.NestedStringMap(entry.(map[string]any), "remoteRef")
		if ref["namespace"] == ns && ref["name"] == name {
			return nil
		}
	}
	return fmt.Errorf("no status for %s/%s: %v", ns, name, list)
}

func (l *linked) nothingMirrored(ctx context.Context, ns string) error {
	list, err := l.source.CoreV1().Services(ns).List(ctx, metav1.ListOptions{LabelSelector: mirroredLabel})
	if err == nil && len(list.Items) > 0 {
		return fmt.Errorf("%d mirrors, first is %s", len(list.Items), list.Items[0].Name)
	}
	return err
}

func (l *linked) checkMirror(t *testing.T, ns string) {
	t.Helper()
	web, err := l.mirrored(t.Context(), ns, "web-"+l.Target)
	if err != nil {
		t.Fatal(err)
	}
	if web.Labels["tier"] != "front" || web.Labels["private.example/x"] != "" || web.Labels[ExportedLabel] != "" || web.Labels[clusterLabel] != l.Target {
		t.Errorf("labels of the mirror: %v", web.Labels)
	}
	if got, want := web.Annotations[remoteNameKey], "web."+ns+".svc.cluster.local"; got != want {
		t.Errorf("name in the target: %q, want %q", got, want)
	}
	both, err := l.mirrored(t.Context(), ns, "both-federated")
	if err != nil || both.Annotations[discoveryKey] != "both@"+l.Target {
		t.Errorf("members of the federated Service: %v, %v", both.Annotations, err)
	}
	eventually(t, func() error {
		slices, err := l.source.DiscoveryV1().EndpointSlices(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=web-" + l.Target})
		if err != nil || len(slices.Items) == 0 {
			return errors.Join(errors.New("no slice of the mirror"), err)
		}
		if got := slices.Items[0]; len(got.Endpoints) != 2 || *got.Ports[0].Port != 4143 {
			return fmt.Errorf("slice of the mirror: %+v", got)
		}
		return nil
	})
}

// checkAccess proves that the credentials of the link were used.
func (l *linked) checkAccess(t *testing.T) {
	t.Helper()
	requests, err := sharedClusters.Cluster(l.Target).Requests(MirrorAgent + "/" + l.Target)
	if err != nil || len(requests) == 0 {
		t.Fatalf("requests in the target: %d, %v", len(requests), err)
	}
	givenUp := 0
	for _, r := range requests {
		switch {
		case r.Code == 401 && r.User == "" && givenUp < 2:
			givenUp++ // its client gave it up while the API server authenticated it, as when the Link changes
		case r.User != "system:serviceaccount:linkerd-multicluster:linkerd-service-mirror-remote-access-default" || r.Verb != "list" && r.Verb != "watch":
			t.Errorf("request in the target: %+v", r)
		}
	}
}

// checkStop takes the controller away: what it mirrored stays, and nobody
// writes any more once the pod is gone.
func (l *linked) checkStop(t *testing.T, ns string) {
	t.Helper()
	foreground := metav1.DeletePropagationForeground
	if err := l.source.AppsV1().Deployments(Multicluster).Delete(t.Context(), "controller-"+l.Target, metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		pods, err := l.source.CoreV1().Pods(Multicluster).List(t.Context(), metav1.ListOptions{LabelSelector: clusterLabel + "=" + l.Target})
		if err == nil && len(pods.Items) > 0 {
			return errors.New("the controller's pod is there")
		}
		return err
	})
	if _, err := l.mirrored(t.Context(), ns, "web-"+l.Target); err != nil {
		t.Errorf("mirror after its controller: %v", err)
	}
	lease, err := l.source.CoordinationV1().Leases(Multicluster).Get(t.Context(), "service-mirror-write-"+l.Target, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if holder := holderOf(lease); holder != "" {
		t.Errorf("lease after its controller: held by %s", holder)
	}
}

func TestMirrorNeedsTheRightsOfItsPod(t *testing.T) {
	l := newLinked(t, "north", "west")
	ns := namespace(t, l.source)
	l.export(t, Exported{Namespace: ns, Name: "web"})
	l.apply(t, "link.yaml")
	eventually(t, func() error {
		requests, err := sharedClusters.Cluster(l.Source).Requests(MirrorAgent + "/" + l.Target)
		for _, r := range requests {
			if r.Code == 403 && strings.HasSuffix(r.ImpersonatedUser, ":controller-west") {
				return nil
			}
		}
		return errors.Join(errors.New("nothing was refused"), err)
	})
	if _, err := l.mirrored(t.Context(), ns, "web-"+l.Target); !apierrors.IsNotFound(err) {
		t.Errorf("mirror without rights: %v, want none", err)
	}
	l.apply(t, "role.yaml")
	eventually(t, func() error {
		_, err := l.mirrored(t.Context(), ns, "web-"+l.Target)
		return err
	})
}
