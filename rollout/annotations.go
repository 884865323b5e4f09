package rollout

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Annotations by which the injector says what it gave a pod, and by which people ask for another version (linkerd2 pkg/k8s/labels.go).
const (
	versionAnnotation  = "linkerd.io/proxy-version"
	rootsAnnotation    = "linkerd.io/trust-root-sha256"
	overriddenVersion  = "config.linkerd.io/proxy-version"
	versionDifference  = "version of the proxy"
	anchorsDifference  = "trust anchors"
	nothingToCompareBy = "its pods have no annotation " + versionAnnotation
)

// ErrNoAnnotations means that a pod does not say which proxy it got.
var ErrNoAnnotations = errors.New(nothingToCompareBy)

// Current is what is known of the proxy that a pod would get now, without a dry run.
type Current struct {
	Version string
	roots   []string // hashes of the trust anchors; Linkerd hashes them with and without space around them
	values  map[string]any
}

// CurrentOf reads it from key values of ConfigMap linkerd-config, and from the trust anchors.
func CurrentOf(values, anchors string) (Current, error) {
	doc, err := parseValues(values)
	if err != nil {
		return Current{}, fmt.Errorf("read the values of linkerd-config: %w", err)
	}
	image, _ := valueAt(doc, "proxy.image.version")
	release, _ := valueAt(doc, "linkerdVersion")
	c := Current{Version: cmp.Or(image, release), values: doc}
	if c.Version == "" || strings.TrimSpace(anchors) == "" {
		return Current{}, errors.New("linkerd-config has no version, or linkerd-identity-trust-roots no anchors")
	}
	for _, text := range []string{anchors, strings.TrimSpace(anchors), strings.TrimSpace(anchors) + "\n"} {
		sum := sha256.Sum256([]byte(text))
		c.roots = append(c.roots, hex.EncodeToString(sum[:]))
	}
	return c, nil
}

// version returns the version that a pod would get.
func (c Current) version(pod, namespace map[string]string) string {
	return cmp.Or(pod[overriddenVersion], namespace[overriddenVersion], c.Version)
}

// Differences returns what a restart would change of a pod, as far as its annotations and values with one place in it show.
func (c Current) Differences(pod *corev1.Pod, namespace map[string]string) (out []string, err error) {
	version, roots := pod.Annotations[versionAnnotation], pod.Annotations[rootsAnnotation]
	if version == "" || roots == "" {
		return nil, ErrNoAnnotations
	}
	if version != c.version(pod.Annotations, namespace) {
		out = append(out, versionDifference)
	}
	if !slices.Contains(c.roots, roots) {
		out = append(out, anchorsDifference)
	}
	return append(out, valueDifferences(c.values, pod, namespace)...), nil
}
