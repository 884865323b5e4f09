package sync_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/report"
)

// Objects of a link west→east, and one of somebody else's.
var (
	disasterProbe   = object.Key{Kind: "Service", Namespace: "linkerd-multicluster", Name: "probe-east"}
	disasterSecret  = object.Key{Kind: "Secret", Namespace: "linkerd-multicluster", Name: "cluster-credentials-east"}
	disasterLink    = object.Key{Group: "multicluster.linkerd.io", Kind: "Link", Namespace: "linkerd-multicluster", Name: "east"}
	disasterAccount = object.Key{Kind: "ServiceAccount", Namespace: "linkwright-access", Name: "linkwright.west"}
	disasterRole    = object.Key{Group: "rbac.authorization.k8s.io", Kind: "Role", Namespace: "linkerd-multicluster", Name: "controller-read-remote-creds-east"}
	disasterRecord  = object.Key{Kind: "ConfigMap", Namespace: "linkwright-access", Name: "linkwright.west.east"}
	disasterTheirs  = object.Key{Kind: "ConfigMap", Namespace: "linkwright-access", Name: "theirs"}
)

// TestDisasters are what other reconcilers were seen to do harm by. Each says what survives, and what the report tells.
func TestDisasters(t *testing.T) {
	for name, f := range map[string]func(*disaster){
		"partial apply, then a revert":       (*disaster).partialThenRevert,
		"a delete rejected by admission":     (*disaster).deleteRejected,
		"all files removed":                  (*disaster).filesRemoved,
		"a CRD removed before its objects":   (*disaster).crdRemoved,
		"no right to delete":                 (*disaster).noDelete,
		"no right to list":                   (*disaster).noList,
		"namespaces that others use":         (*disaster).namespaces,
		"an object recreated by another":     (*disaster).recreated,
		"recreated while it is deleted":      (*disaster).recreatedMeanwhile,
		"a second home, the same repository": (*disaster).secondManagementCluster,
		"a second home, another repository":  (*disaster).anotherRepository,
		"a Service called like a mirror":     (*disaster).likeAMirror,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disaster{&scenario{T: t, archive: &txtar.Archive{}, history: &trees{}, patience: 30 * time.Second}}
				d.open()
				f(d)
			})
		})
	}
}

// disaster is a scenario that is written in Go, since most of it is what must not have changed.
type disaster struct{ *scenario }

// declare commits east, west and these links, and makes a sync.
func (d *disaster) declare(links string) {
	d.Helper()
	d.history.commits = append(d.history.commits, fstest.MapFS{
		"east.yaml": {Data: declared("east")}, "west.yaml": {Data: declared("west")}, "links.yaml": {Data: []byte(links)},
	})
	d.sync(nil)
}

const (
	disasterPair    = "apiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata: {name: west-east}\nspec: {source: west, target: east}\n"
	disasterNothing = "# no link\n"
)

// linked has the link in place.
func (d *disaster) linked() {
	d.Helper()
	d.declare(disasterPair)
	d.clean()
	d.asked()
}

func (d *disaster) reported() string {
	d.Helper()
	var out strings.Builder
	d.bad(d.lastReport().Write(&out, report.Text))
	return out.String()
}

// reportContains wants words in the last report, which must not be clean.
func (d *disaster) reportContains(words ...string) {
	d.Helper()
	text := d.reported()
	for _, w := range words {
		if !strings.Contains(text, w) {
			d.Errorf("the report does not say %q:\n%s", w, text)
		}
	}
	if d.lastReport().Clean() {
		d.Errorf("the report is clean:\n%s", text)
	}
}

func (d *disaster) clean() {
	d.Helper()
	if !d.lastReport().Clean() {
		d.Fatalf("the report is not clean:\n%s", d.reported())
	}
}

func (d *disaster) exist(name string, keys ...object.Key) {
	d.Helper()
	for _, k := range keys {
		if d.at(name).Object(k) == nil {
			d.Errorf("%s has no %s any more:\n%s", name, k, d.reported())
		}
	}
}

// unlinked says that nothing of the link is left, at either end.
func (d *disaster) unlinked(but ...object.Key) {
	d.Helper()
	d.clean()
	for _, name := range []string{"east", "west"} {
		for _, k := range d.ours(name) {
			base := k.Name == "linkwright.base" || k.Kind == "Namespace"
			if !base && !slices.Contains(but, k) {
				d.Errorf("%s still has %s:\n%s", name, k, d.reported())
			}
		}
	}
}

