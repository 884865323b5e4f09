package store

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// View is a snapshot, with what tells whether a step from it is still what it was.
type View struct {
	state.Snapshot
	Moves      int    // how often a cluster had changed in what others depend on
	record     string // the version of the record
	rules      sum    // which commits are barred, and which clusters are known as whom
	digests    map[api.ClusterName]clusterDigest
	sharedMaps [3]*int // of Clusters, shown and Proofs
}

// Basis is all that a step is planned from but the cluster's own objects and the time, in short. It is compared.
type Basis struct {
	fleet  *fleet.Fleet
	record string
	rules  sum
	peers  sum
}

// View returns the snapshot of an epoch to plan writes from; false: that epoch is over, or what is declared is not applied. It is on loan: see
// Return.
func (s *Store) View(epoch int) (View, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Declared.ifApplied() == nil || s.Declared.epoch != epoch {
		return View{}, false
	}
	was := s.Record.last.Was
	v := View{Snapshot: s.bare(), record: was.UID + " " + was.ResourceVersion, Moves: s.Clusters.moves}
	v.Clusters, v.sharedMaps[0] = s.Clusters.at.lend()
	v.DuplicateUIDs = s.Clusters.counted()
	v.digests, v.sharedMaps[1] = s.Clusters.digests.lend()
	if s.settings.Verifies {
		if v.Verifications, v.sharedMaps[2] = s.Credentials.proofs.lend(); v.Verifications == nil {
			v.Verifications = map[api.ClusterName]map[api.ClusterName]state.Verification{}
		}
	}
	v.rules = s.rules.at([3]int{s.Declared.version, s.Clusters.identities}, v.ruled)
	return v, true
}

// Release gives a view back: nobody may read its maps any more. One that is not given back stays as it is.
func (s *Store) Release(v View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, loan := range v.sharedMaps {
		if loan != nil {
			*loan--
		}
	}
}

func (v View) ruled() sum {
	var h bytes.Buffer
	for _, commit := range slices.Sorted(maps.Keys(v.DeniedAfter)) {
		fmt.Fprintln(&h, commit, v.DeniedAfter[commit].Message)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Clusters)) {
		fmt.Fprintln(&h, name, v.Clusters[name].Known(), v.Clusters[name].Facts.UID)
	}
	return sha256.Sum256(h.Bytes())
}

// Basis returns that of a step: what its peers show is a part of it.
func (v View) Basis(s plan.Step) Basis {
	h := sha256.New()
	for _, peer := range v.peers(s) {
		shown := v.digests[peer]
		h.Write(shown.sum[:])
		h.Write([]byte(because(v.DeniedAfter, shown.commit)))
	}
	return Basis{fleet: v.Fleet, record: v.record, rules: v.rules, peers: sum(h.Sum(nil))}
}

// Outdated reports whether a step, planned in an epoch after so many moves, may differ by what its peers show since.
func (s *Store) Outdated(step plan.Step, epoch, moves int) bool {
	v, ok := s.View(epoch)
	defer s.Release(v)
	return ok && slices.ContainsFunc(v.peers(step), func(peer api.ClusterName) bool { return v.digests[peer].moved > moves })
}

// because returns why a commit is barred; empty: it is not.
func because(barred map[api.Commit]*object.Reason, commit api.Commit) string {
	if why := barred[commit]; why != nil {
		return why.Message
	}
	return ""
}

// peers returns the clusters at the other ends of all links of a step's cluster, declared or not.
func (v View) peers(s plan.Step) []api.ClusterName {
	var out []api.ClusterName
	for _, l := range v.Fleet.Out(s.Cluster) {
		out = append(out, l.Target.Canonical())
	}
	for _, l := range v.Fleet.In(s.Cluster) {
		out = append(out, l.Source.Name)
	}
	for _, r := range s.Rows {
		out = append(out, r.Other)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(n api.ClusterName) bool { return n == s.Cluster || n == "" })
}

// Snapshot returns all that is known now. Nothing in it changes any more.
func (s *Store) Snapshot() state.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.bare()
	w.Clusters, w.DuplicateUIDs = s.Clusters.at.all(), s.Clusters.counted()
	return w
}

// ForReading returns a snapshot with no clusters but those that a cluster's links lead to: all that must be known to read it. So what the store keeps need
// not be copied for each cluster that is read.
func (s *Store) ForReading(name api.ClusterName) state.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.bare()
	w.Clusters = map[api.ClusterName]state.Cluster{}
	for _, l := range s.Declared.fleet.Out(name) {
		if read, ok := s.Clusters.at.at[l.Target.Canonical()]; ok {
			w.Clusters[l.Target.Canonical()] = read
		}
	}
	return w
}

// bare returns a snapshot without clusters. s.mu is held.
func (s *Store) bare() state.Snapshot {
	w := state.Snapshot{
		Installation: s.settings.Installation,
		Declarations: state.Declarations{Fleet: s.Declared.fleet, Departed: s.Declared.departed, DeniedAfter: s.Declared.answers.denies(s.Declared.fleet)},
		Record:       s.Record.remembers, Options: s.settings.Options, Process: s.settings.Process, Takeover: s.settings.Takeover,
		Results: s.Corrections.asResults(), Round: s.round, Now: time.Now(),
	}
	w.WrittenElsewhere, w.IssuedCredentials = s.Results.elsewhere, s.Credentials.issued.all()
	return w
}

// Carried returns the commits that clusters carry.
func (s *Store) Carried() map[api.ClusterName]api.Commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.carried.at([3]int{s.Declared.epoch, s.Clusters.versions, s.Record.version}, func() map[api.ClusterName]api.Commit {
		w := s.bare()
		w.Clusters = s.Clusters.at.at // no longer than this call
		return state.Identify(w).AllApplied()
	})
}

// Concerned reports whether keys of a cluster may be linkwright's, or are what other clusters depend on.
func (s *Store) Concerned(name api.ClusterName, keys []object.Key) bool {
	observed := s.Clusters.Last(name).Live
	return slices.ContainsFunc(keys, func(k object.Key) bool { return shows(k) || observed.Record(k).Mark == object.Ours })
}

// Neighbours returns the clusters whose steps wait for this one, whose own end of a link may be gone already; with declared, also those at the other
// ends of its declared links.
func (s *Store) Neighbours(name api.ClusterName, declared bool) []api.ClusterName {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []api.ClusterName
	if declared {
		for _, l := range s.Declared.fleet.Out(name) {
			out = append(out, l.Target.Canonical())
		}
		for _, l := range s.Declared.fleet.In(name) {
			out = append(out, l.Source.Name)
		}
	}
	for other, names := range s.Results.waiting {
		if slices.Contains(names, name) {
			out = append(out, other)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(n api.ClusterName) bool { return n == name })
}
