package survey

import (
	"context"
	"encoding/pem"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/rollout/trust"
)

// Names of what a pod shows of its proxy's trust anchors (linkerd2 charts/partials/templates: _proxy.tpl and _metadata.tpl).
const (
	proxyContainer = "linkerd-proxy"
	anchorsEnv     = "LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS"
	bundleHash     = "linkerd.io/trust-root-sha256"
)

// issuerKey is the key of the issuer's certificate in its Secret, unless that is one of type kubernetes.io/tls (linkerd2 pkg/issuercerts).
const issuerKey = "crt.pem"

// Trust reads what a cluster shows of its trust anchors: the bundle and the issuer of the control plane in a namespace, and all proxies. An error is
// one without which nothing is known; that the issuer cannot be read is a part of the result. The result has no name yet.
func Trust(ctx context.Context, client Client, namespace string) (trust.Cluster, error) {
	out := trust.Cluster{Namespace: namespace}
	g, inner := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		out.Bundle, err = client.bundle(inner, namespace)
		return err
	})
	g.Go(func() error {
		out.Issuer = client.issuer(inner, namespace)
		return inner.Err()
	})
	g.Go(func() (err error) {
		out.Workloads, err = client.proxies(inner)
		return err
	})
	err := g.Wait()
	return out, err
}

// bundle reads the anchors that new proxies get.
func (c Client) bundle(ctx context.Context, namespace string) (trust.Bundle, error) {
	cm, err := c.Core.ConfigMaps(namespace).Get(ctx, linkerd.TrustRoots, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return trust.Bundle{}, trust.ErrNoBundle
	}
	if err != nil {
		return trust.Bundle{}, err
	}
	return trust.Bundle{Text: cm.Data[linkerd.TrustRootsKey], Changed: written(cm)}, nil
}

// issuer reads the certificate of the issuer, and the values that say how long its certificates live.
func (c Client) issuer(ctx context.Context, namespace string) (out trust.Issuer) {
	out.Certificates, out.Changed, out.Err = c.certificates(ctx, namespace)
	cm, err := c.Core.ConfigMaps(namespace).Get(ctx, linkerd.ConfigName, metav1.GetOptions{})
	if err != nil {
		out.ValuesErr = err
		return out
	}
	out.Values = cm.Data[linkerd.ValuesKey]
	return out
}

// certificates returns the certificates of the issuer's Secret, and when that was last written. Nothing else of the Secret leaves this function: what
// client-go decoded is overwritten in memory.
func (c Client) certificates(ctx context.Context, namespace string) (string, time.Time, error) {
	secret, err := c.Core.Secrets(namespace).Get(ctx, trust.Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", time.Time{}, trust.ErrNoIssuer
	}
	if err != nil {
		return "", time.Time{}, err
	}
	public, ok := secret.Data[issuerKey]
	if secret.Type == corev1.SecretTypeTLS || !ok {
		public = secret.Data[corev1.TLSCertKey]
	}
	var text []byte
	for _, one := range linkerd.Certificates(string(public)) {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.Raw})...)
	}
	for _, value := range secret.Data {
		clear(value)
	}
	if len(text) == 0 {
		return "", time.Time{}, trust.ErrNoIssuer
	}
	return string(text), written(secret), nil
}

// written is when an object was last written; zero: not known. Only managed fields show that, and a tool may have removed them: the time of the creation
// says nothing about later writes.
func written(o metav1.Object) (last time.Time) {
	for _, m := range o.GetManagedFields() {
		if m.Time != nil && m.Time.After(last) {
			last = m.Time.Time
		}
	}
	if created := o.GetCreationTimestamp().Time; !last.IsZero() && created.After(last) {
		return created
	}
	return last
}

// proxies reads all meshed pods, by their workloads.
func (c Client) proxies(ctx context.Context) ([]trust.Workload, error) {
	r := reader{Options: Options{ArgoRollouts: true}, client: c, annotations: map[string]map[string]string{}}
	if err := r.list(ctx); err != nil {
		return nil, err
	}
	byName := map[Pod]*corev1.Pod{}
	for _, pod := range r.pods {
		byName[Pod{Namespace: pod.Namespace, Name: pod.Name}] = pod
	}
	others := r.assign()
	var out []trust.Workload
	for _, w := range r.workloads {
		if len(w.pods) > 0 {
			out = append(out, proxiesOf(w.kind, w.namespace, w.name, w.pods...))
		}
	}
	for _, p := range others {
		out = append(out, proxiesOf("Pod", p.Namespace, p.Name, byName[Pod{Namespace: p.Namespace, Name: p.Name}]))
	}
	return out, nil
}

func proxiesOf(kind, namespace, name string, pods ...*corev1.Pod) trust.Workload {
	out := trust.Workload{Kind: kind, Namespace: namespace, Name: name}
	for _, pod := range pods {
		out.Proxies = append(out.Proxies, proxyOf(pod))
	}
	return out
}

// proxyOf returns what a pod shows of its proxy: the text of the anchors, or that they are the bundle's.
func proxyOf(pod *corev1.Pod) trust.Proxy {
	out := trust.Proxy{Hash: pod.Annotations[bundleHash]}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		if c.Name != proxyContainer {
			continue
		}
		for _, v := range c.Env {
			if v.Name == anchorsEnv {
				out.Anchors, out.Bundled = v.Value, isBundle(v.ValueFrom)
			}
		}
	}
	for _, s := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		if s.Name == proxyContainer && s.State.Running != nil {
			out.Started = s.State.Running.StartedAt.Time
		}
	}
	return out
}

// isBundle reports whether a variable has the text of the bundle.
func isBundle(from *corev1.EnvVarSource) bool {
	return from != nil && from.ConfigMapKeyRef != nil && from.ConfigMapKeyRef.Name == linkerd.TrustRoots && from.ConfigMapKeyRef.Key == linkerd.TrustRootsKey
}
