// Package inventory has the format of inventories, and of the record in the management cluster, and decides what to write ahead.
//
// An inventory is a ConfigMap in the cluster it describes. It is written ahead of the first write of a
// new key, so it names everything that may have been applied for its end; what is not in it is never deleted.
package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// The persisted format: never change what these mean.
const (
	dataKey = "inventory.json"
	version = 1
	base    = "base"

	// RolloutKey is the key of a base's inventory with the progress of the cluster's rollout, which has a writer of its own.
	RolloutKey = "rollout.json"
)

// Inventory lists what one end may hold in its cluster. Only a base has Commit, Term, Linkerd, Names and Values.
type Inventory struct {
	End     object.End
	Entries []object.Key // sorted
	Leaving bool         // an unlink began: it is finished, never judged again
	// Since is when the unlink began, in UTC and whole seconds; a drain's deadline follows from it. For an end in a target it is since
	// when the source has been unreachable. Zero: neither, or an earlier release began the unlink.
	Since  time.Time
	Commit api.Commit
	Term   int64
	// Linkerd has the declared namespaces from when the base was written; zero: an earlier release wrote it.
	Linkerd api.Linkerd
	Names   []api.ClusterName // second names that the cluster is declared with, sorted
	Values  []Value           // of Linkerd's installation that linkwright set, by path
	Rotate  *Rotation         // of an end in a target: what people ask for; nil: nothing
	// Conditions are the last written conditions of the link, at its source, or of a denial at its target, or of a failed write of a removal at either,
	// in the order of their types.
	Conditions []object.Condition
	Rollout    string        // of a base: the progress of the cluster's rollout, which another writer keeps; empty: none
	Was        object.Record // of the ConfigMap; zero where it does not exist yet
}

// Key names the ConfigMap of an end: <owner>.base or <owner>.<source>.<target>.
func Key(owner string, end object.End) object.Key {
	name := owner + "." + base
	if !end.IsBase() {
		name = owner + "." + string(end.Link.Source) + "." + string(end.Link.Target)
	}
	return object.Key{Kind: "ConfigMap", Namespace: object.AccessNamespace, Name: name}
}

// Paused reports whether somebody paused a cluster from inside it, by the annotation linkwright.dev/paused on the inventory of its base.
func Paused(owner string, observed object.Observation) bool {
	r := observed.Record(Key(owner, object.End{}))
	return r.Mark == object.Ours && r.Paused
}

// RolloutPaused reports whether somebody paused the restarts of workloads in a cluster, by the annotation linkwright.dev/rollout on the inventory of its
// base.
func RolloutPaused(owner string, observed object.Observation) bool {
	r := observed.Record(Key(owner, object.End{}))
	return r.Mark == object.Ours && r.RolloutPaused
}

// Watch is the watch of inventories.
func Watch() object.Watch {
	return object.Watch{Version: "v1", Kind: "ConfigMap", Namespace: object.AccessNamespace, Depth: object.Whole}
}

// Read returns the owner's inventories in a cluster, sorted by end. An inventory that cannot be read is an error beside
// the others, and the cluster must then not be written, because its content is unknown. A foreign ConfigMap with the name of the base
// is an error, too. One with the name of another inventory is ignored: it only conflicts with the inventory of its end.
func Read(owner string, observed object.Observation) (out []Inventory, err error) {
	var failed []string
	for key := range observed.Kind("", "ConfigMap") {
		foreign := observed.Record(key).Mark != object.Ours && key != Key(owner, object.End{})
		if !Named(owner, key) || foreign {
			continue
		}
		inv, err := read(owner, key, observed)
		if errors.Is(err, errOtherName) && key != Key(owner, object.End{}) {
			continue
		}
		if err != nil {
			failed = append(failed, err.Error())
			continue
		}
		out = append(out, inv)
	}
	slices.SortFunc(out, func(a, b Inventory) int { return a.End.Compare(b.End) })
	if slices.Sort(failed); len(failed) > 0 {
		err = errors.New(strings.Join(failed, "; "))
	}
	return out, err
}

// errOtherName means a copy of an inventory under another name. It is an orphan, and no inventory of any end.
var errOtherName = errors.New("it has the name of another inventory")

func read(owner string, key object.Key, observed object.Observation) (Inventory, error) {
	was := observed.Record(key)
	if was.Mark != object.Ours {
		return Inventory{}, fmt.Errorf("%s is %s, but has the name of an inventory: rename or delete it", key, was.Mark)
	}
	body, _ := observed.Body(key) // without one its content is unknown, too
	inv, err := decode(body)
	if err != nil {
		return Inventory{}, fmt.Errorf("read %s: %w", key, err)
	}
	if Key(owner, inv.End) != key {
		return Inventory{}, fmt.Errorf("read %s: %w: it describes %s", key, errOtherName, inv.End)
	}
	inv.Was = was
	return inv, nil
}

// Base is Read for the base alone, under any name of the cluster; false: there is none.
func Base(owner string, observed object.Observation) (Inventory, bool, error) {
	key := Key(owner, object.End{})
	if observed.Record(key).IsZero() {
		return Inventory{}, false, nil
	}
	inv, err := read(owner, key, observed)
	return inv, err == nil, err
}

