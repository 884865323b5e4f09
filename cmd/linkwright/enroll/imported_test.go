package enroll

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/hack/outputschema"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/report"
)

// A Linkerd Link by a name that no context has is one to a second name, if its credential leads to a cluster that was read. So is a
// context that leads to a cluster that was read before.
func TestImportOfSecondNames(t *testing.T) {
	const ns = api.DefaultMulticlusterNamespace
	link := func(name, server, gateway string) []object.Item {
		config := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nclusters: [{name: a, cluster: {server: %q}}]\n", server)
		secret, err := json.Marshal(corev1.Secret{Data: map[string][]byte{linkerd.KubeconfigKey: []byte(config)}})
		if err != nil {
			t.Fatal(err)
		}
		spec := fmt.Sprintf(`{"spec": {"targetClusterName": %q, "clusterCredentialsSecret": "cluster-credentials-%s", "gatewayAddress": %q}}`, name, name, gateway)
		return []object.Item{
			{Namespace: ns, Name: name, Record: object.Record{UID: "1"}, Body: object.NewBody([]byte(spec))},
			{Namespace: ns, Name: "cluster-credentials-" + name, Record: object.Record{UID: "1"}, Body: object.NewBody(secret)},
		}
	}
	links, secrets := object.Layer{Group: linkerd.Group, Kind: "Link"}, object.Layer{Kind: "Secret"}
	for _, items := range [][]object.Item{
		link("east", "https://192.0.2.1:6443", "192.0.2.9"), link("east-flat", "https://192.0.2.1:6443/", ""), link("north", "https://192.0.2.3:6443", ""),
	} {
		links.Items, secrets.Items = append(links.Items, items[0]), append(secrets.Items, items[1])
	}
	cluster := func(name api.ClusterName, server, uid string, layers ...object.Layer) imported {
		return imported{
			name: name, spec: api.Cluster{Access: api.Access{KubeconfigSecret: &api.SecretKey{Name: string(name)}}}.WithDefaults(),
			facts: linkerd.Facts{UID: uid, API: linkerd.Endpoint{Server: server}}, seen: object.NewObservation(nil, layers...),
		}
	}
	a, err := declarations([]imported{
		cluster("east", "https://192.0.2.1:6443", "e"), cluster("orient", "https://192.0.2.1:6443", "e"), cluster("west", "https://192.0.2.2:6443", "w", links, secrets),
	}).answer(cli.Writing{})
	if err != nil {
		t.Fatal(err)
	}
	var out, doc bytes.Buffer
	if err := errors.Join(a.Write(&out, report.Text), a.Write(&doc, report.JSON), outputschema.Check(doc.Bytes())); err != nil {
		t.Error(err)
	}
	text := out.Bytes()
	f, problems := fleet.Load("c", fstest.MapFS{"fleet.yaml": {Data: text}})
	if f == nil {
		t.Fatalf("%v in\n%s", problems, text)
	}
	if got := fmt.Sprint(f.Names("east")); got != "[east-flat orient]" {
		t.Errorf("second names of east: %s in\n%s", got, text)
	}
	l, ok := f.Link(api.Pair{Source: "west", Target: "east-flat"})
	if !ok || l.Target.Spec.Gateway.On() {
		t.Errorf("the link to east-flat: %t\n%s", ok, text)
	}
	if !strings.Contains(string(text), "has a Link to north, which is not among the contexts") {
		t.Errorf("nothing is said about north:\n%s", text)
	}
}
