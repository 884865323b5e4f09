// Package inventory answers: what did we write down about an end? Format, names and write-ahead arithmetic.
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
)

// Inventory is what one end may hold in its cluster. Only a base carries Commit, Term, Linkerd and Names.
type Inventory struct {
	End     object.End
	Entries []object.Key // sorted
	Leaving bool         // an unlink began: it is finished, never judged again
	// Since is when it began, in UTC and whole seconds: what a drain's deadline is counted from. Of an end in a target: when its
	// source was first found dead, and not heard since. Zero: neither is, or an earlier release began it.
	Since  time.Time
	Commit api.Commit
	Term   int64
	// Linkerd is where the cluster has it, as it was declared when the base was written; zero: an earlier release wrote it.
	Linkerd api.Linkerd
	Names   []api.ClusterName // second names that the cluster is declared with, sorted
	Rotate  *Rotation         // of an end in a target: what people ask for; nil: nothing
	// Conditions are what was told last of the link of an end in a source, or of a denial of one in a target, in the order of their
	// types.
	Conditions []object.Condition
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

// Watch is where inventories are found.
func Watch() object.Watch {
	return object.Watch{Version: "v1", Kind: "ConfigMap", Namespace: object.AccessNamespace, Depth: object.Whole}
}

// Read returns the owner's inventories among what was seen in a cluster, sorted by end. Each of ours that we
// cannot read is an error beside them, and the cluster must then not be written: its content is unknown. So is a ConfigMap of
// others that has the name of the base. One that has the name of another inventory is none: it only stands in the way of its end.
func Read(owner string, seen object.Observation) (out []Inventory, err error) {
	var failed []string
	for key := range seen.Kind("", "ConfigMap") {
		foreign := seen.Record(key).Mark != object.Ours && key != Key(owner, object.End{})
		if !Named(owner, key) || foreign {
			continue
		}
		inv, err := read(owner, key, seen)
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

// errOtherName: a copy of an inventory under another name. It is an orphan, and tells nothing of any end.
var errOtherName = errors.New("it has the name of another inventory")

func read(owner string, key object.Key, seen object.Observation) (Inventory, error) {
	was := seen.Record(key)
	if was.Mark != object.Ours {
		return Inventory{}, fmt.Errorf("%s is %s, but has the name of an inventory: rename or delete it", key, was.Mark)
	}
	body, _ := seen.Body(key) // without one its content is unknown, too
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

// Base is Read for the base alone, under whichever name of the cluster; false: there is none.
func Base(owner string, seen object.Observation) (Inventory, bool, error) {
	key := Key(owner, object.End{})
	if seen.Record(key).IsZero() {
		return Inventory{}, false, nil
	}
	inv, err := read(owner, key, seen)
	return inv, err == nil, err
}

// ReadBase is Base for who needs no reason: false, too, where it cannot be read.
func ReadBase(owner string, seen object.Observation) (Inventory, bool) {
	inv, found, _ := Base(owner, seen)
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
	if end.IsBase() {
		w.Conditions = nil
	}
	return Inventory{
		End: end, Conditions: knownConditions(w.Conditions), Entries: sorted(w.Entries), Leaving: w.Leaving, Since: w.leavingSince(), Term: w.Term,
		Linkerd: w.Linkerd, Names: w.Names, Rotate: w.Rotate,
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
		Linkerd: i.Linkerd, Names: i.Names, Rotate: i.Rotate, Entries: i.Entries,
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

// Has reports whether the key was written down.
func (i Inventory) Has(k object.Key) bool {
	_, ok := slices.BinarySearchFunc(i.Entries, k, object.Key.Compare)
	return ok
}

// Settle is the inventory to have before the next write: every wanted key, and of the others those
// that are not confirmed gone.
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

// Lists reports whether the keys of these objects are all its entries, and nothing is to be settled. Mostly so: it is asked for
// each end in each plan. It says so of no more than 64.
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

// Leave is the inventory of an unlink that begins now, or has begun.
func (i Inventory) Leave(now time.Time) Inventory {
	if !i.Leaving {
		i.Leaving, i.Since, i.Conditions = true, now.UTC().Truncate(time.Second), nil
	}
	return i
}

// Stay is the inventory of an end that is declared, whatever had begun.
func (i Inventory) Stay() Inventory {
	i.Leaving, i.Since = false, time.Time{}
	return i
}

// Same reports whether writing j over i would change nothing.
func (i Inventory) Same(j Inventory) bool {
	return i.End == j.End && i.Leaving == j.Leaving && i.Since.Equal(j.Since) && i.Commit == j.Commit && i.Term == j.Term &&
		i.Linkerd == j.Linkerd && slices.Equal(i.Names, j.Names) && slices.Equal(i.Entries, j.Entries) && i.Rotate.same(j.Rotate) &&
		slices.EqualFunc(i.Conditions, j.Conditions, object.Condition.Same)
}
