package sync

import (
	"maps"
	"reflect"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// mostLooks bounds the lists that are kept to be shared: clusters that differ in what is looked at are all different.
const mostLooks = 8

// looks are lists of what is looked at in clusters, the last used one first. Most clusters are looked at alike: one list does
// for all of them.
type looks [][]object.Watch

// one gives the list that is kept for one like it; nobody changes it any more.
func (l *looks) one(list, last []object.Watch) []object.Watch {
	if reflect.DeepEqual(list, last) {
		return last
	}
	at := slices.IndexFunc(*l, func(kept []object.Watch) bool { return reflect.DeepEqual(kept, list) })
	if at < 0 {
		*l = slices.Insert((*l)[:min(len(*l), mostLooks-1)], 0, list)
		return list
	}
	kept := (*l)[at]
	*l = slices.Insert(slices.Delete(*l, at, at+1), 0, kept)
	return kept
}

// share gives the list to keep for what is to be looked at in a cluster, and was last.
func (b *board) share(list, last []object.Watch) []object.Watch {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.looks.one(list, last)
}

// looked is what was looked at in a cluster last.
func (b *board) looked(name api.ClusterName) []object.Watch {
	b.mu.Lock()
	defer b.mu.Unlock()
	if looked := b.sides.at[name].Looked; looked != nil {
		return looked
	}
	return b.before[name]
}

// allLooked is what was looked at last in each cluster; b.mu is held.
func (b *board) allLooked() map[api.ClusterName][]object.Watch {
	out := map[api.ClusterName][]object.Watch{}
	maps.Copy(out, b.before)
	for name, side := range b.sides.at {
		if side.Looked != nil {
			out[name] = side.Looked
		}
	}
	return out
}

// watching is what was looked at last in each cluster, for the next board: with less than that, watches would end.
func (b *board) watching() map[api.ClusterName][]object.Watch {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.allLooked()
}
