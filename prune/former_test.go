package prune

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// What a controller left in a former namespace goes with its link, too: its lease, once its pods have ended, for as long as
// the inventory names its account.
func TestLeftInFormerNamespace(t *testing.T) {
	in := input(source, moved(perLink()), linkerd.Mirror{})
	lease := object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: "former", Name: linkerd.Lease("east")}
	put(&in.Seen, lease, object.Record{UID: "lease", Rivals: unique.Make("controller")}, object.Body{})
	var gone []object.Key
	for range 20 {
		v := one(t, in, settled())
		if v.Drop {
			break
		}
		for _, c := range v.Go {
			if c.Key == lease && !v.Next.Has(moved([]object.Key{accountKey})[0]) {
				t.Error("the inventory forgets the account before the lease is gone: who goes on after a crash would not look for it")
			}
			drop(&in.Seen, c.Key)
			gone = append(gone, c.Key)
		}
		in.Recorded = []inventory.Inventory{v.Next}
	}
	account := moved([]object.Key{accountKey})[0]
	if i, j := slices.Index(gone, account), slices.Index(gone, lease); i < 0 || j < i {
		t.Errorf("the account goes as number %d, and the lease as %d, of %v", i, j, gone)
	}
}

// Where somebody else links the target from that namespace by then, they are in use.
func TestFormerNamespaceOfOthers(t *testing.T) {
	in := input(source, moved([]object.Key{accountKey, linkKey}), linkerd.Mirror{})
	lease := object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: "former", Name: linkerd.Lease("east")}
	put(&in.Seen, lease, object.Record{UID: "lease", Rivals: unique.Make("controller")}, object.Body{})
	drop(&in.Seen, moved([]object.Key{accountKey})[0])
	gone := func() []object.Key {
		var keys []object.Key
		for _, c := range one(t, in, settled()).Go {
			keys = append(keys, c.Key)
		}
		return keys
	}
	record(&in.Seen, moved([]object.Key{linkKey})[0], object.Record{UID: "theirs", ResourceVersion: "1"})
	if keys := gone(); slices.Contains(keys, lease) {
		t.Errorf("of others: %v", keys)
	}
	drop(&in.Seen, moved([]object.Key{linkKey})[0])
	if keys := gone(); !slices.Contains(keys, lease) {
		t.Errorf("of nobody: %v", keys)
	}
}

// A controller's pods in a former namespace still write there: nothing but the controller goes before they have ended, whether
// the link moved or goes.
func TestPodsInFormerNamespace(t *testing.T) {
	for name, declared := range map[string]bool{"moved": true, "unlinked": false} {
		in := input(source, moved([]object.Key{accountKey, linkKey}), linkerd.Mirror{})
		if declared {
			in.Wanted[source] = object.Wanted{End: source, Objects: []object.Object{{Key: linkKey}}}
		}
		pod := object.Key{Kind: "Pod", Namespace: "former", Name: "controller-east-1"}
		body, err := json.Marshal(map[string]any{"metadata": metav1.ObjectMeta{Labels: map[string]string{linkerd.ClusterNameLabel: "east"}}})
		if err != nil {
			t.Fatal(err)
		}
		put(&in.Seen, pod, object.Record{UID: "pod"}, object.NewBody(body))
		if got := told(one(t, in, settled())); !strings.HasPrefix(got, "wait: replaced controller: 1 not gone yet") {
			t.Errorf("%s: %s", name, got)
		}
		drop(&in.Seen, pod)
		if got := told(one(t, in, settled())); !strings.HasPrefix(got, "delete Link east") {
			t.Errorf("%s, and the pod is gone: %s", name, got)
		}
	}
}

// Pods or leases that may not be read in a former namespace may be there: nothing that waits for them goes, and its account stays recorded.
func TestHiddenInFormerNamespace(t *testing.T) {
	former := moved([]object.Key{accountKey, linkKey})
	at := api.Cluster{}.WithDefaults().Linkerd
	at.MulticlusterNamespace = "former"
	for _, w := range linkerd.MirrorWatches(at)[2:] {
		name := w.Kind
		for _, declared := range []bool{true, false} {
			in := input(source, former, linkerd.Mirror{})
			if declared {
				in.Wanted[source] = object.Wanted{End: source, Objects: []object.Object{{Key: linkKey}}}
			}
			in.Seen.Hidden = []object.Hidden{{Key: object.Key{Group: w.Group, Kind: w.Kind, Namespace: w.Namespace}, Selector: w.Selector}}
			if v := one(t, in, settled()); len(v.Go) > 0 || v.Waiting == nil || v.Waiting.Code != object.Forbidden {
				t.Errorf("%s, declared %t: %s", name, declared, told(v))
			}
			drop(&in.Seen, moved([]object.Key{accountKey})[0])
			if v := one(t, in, settled()); !v.Next.Has(moved([]object.Key{accountKey})[0]) {
				t.Errorf("%s, declared %t: the account is recorded no more", name, declared)
			}
			in.Seen.Hidden = nil
			if v := one(t, in, settled()); v.Waiting != nil && v.Waiting.Code == object.Forbidden {
				t.Errorf("%s, declared %t, and read: %s", name, declared, told(v))
			}
		}
	}
}

