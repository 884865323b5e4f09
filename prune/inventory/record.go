package inventory

import (
	"encoding/json"
	"fmt"

	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Record is the record in the management cluster of every cluster that linkwright has written to: its access and its identity, no
// credentials. With it linkwright finds clusters that are no longer declared, and notices when a name means another cluster.
type Record struct {
	Clusters   map[api.ClusterName]KnownCluster
	Limits     *Limits    // nil: not known yet
	Approvals  []Approval // in the order in which they were given
	Unread     []string   // approvals that this release cannot read, as they stand there: they are kept, and nothing follows from them
	Denied     *Denial    // nil: nothing is
	Unreadable []string   // limits and denial that this release could not read, as they stood there: the strictest count instead
	Decisions  []Decision // of people, sorted; nobody changes it in place
	Revision   Revision
	Removed    []RemovedLink // of the last week, the newest last; nobody changes it in place
	Was        object.Record // of the ConfigMap; zero where it does not exist yet
}

// KnownCluster is one recorded cluster. UID is that of its kube-system namespace, or empty if it was not read yet. Pending is sorted
// by link.
type KnownCluster struct {
	UID     string            `json:"uid"`
	Access  api.Access        `json:"access"`
	Linkerd api.Linkerd       `json:"linkerd"`
	Names   []api.ClusterName `json:"names,omitempty"` // second names that it is declared with, sorted
	Pending []Pending         `json:"pendingCleanup,omitempty"`
	// Leaving: its removal was allowed, or declared with state: Leaving. It is always finished.
	Leaving bool `json:"leaving,omitempty"`
}

const fleetKey = "fleet.json"

type wireRecord struct {
	Version   int                              `json:"version"`
	Clusters  map[api.ClusterName]KnownCluster `json:"clusters"`
	Limits    limitField[Limits]               `json:"limits,omitzero"`
	Approvals json.RawMessage                  `json:"approvals,omitempty"` // see readApprovals
	Denied    limitField[Denial]               `json:"denied,omitzero"`
	Decisions []Decision                       `json:"decisions,omitempty"`
	Revision  Revision                         `json:"revision,omitzero"`
	Removed   []RemovedLink                    `json:"removed,omitempty"`
}

// RecordKey names the ConfigMap in the management cluster: linkwright-fleet, for another owner linkwright-<owner>-fleet.
func RecordKey(owner, namespace string) object.Key {
	return object.Key{Kind: "ConfigMap", Namespace: namespace, Name: object.Manager(owner) + "-fleet"}
}

// ReadRecord reads the record from what was read of the management cluster; an absent one is empty.
func ReadRecord(key object.Key, observed object.Observation) (Record, error) {
	r := Record{Clusters: map[api.ClusterName]KnownCluster{}, Was: observed.Record(key)}
	body, ok := observed.Body(key)
	if !ok {
		return r, nil
	}
	if r.Was.Mark != object.Ours {
		return r, fmt.Errorf("%s is %s, but has the name of the record of clusters: rename or delete it", key, r.Was.Mark)
	}
	var cm struct {
		Data map[string]string `json:"data"`
	}
	if err := json.Unmarshal(body.Bytes(), &cm); err != nil {
		return r, fmt.Errorf("read %s: %w", key, err)
	}
	w := wireRecord{Clusters: r.Clusters}
	if err := json.Unmarshal([]byte(cm.Data[fleetKey]), &w); err != nil {
		return r, fmt.Errorf("read %s: key %s: %w", key, fleetKey, err)
	}
	if w.Version != version {
		return r, fmt.Errorf("read %s: key %s: this version of linkwright cannot read version %d (it writes %d)", key, fleetKey, w.Version, version)
	}
	if w.Clusters != nil { // a spelled null
		r.Clusters = w.Clusters
	}
	r.setLimits(w.Limits, w.Denied)
	r.Approvals, r.Unread = readApprovals(w.Approvals)
	r.Decisions = inOrder(w.Decisions)
	r.Revision, r.Removed = w.Revision, w.Removed
	return r, nil
}

// Object is the ConfigMap to write.
func (r Record) Object(owner, namespace string) (object.Object, error) {
	approvals, err := writeApprovals(r.Approvals, r.Unread)
	if err != nil {
		return object.Object{}, err
	}
	data, err := json.Marshal(wireRecord{
		Version: version, Clusters: r.Clusters, Decisions: inOrder(r.Decisions), Limits: limitField[Limits]{value: r.Limits}, Approvals: approvals, Denied: limitField[Denial]{value: r.Denied},
		Revision: r.Revision, Removed: r.Removed,
	})
	if err != nil {
		return object.Object{}, err
	}
	key := RecordKey(owner, namespace)
	cm := coreac.ConfigMap(key.Name, key.Namespace).WithData(map[string]string{fleetKey: string(data)})
	return object.New(object.Spec{
		Key: key, Version: "v1", Phase: object.PhaseAccess, Owner: owner,
		Meta: cm.ObjectMetaApplyConfiguration, Config: cm,
	})
}