// ReadBase is Base without an error: it also returns false if the base cannot be read.
func ReadBase(owner string, observed object.Observation) (Inventory, bool) {
	inv, found, _ := Base(owner, observed)
	return inv, found
}

func decode(body object.Body) (Inventory, error) {
	w, err := decodeConfigMap(body)
	if err != nil {
		return Inventory{}, err
	}
	if w.Version != version {
		return Inventory{}, fmt.Errorf("key %s: this version of linkwright cannot read version %d (it writes %d)", dataKey, w.Version, version)
	}
	end := object.End{Cluster: w.Cluster, Link: api.Pair{Source: w.Source, Target: w.Target}}
	if w.Cluster == "" || (w.Source == "") != (w.Target == "") {
		return Inventory{}, fmt.Errorf("key %s: cluster, source or target is missing", dataKey)
	}
	var progress string
	if end.IsBase() {
		w.Conditions = nil
		progress, _ = body.Text("data", RolloutKey)
	}
	return Inventory{
		End: end, Conditions: knownConditions(w.Conditions), Entries: sorted(w.Entries), Leaving: w.Leaving, Since: w.leavingSince(), Term: w.Term,
		Linkerd: w.Linkerd, Names: w.Names, Values: w.Values, Rotate: w.Rotate, Rollout: strings.Clone(progress),
		Commit: api.Commit(strings.Clone(string(w.Commit))), // it is kept for long, and must not keep what it was read from
	}, nil
}

// sorted are keys in order, each once.
func sorted(keys []object.Key) []object.Key {
	if !slices.IsSortedFunc(keys, object.Key.Compare) {
		slices.SortFunc(keys, object.Key.Compare)
	}
	return slices.Compact(keys)
}

// Object is the ConfigMap to write.
func (i Inventory) Object(owner string) (object.Object, error) {
	data, err := json.Marshal(wire{
		Version: version, Cluster: i.End.Cluster, Source: i.End.Link.Source, Target: i.End.Link.Target,
		Leaving: i.Leaving, Since: i.Since, Commit: i.Commit, Term: i.Term, Conditions: i.Conditions,
		Linkerd: i.Linkerd, Names: i.Names, Values: i.Values, Rotate: i.Rotate, Entries: i.Entries,
	})
	if err != nil {
		return object.Object{}, err
	}
	key := Key(owner, i.End)
	cm := coreac.ConfigMap(key.Name, key.Namespace).WithData(map[string]string{dataKey: string(data)})
	return object.New(object.Spec{
		Key: key, Version: "v1", Phase: object.PhaseAccess, Owner: owner,
		Meta: cm.ObjectMetaApplyConfiguration, Config: cm,
	})
}

// Has reports whether the inventory lists the key.
func (i Inventory) Has(k object.Key) bool {
	_, ok := slices.BinarySearchFunc(i.Entries, k, object.Key.Compare)
	return ok
}

// Settle is the inventory to write before the next writes: it lists every desired key, and all other keys
// that are not confirmed to be gone.
func (i Inventory) Settle(wanted []object.Key, gone func(object.Key) bool) Inventory {
	keys := slices.Clone(wanted)
	for _, k := range i.Entries {
		if !gone(k) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, object.Key.Compare)
	i.Entries = slices.Compact(keys)
	return i
}

// Lists reports whether the entries are exactly the keys of these objects, so that Settle changes nothing. It is a fast path for
// up to 64 objects, and false for more.
func (i Inventory) Lists(objects []object.Object) bool {
	if len(objects) != len(i.Entries) || len(objects) > 64 {
		return false
	}
	var found uint64 // one bit for each entry
	for o := range objects {
		at, ok := slices.BinarySearchFunc(i.Entries, objects[o].Key, object.Key.Compare)
		if !ok {
			return false
		}
		found |= 1 << at
	}
	return found == 1<<len(objects)-1
}

// Leave marks the inventory as leaving, since now if the unlink begins.
func (i Inventory) Leave(now time.Time) Inventory {
	if !i.Leaving {
		i.Leaving, i.Since, i.Conditions = true, now.UTC().Truncate(time.Second), nil
	}
	return i
}

// Stay is the inventory of a declared end, even if an unlink had begun: conditions of that are of no use to the link.
func (i Inventory) Stay() Inventory {
	if i.Leaving {
		i.Conditions = nil
	}
	i.Leaving, i.Since = false, time.Time{}
	return i
}

// Same reports whether writing j over i would change nothing.
func (i Inventory) Same(j Inventory) bool {
	return i.End == j.End && i.Leaving == j.Leaving && i.Since.Equal(j.Since) && i.Commit == j.Commit && i.Term == j.Term &&
		i.Linkerd == j.Linkerd && slices.Equal(i.Names, j.Names) && slices.Equal(i.Values, j.Values) && slices.Equal(i.Entries, j.Entries) && i.Rotate.same(j.Rotate) &&
		slices.EqualFunc(i.Conditions, j.Conditions, object.Condition.Same)
}