// What lies where the multicluster extension was before has a successor, a controller or not. What only falls away has none,
// wherever it lies: a credential of the control plane, an object of no namespace.
func TestReplacesFormer(t *testing.T) {
	role := object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "else"}
	for k, waits := range map[object.Key]bool{
		deploymentKey: true, moved([]object.Key{linkKey})[0]: true, linkKey: false, planeSecret: false, role: false,
		{Kind: "Secret", Namespace: object.AccessNamespace, Name: "else"}: false,
	} {
		in := input(source, sorted(k), linkerd.Mirror{})
		in.Wanted[source] = object.Wanted{End: source}
		in.Successor = func(object.End) *object.Reason { return object.Because(WaitingForSuccessor, "not ready") }
		if v := one(t, in, settled()); (v.Waiting != nil) != waits || (len(v.Go) == 0) != waits {
			t.Errorf("%s: %s", k, told(v))
		}
	}
}

// What is somebody else's by now, and lies where only the record looks, stays recorded: else it would be seen no more, and what it
// keeps would be swept.
func TestTheirsInFormerNamespace(t *testing.T) {
	for _, k := range moved([]object.Key{linkKey, deploymentKey}) {
		in := input(source, moved(perLink()), linkerd.Mirror{})
		record(&in.Seen, k, object.Record{UID: "x", Mark: object.Unmarked})
		if v := one(t, in, settled()); !v.Next.Has(k) {
			t.Errorf("%s: next %v", k, v.Next.Entries)
		}
		drop(&in.Seen, k)
		if v := one(t, in, settled()); v.Next.Has(k) {
			t.Errorf("%s is gone: next %v", k, v.Next.Entries)
		}
	}
}

// An unlink that goes on in a former namespace has lost its controller's account there when the link is declared again: what the
// controller left there goes nevertheless, and is recorded by that account until then (seed 8026925). So it is where somebody took
// the account away.
func TestDeclaredAgainInFormerNamespace(t *testing.T) {
	account := moved([]object.Key{accountKey})[0]
	lease := object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: "former", Name: linkerd.Lease("east")}
	in := input(source, []object.Key{account}, linkerd.Mirror{})
	in.Recorded[0].Leaving = true
	in.Wanted[source] = object.Wanted{End: source, Objects: []object.Object{{Key: linkKey}}}
	drop(&in.Seen, account)
	put(&in.Seen, lease, object.Record{UID: "lease", Rivals: unique.Make("controller")}, object.Body{})
	if v := one(t, in, settled()); told(v) != "delete Lease service-mirror-write-east" || !v.Next.Has(account) || len(v.Going) > 0 {
		t.Errorf("the lease is there: %s; next %v, going %v", told(v), v.Next.Entries, v.Going)
	}
	for _, k := range moved([]object.Key{linkKey, deploymentKey, accountKey}) {
		record(&in.Seen, k, object.Record{UID: "theirs", ResourceVersion: "1"})
		if v := one(t, in, settled()); told(v) != "" || v.Next.Has(account) {
			t.Errorf("%s is somebody else's: %s; next %v", k, told(v), v.Next.Entries)
		}
		drop(&in.Seen, k)
	}
	drop(&in.Seen, lease)
	if v := one(t, in, settled()); told(v) != "" || v.Next.Has(account) {
		t.Errorf("nothing is there: %s; next %v", told(v), v.Next.Entries)
	}
}

// Endpoints of a Service that is somebody else's by now are not swept in a former namespace, either.
func TestProbeOfOthersInFormerNamespace(t *testing.T) {
	service := moved([]object.Key{probeKey})[0]
	ends := object.Key{Kind: "Endpoints", Namespace: "former", Name: service.Name}
	in := input(source, moved(perLink()), linkerd.Mirror{})
	in.Recorded[0].Entries = moved([]object.Key{accountKey})
	body := object.NewBody([]byte(`{"metadata":{"labels":{"` + linkerd.ClusterNameLabel + `":"east"},"annotations":{"mirror.linkerd.io/remote-gateway-identity":"gateway"}}}`))
	put(&in.Seen, ends, object.Record{UID: "ends", Rivals: unique.Make("controller")}, body)
	takes := func() bool {
		drop(&in.Seen, moved([]object.Key{accountKey})[0])
		return slices.ContainsFunc(one(t, in, settled()).Go, func(c object.Change) bool { return c.Key == ends })
	}
	if !takes() {
		t.Errorf("of our Service: %s", told(one(t, in, settled())))
	}
	record(&in.Seen, service, object.Record{UID: "theirs", ResourceVersion: "1"})
	if takes() {
		t.Error("the Endpoints of somebody else's Service go")
	}
}
