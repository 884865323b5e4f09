package sync_test

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/sync/report"
)

const trustRoots = "linkerd-identity-trust-roots"

// rotated has east's trust anchors change as in a rotation that nobody ends: a link tells of it at once, and nothing but that is written.
func (d *daemon) rotated() {
	d.t.Helper()
	roots := d.client("east").CoreV1().ConfigMaps(testbed.ControlPlane)
	now, err := roots.Get(d.t.Context(), trustRoots, metav1.GetOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	was := now.Data["ca-bundle.crt"]
	will, err := testbed.NewTrustAnchors()
	if err != nil {
		d.t.Fatal(err)
	}
	before := d.asked("west")
	for _, step := range []struct{ what, bundle, code string }{
		{"a second anchor", was + will, "TrustAnchorsDiffer"},
		{"without the first", will, "TrustAnchorsNotShared"},
		{"as before", was, ""},
	} {
		patch, err := json.Marshal(corev1.ConfigMap{Data: map[string]string{"ca-bundle.crt": step.bundle}})
		if err != nil {
			d.t.Fatal(err)
		}
		if _, err := roots.Patch(d.t.Context(), trustRoots, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			d.t.Fatal(err)
		}
		d.eventually(step.what+" is told", func(context.Context) (bool, error) { return d.reportContains("west", "east") == step.code, nil })
	}
	if sent := d.sentButConditions("west", before); len(sent) > 0 {
		d.t.Errorf("it sent %q", sent)
	}
}

// reportContains returns the code by which the last report remarks on a link; empty: by none.
func (d *daemon) reportContains(source, target string) string {
	_, last := d.syncs()
	links := report.Links(last)
	i := slices.IndexFunc(links, func(l report.LinkRow) bool { return string(l.Pair.Source) == source && string(l.Pair.Target) == target })
	if i < 0 {
		return "undeclared"
	}
	if why := links[i].Why; why != nil {
		return string(cmp.Or(why.Code, "unnamed"))
	}
	return ""
}
