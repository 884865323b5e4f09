package sync

import (
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// factual returns a reconcile of east, of which so much is known by a declaration.
func factual(known state.Cluster, spec api.Cluster) *reconcile {
	u := &reconcile{reader: reader{shared: newShared(&Loop{}, 1), cluster: fleet.Cluster{Name: "east", Spec: spec}}}
	u.store.Enter(&fleet.Fleet{Clusters: []fleet.Cluster{u.cluster}}, inventory.Record{})
	u.store.PutCluster("east", known, u.store.Declared.Epoch())
	u.store.Clusters.SetReadBy("east", spec)
	return u
}

// Facts are decoded again when what they are read from changes, or how the cluster is declared, and at no other time.
func TestFactsAreReused(t *testing.T) {
	spec := api.Cluster{APIServer: "https://a"}.WithDefaults()
	observed := func(uid, root string) object.Observation {
		e := object.Observation{}.Edit()
		e.Put(object.Key{Kind: "Namespace", Name: "kube-system"}, object.Record{UID: uid}, object.Body{})
		e.Put(object.Key{Kind: "ConfigMap", Namespace: "kube-system", Name: "kube-root-ca.crt"}, object.Record{UID: "x"}, object.NewBody([]byte(`{"data":{"ca.crt":"`+root+`"}}`)))
		return e.Observation()
	}
	served := observed("uid", "ca")
	served.Unserved = []string{"Link.v1alpha3.multicluster.linkerd.io"}
	moved := observed("uid", "ca")
	moved.Server = "https://elsewhere"
	elsewhere := spec
	elsewhere.APIServer = "https://b"
	for name, tt := range map[string]struct {
		spec  api.Cluster
		seen  object.Observation
		known state.Reading
		reuse bool
	}{
		"as it was":         {spec, observed("uid", "ca"), state.Read, true},
		"another identity":  {spec, observed("other", "ca"), state.Read, false},
		"another CA":        {spec, observed("uid", "cb"), state.Read, false},
		"another kind gone": {spec, served, state.Read, false},
		"another address":   {spec, moved, state.Read, false},
		"declared anew":     {elsewhere, observed("uid", "ca"), state.Read, false},
		"unknown before":    {spec, observed("uid", "ca"), state.Unread, false},
	} {
		u := factual(state.Cluster{Reading: tt.known, Live: observed("uid", "ca"), Confinement: state.Confinement{Gap: "of before"}, Facts: linkerd.Facts{Version: "as it was"}}, spec)
		u.cluster.Spec = tt.spec
		live := state.Cluster{Live: tt.seen}
		if u.addFacts(&live); (live.Facts.Version == "as it was") != tt.reuse {
			t.Errorf("%s: reused %v, want %v", name, live.Facts.Version, tt.reuse)
		}
		if live.Gap == "of before" { // another observation: who we are is asked anew
			t.Errorf("%s: whether policies confine linkwright is told by what was seen before", name)
		}
	}
}

// Watches that nothing changed in give the very same observation, which tells the same.
func TestSameObservation(t *testing.T) {
	e := object.Observation{}.Edit()
	e.Put(object.Key{Kind: "Namespace", Name: "kube-system"}, object.Record{UID: "u"}, object.Body{})
	same := e.Observation()
	u := factual(state.Cluster{Reading: state.Read, Live: same, Confinement: state.Confinement{Gap: "of before"}, Facts: linkerd.Facts{Version: "as it was"}}, api.Cluster{}.WithDefaults())
	live := state.Cluster{Live: same}
	if u.addFacts(&live); live.Gap != "of before" || live.Facts.Version != "as it was" {
		t.Errorf("it was looked at again: %q, %q", live.Gap, live.Facts.Version)
	}
}
