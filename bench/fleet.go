package main

import (
	"context"
	"crypto/sha1"
	"fmt"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
	lw "github.com/linkwright/linkwright/sync"
)

// source is the name of the cluster that all links have as their source: the real one.
const source api.ClusterName = "west"

// perLink is how many objects a link has in its source: Secret, ServiceAccount, Role, two bindings, Linkerd Link, Service,
// Deployment, and the inventory.
const perLink = 9

// discoveryFields is what a link declares with -discovery. It has one object more, the control plane's Secret; and its Linkerd
// Link is written twice: it names these selectors only once that Secret is there.
const discoveryFields = ", remoteDiscoverySelector: {matchLabels: {mirror.linkerd.io/exported: remote-discovery}}" +
	", federatedServiceSelector: {matchLabels: {mirror.linkerd.io/federated: member}}"

// defaultLogLevel is how a controller logs where nothing else is declared.
const defaultLogLevel = "info"

// declared are links from one source to many targets, in a fleet whose commits follow each other.
type declared struct {
	extraFields string // in the spec of each link

	mu    sync.Mutex
	fleet *fleet.Fleet
}

// declare makes the fleet; the controllers of the first links, as many as changed, log at another level.
func (d *declared) declare(links, changed int, level string) error {
	var text strings.Builder
	text.WriteString(policyDoc + clusterDoc(string(source)))
	for i := range links {
		name := target(i)
		text.WriteString(clusterDoc(name))
		as := defaultLogLevel
		if i < changed {
			as = level
		}
		fmt.Fprintf(&text, "---\napiVersion: %s\nkind: Link\nmetadata: {name: %s-%s}\nspec: {source: %s, target: %s, controller: {logLevel: %s}%s}\n",
			api.GroupVersion, source, name, source, name, as, d.extraFields)
	}
	return d.load(text.String())
}

// declareUnlinked makes a fleet of the same clusters without links.
func (d *declared) declareUnlinked(links int) error {
	var text strings.Builder
	text.WriteString(policyDoc + clusterDoc(string(source)))
	for i := range links {
		text.WriteString(clusterDoc(target(i)))
	}
	return d.load(text.String())
}

func (d *declared) load(text string) error {
	commit := api.Commit(fmt.Sprintf("%x", sha1.Sum([]byte(text)))) //nolint:gosec // it is to look like one of Git
	f, problems := fleet.Load(commit, fstest.MapFS{"fleet.yaml": {Data: []byte(text)}})
	if f == nil {
		return fmt.Errorf("load fleet: %v", problems[0])
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fleet = f
	return nil
}

// policyDoc polls as often as it may be: so a daemon's passes come soon.
const policyDoc = "---\napiVersion: " + api.GroupVersion + "\nkind: SyncPolicy\nmetadata: {name: policy}\nspec: {interval: 5s}\n"

// Clusters are declared so that nothing must be known of them but what is read from them.
func clusterDoc(name string) string {
	return fmt.Sprintf("---\napiVersion: %s\nkind: Cluster\nmetadata: {name: %s}\n"+
		"spec: {access: {kubeconfigSecret: {name: %s}}, apiServer: 'https://%s.example.com:6443'}\n", api.GroupVersion, name, name, name)
}

func target(i int) string { return fmt.Sprintf("east-%04d", i) }

// Next implements sync.Declared.
func (d *declared) Next(context.Context) (lw.Declaration, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return lw.Declaration{Commit: d.fleet.Commit, Fleet: d.fleet}, nil
}

// At implements sync.Declared.
func (d *declared) At(_ context.Context, commit api.Commit) (lw.Declaration, error) {
	return lw.Declaration{}, fmt.Errorf("commit %s is not kept", commit)
}

// Follows implements sync.Declared: whatever is declared follows what was.
func (*declared) Follows(context.Context, api.Commit, api.Commit, []api.Commit) error { return nil }