// ours returns the objects with linkwright's label, whoever set it.
func (d *disaster) ours(name string) (out []object.Key) {
	for _, k := range d.at(name).Keys() {
		meta, _ := d.at(name).Object(k)["metadata"].(map[string]any)
		labels, _ := meta["labels"].(map[string]any)
		if labels[object.OwnerLabel] != nil {
			out = append(out, k)
		}
	}
	return out
}

// wrote wants no write but these, since the last time that was asked.
func (d *disaster) wrote(allowed ...string) {
	d.Helper()
	for _, w := range memcluster.Written(d.asked()) {
		if strings.Count(w, " ") > 1 && !slices.ContainsFunc(allowed, func(a string) bool { return strings.Contains(w, a) }) {
			d.Errorf("it wrote: %s\n%s", w, d.reported())
		}
	}
}

func (d *disaster) put1(name string, k object.Key, labels string) {
	d.Helper()
	d.archive.Files = []txtar.File{{Name: "o", Data: fmt.Appendf(nil, "apiVersion: v1\nkind: %s\nmetadata: {name: %s, namespace: %q, labels: {%s}}\n", k.Kind, k.Name, k.Namespace, labels)}}
	d.put([]string{name, "o"})
}

func (d *disaster) uid(name string, k object.Key) any {
	d.Helper()
	meta, _ := d.at(name).Object(k)["metadata"].(map[string]any)
	return meta["uid"]
}

// partialThenRevert: what an apply made before it failed goes with the revert, and nothing else.
func (d *disaster) partialThenRevert() {
	d.declare(disasterNothing)
	d.at("west").Fault(func(f *memcluster.Faults) { f.Refused = map[object.Key]string{disasterProbe: "not here"} })
	d.declare(disasterPair)
	d.reportContains("not here", "probe-east")
	d.put1("west", disasterTheirs, "")
	d.exist("west", disasterSecret, disasterRecord)
	d.exist("east", disasterAccount)
	d.declare(disasterNothing)
	d.unlinked()
	d.exist("west", disasterTheirs)
}

// deleteRejected: what stands behind what may not go stands, too; the report says who refused, and all goes once it may.
func (d *disaster) deleteRejected() {
	d.linked()
	d.at("west").Fault(func(f *memcluster.Faults) { f.Kept = map[object.Key]string{disasterLink: "links are forever"} })
	d.declare(disasterNothing)
	d.reportContains("links are forever", "Stalled (leaving)")
	d.exist("west", disasterLink, disasterSecret, disasterRecord)
	d.exist("east", disasterAccount, disasterRecord)
	d.at("west").Fault(func(f *memcluster.Faults) { f.Kept = nil })
	d.sync(nil)
	d.unlinked()
}

// filesRemoved: a tree that says nothing takes nothing away.
func (d *disaster) filesRemoved() {
	d.linked()
	for what, tree := range map[string]fstest.MapFS{
		"an empty tree": {}, "no Cluster": {"f.yaml": {Data: []byte(disasterNothing)}}, "no YAML": {"README.md": {Data: []byte("gone\n")}},
	} {
		d.history.commits = append(d.history.commits, tree)
		if _, err := sync.Begin(d.T, d.loop(false), 2).Sync(d.Context()); err == nil {
			d.Errorf("%s: it is no error", what)
		}
		d.wrote()
	}
	l := d.loop(false)
	l.Declared = vanished{&trees{}}
	r, err := sync.Begin(d.T, l, 3).Sync(d.Context())
	if err == nil || !strings.Contains(err.Error(), "fleets/prod") {
		d.Errorf("a vanished path: %v", err)
	}
	d.last.Store(&r)
	d.wrote()
	d.exist("west", disasterLink, disasterSecret)
	d.exist("east", disasterAccount)
}

// vanished is a repository that lost the path that is read.
type vanished struct{ *trees }

func (vanished) Next(context.Context) (sync.Declaration, error) {
	return sync.Declaration{}, errors.New("read fleets/prod: there is no such directory")
}

