package inventory

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// goldens are the ConfigMaps of testdata, each as a commit of this repository once wrote it, and never to be written anew:
// clusters hold what releases wrote. Those of since are of 7ef8a5b, pending cleanups of dfaba50, linkerd, kept, rotate, conditions and values of the commits
// that brought them, all others of 73ad152, and no commit in between wrote other bytes.
func goldens() map[string]Inventory {
	gateway := object.Key{Group: "networking.k8s.io", Kind: "NetworkPolicy", Namespace: "linkerd-multicluster", Name: "gateway"}
	secret := object.Key{Kind: "Secret", Namespace: "linkerd-multicluster", Name: "cluster-credentials-east"}
	const commit, term = "9fceb02d0ae598e95dc970b74767f19372d61af8", 1763820000123
	began := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	base := object.End{Cluster: "west"}
	return map[string]Inventory{
		"v1-base":         {End: base, Commit: commit, Term: term},
		"v1-base-overlay": {End: base, Commit: commit, Term: term, Entries: []object.Key{gateway}},
		"v1-base-leaving": {End: base, Leaving: true, Commit: commit, Term: 7, Entries: []object.Key{gateway}},
		"v1-base-linkerd": {End: base, Commit: commit, Term: term, Entries: []object.Key{gateway}, Linkerd: api.Linkerd{
			Namespace: "linkerd", MulticlusterNamespace: "linkerd-multicluster",
		}},
		"v1-base-values": {End: base, Commit: commit, Term: term, Values: []Value{
			{Path: "proxy.accessLog", Set: `"json"`},
			{Path: "proxy.additionalEnv", Set: `[{"name":"A","value":"\u003c"}]`, Before: "null"},
			{Path: "proxy.await", Set: "false", Before: "true"},
			{Path: "proxy.logLevel", Set: `"a"`, Before: `"b"`, Former: `"c"`},
		}},
		"v1-source": {End: west, Entries: []object.Key{
			secret,
			{Kind: "ServiceAccount", Namespace: "linkerd-multicluster", Name: "controller-east"},
			{Group: "apps", Kind: "Deployment", Namespace: "linkerd-multicluster", Name: "controller-east"},
			{Group: "multicluster.linkerd.io", Kind: "Link", Namespace: "linkerd-multicluster", Name: "east"},
			{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding", Name: "linkerd-multicluster-controller-access-local-resources-east"},
		}},
		"v1-target": {End: object.End{Cluster: "east", Link: west.Link}, Entries: []object.Key{
			{Kind: "Secret", Namespace: object.AccessNamespace, Name: "linkwright.west-token"},
			{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "linkwright.west"},
			{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding", Name: "linkwright-access.linkwright.west"},
		}},
		"v1-leaving": {End: west, Leaving: true, Entries: []object.Key{secret}},
		"v1-kept":    {End: west, Entries: []object.Key{secret}},
		"v1-rotate": {End: object.End{Cluster: "east", Link: west.Link}, Rotate: &Rotation{After: 1, Revoke: true}, Entries: []object.Key{
			{Kind: "Secret", Namespace: object.AccessNamespace, Name: "linkwright.west-token"},
		}},
		"v1-conditions": {End: west, Conditions: []object.Condition{
			{Type: object.Ready, Status: object.False, Reason: "GatewayNotAlive", Message: "gateway alive: GatewayNotAlive", Since: began},
			{Type: object.Stalled, Status: object.True, Reason: "GatewayNotAlive", Message: "gateway alive: GatewayNotAlive", Since: began},
		}, Entries: []object.Key{secret}},
		"v1-conditions-ready": {End: west, Conditions: []object.Condition{
			{Type: object.Ready, Status: object.True, Reason: "Healthy", Since: began},
		}, Entries: []object.Key{secret}},
		"v1-leaving-empty": {End: west, Leaving: true},
		"v1-since":         {End: west, Leaving: true, Since: began, Entries: []object.Key{secret}},
		"v1-escaped": {End: west, Entries: []object.Key{
			{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: `a&b"<c>\é`}, // names of RBAC may look so
		}},
	}
}

// hasFormerField are the goldens with a field that no release reads any more: it is passed over, and goes with the next write.
func hasFormerField(name string) bool { return name == "v1-kept" }

func goldenRecords() map[string]map[api.ClusterName]KnownCluster {
	at := api.Linkerd{Namespace: "linkerd", MulticlusterNamespace: "linkerd-multicluster"}
	east := KnownCluster{UID: "5f0d1c1e-7a52-4a5e-8a0b-3a4f6f1f2b11", Linkerd: at, Access: api.Access{KubeconfigSecret: &api.SecretKey{Name: "east", Key: "kubeconfig"}}}
	west := KnownCluster{Linkerd: at, Access: api.Access{InCluster: true}}
	pending := west
	pending.Pending = []Pending{{Source: "west", Target: "east", Since: time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)}}
	return map[string]map[api.ClusterName]KnownCluster{
		"v1-record": {"east": east, "west": west}, "v1-record-pending": {"east": east, "west": pending},
	}
}

func goldenBody(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestGoldens: what any release wrote is read for what it meant then, and today's release would write the same data, but for what
// is forgotten. An upgrade writes nothing.
func TestGoldens(t *testing.T) {
	for name, want := range goldens() {
		body := goldenBody(t, name)
		got, err := Read(owner, recordOf(Key(owner, want.End), object.Ours, body))
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", name, got, err)
			continue
		}
		if diff := cmp.Diff(want, got[0], cmpopts.IgnoreFields(Inventory{}, "Was")); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if hasFormerField(name) {
			continue
		}
		o, err := got[0].Object(owner)
		sameData(t, name, body, o, err)
	}
	for name, want := range goldenRecords() {
		body, key := goldenBody(t, name), RecordKey(owner, "linkwright")
		got, err := ReadRecord(key, recordOf(key, object.Ours, body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got.Clusters); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		o, err := got.Object(owner, "linkwright")
		sameData(t, name, body, o, err)
	}
}

func sameData(t *testing.T, name string, golden []byte, o object.Object, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	_, want, _ := bytes.Cut(golden, []byte(`"data":`))
	_, got, _ := bytes.Cut(o.Body.Bytes(), []byte(`"data":`))
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is written otherwise today: -then +now\n%s", name, diff)
	}
}

// TestGoldensAllRead: no file of testdata is passed over.
func TestGoldensAllRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	all, records := goldens(), goldenRecords()
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		_, known := all[name]
		if _, also := records[name]; !known && !also {
			t.Errorf("%s: nobody says what it means", f)
		}
	}
	if len(files) != len(all)+len(records) {
		t.Errorf("%d files, %d meanings", len(files), len(all)+len(records))
	}
}

// TestGoldensOfLaterReleases: a later release may add fields, which are passed over, and keeps the version; where it does not, nothing is
// guessed.
func TestGoldensOfLaterReleases(t *testing.T) {
	for name, want := range goldens() {
		body, key := goldenBody(t, name), Key(owner, want.End)
		more := bytes.Replace(body, []byte(`\"version\":1,`), []byte(`\"version\":1,\"wave\":{\"n\":[1,\"]\"]},`), 1)
		more = bytes.ReplaceAll(more, []byte(`\"kind\":`), []byte(`\"digest\":\"x\",\"kind\":`))
		got, err := Read(owner, recordOf(key, object.Ours, more))
		if err != nil || !got[0].Same(want) {
			t.Errorf("%s with more fields: %+v, %v", name, got, err)
		}
		later := bytes.Replace(body, []byte(`\"version\":1,`), []byte(`\"version\":2,`), 1)
		if got, err := Read(owner, recordOf(key, object.Ours, later)); err == nil || !strings.Contains(err.Error(), "cannot read version 2") {
			t.Errorf("%s of version 2: %+v, %v", name, got, err)
		}
	}
}
