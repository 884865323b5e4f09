package sync_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync"
)

// second is another process of the same owner, which keeps its record and lease elsewhere.
func (d *disaster) second(h sync.Declared) *sync.Leadership {
	d.Helper()
	home := memcluster.New(memcluster.Options{}, "home").Cluster("home")
	d.bad(home.Put("kubectl", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "linkwright"}}))
	l := d.loop(false)
	l.Management.Cluster, l.Declared = home, h
	return sync.Begin(d.T, l, 5)
}

// secondManagementCluster: who wants the same has nothing to write; of two commits, the older one never comes back.
func (d *disaster) secondManagementCluster() {
	d.linked()
	older := &trees{commits: slices.Clone(d.history.commits)}
	r, err := d.second(d.history).Sync(d.Context())
	d.bad(err)
	d.last.Store(&r)
	d.clean()
	d.wrote()
	d.declare(disasterNothing)
	d.unlinked()
	d.asked()
	if r, err = d.second(older).Sync(d.Context()); err == nil || !strings.Contains(err.Error(), "does not descend from") {
		d.Errorf("a second home at an older commit: %v", err)
	}
	d.last.Store(&r)
	d.wrote()
}

// anotherRepository: whose history has nothing to do with what was applied writes nothing, and says why.
func (d *disaster) anotherRepository() {
	d.linked()
	nothing := fstest.MapFS{"east.yaml": {Data: declared("east")}, "west.yaml": {Data: declared("west")}}
	r, err := d.second(foreign{&trees{commits: []fstest.MapFS{nil, nothing}}}).Sync(d.Context())
	d.last.Store(&r)
	if err == nil || !strings.Contains(err.Error(), "does not descend from") {
		d.Errorf("another repository: %v\n%s", err, d.reported())
	}
	d.wrote()
	d.exist("west", disasterLink, disasterSecret)
	d.exist("east", disasterAccount)
}

// foreign is a repository of which nothing was ever applied.
type foreign struct{ *trees }

func (foreign) Follows(_ context.Context, commit, last api.Commit, _ []api.Commit) error {
	return fmt.Errorf("commit %s does not descend from %s", commit, last)
}

// likeAMirror: names prove nothing, nor do labels, Linkerd's or ours, nor all of a mirror but one of its marks. Only what a controller
// of Linkerd's provably made is swept.
func (d *disaster) likeAMirror() {
	d.linked()
	d.put1("west", object.Key{Kind: "Namespace", Name: "shop"}, "")
	service := func(name string) object.Key { return object.Key{Kind: "Service", Namespace: "shop", Name: name} }
	d.put1("west", service("web-east"), "")
	d.put1("west", service("api-east"), `mirror.linkerd.io/cluster-name: east`)
	d.put1("west", service("db-east"), `mirror.linkerd.io/mirrored-service: "true", mirror.linkerd.io/cluster-name: north`)
	d.put1("west", service("old-east"), object.OwnerLabel+": linkwright")
	d.put1("west", service("labelled-east"), mirrorLabels)
	d.mirrored("mirror-east", "mirror", "controller", "")
	d.mirrored("selects-east", "selects", "controller", ", selector: {app: mine}")
	d.mirrored("renamed-east", "mirror", "controller", "")
	d.mirrored("restored-east", "restored", "velero-server", "")
	d.declare(disasterNothing)
	d.unlinked(service("old-east"))
	d.exist("west", service("web-east"), service("api-east"), service("db-east"), service("old-east"), service("labelled-east"),
		service("selects-east"), service("renamed-east"), service("restored-east"))
	if d.at("west").Object(service("mirror-east")) != nil {
		d.Error("the mirror was left behind")
	}
}

const mirrorLabels = `mirror.linkerd.io/mirrored-service: "true", mirror.linkerd.io/cluster-name: east`

// mirrored makes a Service with the labels and annotations that Linkerd gives a mirror of a service in east.
func (d *disaster) mirrored(name, service, manager, spec string) {
	d.Helper()
	d.archive.Files = []txtar.File{{Name: "o", Data: fmt.Appendf(nil, `apiVersion: v1
kind: Service
metadata:
  name: %s
  namespace: shop
  labels: {%s}
  annotations: {mirror.linkerd.io/remote-svc-fq-name: %s.shop.svc.cluster.local, mirror.linkerd.io/remote-resource-version: "1"}
spec: {ports: [{port: 80}]%s}
`, name, mirrorLabels, service, spec)}}
	d.put([]string{"west", "o", manager})
}
