package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// By annotations, the version of the proxy and the anchors are compared, whatever space is around the anchors.
func TestCurrent(t *testing.T) {
	c, err := CurrentOf("linkerdVersion: v1\nproxy: {image: {version: v2}}\n", "pem\n")
	if err != nil {
		t.Fatal(err)
	}
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	for name, tt := range map[string]struct {
		version, roots string
		pod, namespace map[string]string
		want           []string
		err            error
	}{
		"current":                      {version: "v2", roots: hash("pem\n")},
		"anchors without space":        {version: "v2", roots: hash("pem")},
		"another version":              {version: "v1", roots: hash("pem"), want: []string{versionDifference}},
		"other anchors":                {version: "v2", roots: hash("old"), want: []string{anchorsDifference}},
		"a version of its own":         {version: "v3", roots: hash("pem"), pod: map[string]string{overriddenVersion: "v3"}},
		"a version of its namespace":   {version: "v3", roots: hash("pem"), namespace: map[string]string{overriddenVersion: "v3"}},
		"its own before its namespace": {version: "v4", roots: hash("pem"), pod: map[string]string{overriddenVersion: "v4"}, namespace: map[string]string{overriddenVersion: "v3"}},
		"no annotation":                {version: "v2", err: ErrNoAnnotations},
	} {
		annotations := map[string]string{versionAnnotation: tt.version, rootsAnnotation: tt.roots, overriddenVersion: tt.pod[overriddenVersion]}
		got, err := c.Differences(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}, tt.namespace)
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" || !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, -want +got\n%s", name, err, diff)
		}
	}
	for values, anchors := range map[string]string{"a: [": "pem", "a: b": "pem", "linkerdVersion: v1": " "} {
		if _, err := CurrentOf(values, anchors); err == nil {
			t.Errorf("CurrentOf(%q, %q) succeeds", values, anchors)
		}
	}
}
