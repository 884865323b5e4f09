package cluster

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/linkwright/linkwright/object"
)

// condition is how a feed stands.
type condition uint8

const (
	trying   condition = iota // not everything is read yet
	complete                  // and kept up
	polled                    // as it was read last: nobody lets linkwright watch it
	absent                    // the kind is not served
	hidden                    // nobody lets linkwright read it, and the scope may be hidden
	broken                    // the last try failed
)

// feed keeps what a scope shows, as it is now. Only its own goroutine changes items and at; all but the first four are
// guarded by the lock of feeds.
type feed struct {
	scope       scope
	stop        context.CancelFunc
	again       chan struct{} // capacity 1: to be read again: what is polled, or a kind that is not served
	interrupted bool          // the last watch did not last its time; its own goroutine's alone

	condition condition
	err       error         // broken
	since     time.Time     // absent: when that was found
	items     []object.Item // sorted
	shared    bool          // the items are somebody else's, too: they must not be changed in place
	at        string        // the resourceVersion that is reached; empty: everything is to be listed
	pending   map[object.Key]pendingWrite
	picks     labels.Selector // the scope's, once it was asked for
}

// complete reports whether everything is read, and read again.
func (f *feed) complete() bool { return f.condition == complete || f.condition == polled }

// pendingWrite is a write of linkwright that a feed has not shown yet.
type pendingWrite struct {
	number  uint64 // in the order of the client's writes
	version string // to be reached
	uid     string // deleted: it is gone, or another, or being deleted
}

func (f *feed) key(it object.Item) object.Key {
	return object.Key{Group: f.scope.kind.Group, Kind: f.scope.kind.Kind, Namespace: it.Namespace, Name: it.Name}
}

// find returns where an object is, or would be, and nil where it is not.
func (f *feed) find(namespace, name string) (int, *object.Item) {
	i, ok := slices.BinarySearchFunc(f.items, object.Item{Namespace: namespace, Name: name}, object.Item.Compare)
	if !ok {
		return i, nil
	}
	was := f.items[i]
	return i, &was
}

// apply makes the items as an event shows them, and gives what it found before.
func (f *feed) apply(e event) (was, now *object.Item) {
	i, was := f.find(e.item.Namespace, e.item.Name)
	if e.kind == watch.Deleted {
		if was != nil {
			f.copyItems()
			f.items = slices.Delete(f.items, i, i+1)
		}
		return was, nil
	}
	f.copyItems()
	if was != nil {
		f.items[i] = e.item
	} else {
		f.items = slices.Insert(f.items, i, e.item)
	}
	return was, &e.item
}

// copyItems makes the items the feed's alone.
func (f *feed) copyItems() {
	if f.shared {
		f.items, f.shared = slices.Clone(f.items), false
	}
}

// differences gives what two sorted lists do not have in common, one pair for each object.
func differences(was, now []object.Item, yield func(was, now *object.Item)) {
	for len(was)+len(now) > 0 {
		switch {
		case len(now) == 0 || len(was) > 0 && was[0].Compare(now[0]) < 0:
			yield(&was[0], nil)
			was = was[1:]
		case len(was) == 0 || was[0].Compare(now[0]) > 0:
			yield(nil, &now[0])
			now = now[1:]
		default:
			if was[0].Record != now[0].Record || !was[0].Body.Equal(now[0].Body) {
				yield(&was[0], &now[0])
			}
			was, now = was[1:], now[1:]
		}
	}
}

// sameItem reports whether nothing differs between two items of one object that a step could depend on: nothing but the resourceVersion, of the
// record and in the metadata of the body.
func sameItem(was, now *object.Item) bool {
	if was == nil || now == nil {
		return was == now
	}
	r := was.Record
	if r.ResourceVersion = now.Record.ResourceVersion; r != now.Record {
		return false
	}
	field := func(version string) []byte { return fmt.Appendf(nil, "%q:%q", "resourceVersion", version) }
	body := bytes.Replace(was.Body.Bytes(), field(was.Record.ResourceVersion), field(now.Record.ResourceVersion), 1)
	return bytes.Equal(body, now.Body.Bytes())
}

// selects reports whether a feed is about an object: body, of whatever a write wanted there, tells its labels.
func (f *feed) selects(key object.Key, body object.Body) bool {
	s := f.scope
	if s.kind.Group != key.Group || s.kind.Kind != key.Kind || s.name != "" && s.name != key.Name ||
		s.namespace != "" && s.namespace != key.Namespace {
		return false
	}
	if s.selector == "" {
		return true
	}
	if _, it := f.find(key.Namespace, key.Name); it != nil {
		return true
	}
	if f.picks == nil {
		picks, err := labels.Parse(s.selector)
		if err != nil {
			return false
		}
		f.picks = picks
	}
	return f.picks.Matches(labels.Set(labelsOf(body)))
}

// caughtUp reports whether the feed has shown a write of linkwright, or what became of it since.
func (f *feed) caughtUp(key object.Key, d pendingWrite) bool {
	_, it := f.find(key.Namespace, key.Name)
	switch {
	case it == nil:
		return reaches(f.at, d.version)
	case d.uid != "":
		return it.Record.UID != d.uid || it.Record.Terminating
	}
	return reaches(it.Record.ResourceVersion, d.version) || reaches(f.at, d.version)
}

// explains reports whether a change that a feed shows is what a write of linkwright did, or what it was done upon: at is the resourceVersion of the
// event.
func (d pendingWrite) explains(was, now *object.Item, at string) bool {
	switch {
	case d.uid == "":
		return reaches(d.version, at)
	case now == nil:
		return was == nil || was.Record.UID == d.uid && !was.Record.Terminating
	}
	return now.Record.UID == d.uid && (now.Record.Terminating || reaches(d.version, at))
}

// reaches reports whether a resourceVersion is another one, or later. What cannot be compared does not.
func reaches(at, version string) bool {
	order, err := resourceversion.CompareResourceVersion(at, version)
	return err == nil && order >= 0 || at == version && at != ""
}
