package state

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Cluster is the state of one cluster as last read. It is not Known before the first complete read; Err says why. Watches lists what was read: an
// object that no watch of it covers is unknown, not absent.
type Cluster struct {
	Reading         Reading
	Err             *object.Reason
	Live            object.Observation
	Watches         []object.Watch
	Facts           linkerd.Facts
	SecondNameFacts map[api.ClusterName]linkerd.Facts // by second names, of a cluster that nobody reads; nil: they are read live
	Confinement
	Round int // in which it was read by requests, or could not be
	// Stale is since when it cannot be read, though it could before; zero: it can, or nobody knows since when.
	Stale time.Time
}

// As returns the facts of the cluster by one of its names: a second name has a gateway of its own.
func (s Cluster) As(c *fleet.Cluster) linkerd.Facts {
	if c.Spec.SameAs == "" {
		return s.Facts
	}
	if facts, ok := s.SecondNameFacts[c.Name]; ok {
		return facts
	}
	return s.Facts.WithSecondName(c.Spec, s.Live)
}

// Reading says how complete the last read of a cluster was.
//
//	Unread     nobody knows what is in the cluster
//	Answered   the cluster answered, and could not be read completely
//	Read       the cluster was read: an object that Watches covers and Live does not have is absent
//	Simulated  nobody reads the cluster: an object that Live does not have is absent
type Reading string

// What became of reading a cluster.
const (
	Unread    Reading = ""
	Answered  Reading = "Answered"
	Read      Reading = "Read"
	Simulated Reading = "Simulated"
)

// Known reports whether Live and Facts describe the cluster.
func (s Cluster) Known() bool { return s.Reading == Read || s.Reading == Simulated }

// Confinement says whether admission policies confine linkwright's account in a cluster.
type Confinement struct {
	Gap               string // why they do not; empty: they do
	NotServiceAccount bool   // it is no ServiceAccount, so that none could
}

// Unconfined reports whether admission policies could confine linkwright's account, and do not.
func (c Confinement) Unconfined() bool { return c.Gap != "" && !c.NotServiceAccount }

// View is a link with both its clusters as last read. All decisions about the pair are functions of it.
type View struct {
	Link           fleet.Link
	Source, Target Cluster
	Verification   *Verification  // of its credential; nil: none was tried yet
	Undiscovered   *object.Reason // why the source's control plane has no credential, and its Link names no selector that takes one; nil: it may have
}

// Covers reports whether the object was read, or is known to be absent. A watch of a namespace covers all of it, and a watch by name the objects of
// that name. A watch with a selector covers nothing.
func (s Cluster) Covers(k object.Key) bool {
	if !s.Known() || s.Reading == Simulated {
		return s.Known()
	}
	for _, w := range s.Watches {
		if w.Group == k.Group && w.Kind == k.Kind && w.Selector == "" && covers(w, k) {
			return s.Live.Hides(k) == nil
		}
	}
	return false
}

func covers(w object.Watch, k object.Key) bool {
	if w.Namespace != "" && w.Namespace != k.Namespace {
		return false
	}
	return len(w.Names) == 0 || slices.Contains(w.Names, k.Name)
}

// Verification is the result of verifying a link's credential: this process sent the requests of Linkerd's readers to the target, with the bytes that these
// are to read. It did not send them from the source's pods.
type Verification struct {
	Fingerprint string         // of what was tried: address, CA and login
	At          time.Time      // when
	Why         *object.Reason // what did not pass; nil: all did
	Blocks      bool           // the target refuses it, or its certificate does not fit: its readers would fare no better
	Next        time.Time      // when it is to be tried again; zero: never
}