// crdRemoved: a kind that is not served is empty, and harms nothing else; what is left of a link goes without it.
func (d *disaster) crdRemoved() {
	d.linked()
	d.at("west").Serve("multicluster.linkerd.io", "Link", true)
	d.sync(nil)
	d.reportContains("west")
	d.wrote("west update ConfigMap linkwright-access/linkwright.west.east") // its conditions
	d.exist("west", disasterSecret, disasterProbe)
	d.exist("east", disasterAccount)
	d.declare(disasterNothing)
	d.unlinked()
}

// noDelete: told by verb; what stands behind it stands.
func (d *disaster) noDelete() {
	d.linked()
	d.at("west").Fault(func(f *memcluster.Faults) { f.Denied = map[string][]schema.GroupKind{"delete": {{Kind: "Service"}}} })
	d.declare(disasterNothing)
	d.reportContains("cannot delete resource \"services\"", "Stalled (leaving)")
	d.exist("west", disasterProbe, disasterSecret, disasterRecord)
	d.exist("east", disasterAccount)
	d.at("west").Fault(func(f *memcluster.Faults) { f.Denied = nil })
	d.sync(nil)
	d.unlinked()
}

// noList: what cannot be read is unknown, and unknown takes nothing away, at neither end.
func (d *disaster) noList() {
	d.linked()
	d.at("west").Fault(func(f *memcluster.Faults) {
		f.Denied = map[string][]schema.GroupKind{"list": {{Group: disasterRole.Group, Kind: "Role"}}}
	})
	d.grace = 0 // who answers is not dead, whatever people grant
	d.declare(disasterNothing)
	d.reportContains("may not read Role", object.Installation{}.Grant())
	d.wrote("update ConfigMap linkwright-access/linkwright.base", "update ConfigMap linkwright-access/linkwright.west.east") // it says once that it is denied
	d.exist("west", disasterLink, disasterSecret, disasterRole)
	d.exist("east", disasterAccount)
	d.at("west").Fault(func(f *memcluster.Faults) { f.Denied = nil })
	d.sync(nil)
	d.unlinked()
}

// namespaces: neither ours nor Linkerd's is deleted, nor what others keep in them.
func (d *disaster) namespaces() {
	d.linked()
	d.put1("west", disasterTheirs, "")
	leaving := strings.Replace(string(declared("west")), "spec: {", "spec: {state: Leaving, ", 1)
	d.history.commits = append(d.history.commits, fstest.MapFS{"east.yaml": {Data: declared("east")}, "west.yaml": {Data: []byte(leaving)}})
	d.sync(nil)
	d.unlinked()
	d.exist("west", disasterTheirs, object.Key{Kind: "Namespace", Name: "linkwright-access"}, object.Key{Kind: "Namespace", Name: "linkerd-multicluster"})
	for _, w := range d.asked() {
		if strings.Contains(w, "delete Namespace") {
			d.Errorf("it wrote: %s", w)
		}
	}
}

// recreated: what somebody else made under a name of linkwright is theirs, though it has linkwright's label; the rest of the end goes.
func (d *disaster) recreated() {
	d.linked()
	d.bad(d.at("west").Recreate("kubectl", disasterProbe))
	was := d.uid("west", disasterProbe)
	d.declare(disasterNothing)
	d.unlinked(disasterProbe)
	if now := d.uid("west", disasterProbe); now != was {
		d.Errorf("the Service of somebody else had uid %v, and has %v", was, now)
	}
}

// recreatedMeanwhile: a delete names the object that was seen, and hits no other of its name.
func (d *disaster) recreatedMeanwhile() {
	d.linked()
	d.at("west").Fault(func(f *memcluster.Faults) { f.Slow = time.Second })
	var was any
	again := func() {
		if slices.ContainsFunc(d.asked(), func(r string) bool { return strings.Contains(r, "delete Service linkerd-multicluster/probe-east") }) {
			d.bad(d.at("west").Recreate("kubectl", disasterProbe))
			was = d.uid("west", disasterProbe)
		}
	}
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; was == nil && i < 100; i++ {
			<-tick.C
			again()
		}
	}()
	d.declare(disasterNothing)
	<-ended
	if was == nil {
		d.Fatal("the Service was not recreated while it was deleted")
	}
	d.at("west").Fault(func(f *memcluster.Faults) { f.Slow = 0 })
	d.sync(nil)
	d.unlinked(disasterProbe)
	if now := d.uid("west", disasterProbe); now != was {
		d.Errorf("the Service of somebody else had uid %v, and has %v", was, now)
	}
}
