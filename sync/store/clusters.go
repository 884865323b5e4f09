package store

import (
	"maps"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/state"
)

// Clusters are clusters as they were read last. The reconcile of a cluster writes its state.
type Clusters struct {
	mu         *sync.Mutex
	at         sharedMap[api.ClusterName, state.Cluster]
	digests    sharedMap[api.ClusterName, clusterDigest]
	before     map[api.ClusterName][]object.Watch // what was watched last in clusters that are to be read again
	decoded    map[api.ClusterName]decoded        // of what is in at
	specs      map[api.ClusterName]sum            // declarations by which the facts in at were read
	lists      watchLists                         // of at
	twins      map[string]bool                    // uids that several clusters have; nil: to be counted. Nobody changes it
	moves      int                                // how often one changed in what others depend on
	identities int                                // how often it changed which clusters are known, or who they are
	versions   int                                // how often a put showed something else, and identities
}

// put takes over how a cluster was read. c.mu is held.
func (c *Clusters) put(name api.ClusterName, now state.Cluster, shows clusterDigest, moved bool) {
	before, read := c.at.at[name]
	if now.Stale = before.Stale; now.Known() {
		now.Stale = time.Time{}
	} else if before.Known() {
		now.Stale = time.Now()
	}
	was := c.digests.at[name]
	if shows.moved = was.moved; moved {
		c.moves++
		shows.moved = c.moves
	}
	if !read || before.Known() != now.Known() || before.Facts.UID != now.Facts.UID {
		c.reidentify()
	}
	if was != shows {
		c.versions++
	}
	c.at.set(name, now)
	c.digests.set(name, shows)
}

// reidentify forgets what follows from which clusters are known, and who they are. c.mu is held.
func (c *Clusters) reidentify() {
	c.twins = nil
	c.identities++
	c.versions++
}

// Has reports whether a cluster was read, or could not be.
func (c *Clusters) Has(name api.ClusterName) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.at.at[name]
	return ok
}

// Last returns a cluster as it was read last.
func (c *Clusters) Last(name api.ClusterName) state.Cluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at.at[name]
}

// ReadBy reports whether a cluster's facts were read by this declaration of it.
func (c *Clusters) ReadBy(name api.ClusterName, spec api.Cluster) bool {
	of := sumOf(spec)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.specs[name] == of
}

// SetReadBy notes by which declaration the facts of a cluster were read that was put.
func (c *Clusters) SetReadBy(name api.ClusterName, spec api.Cluster) {
	of := sumOf(spec)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.specs[name] = of
}

// ReadAllAgain has all clusters read again. Watches stay as they are.
func (c *Clusters) ReadAllAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = c.watches()
	c.at.clear()
	c.digests.clear()
	clear(c.decoded)
	c.reidentify()
}

// ReadAgain has a cluster read again.
func (c *Clusters) ReadAgain(name api.ClusterName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(func(n api.ClusterName, _ state.Cluster) bool { return n == name })
}

// ReadUnreadAgain has clusters read again that could not be read.
func (c *Clusters) ReadUnreadAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(func(_ api.ClusterName, s state.Cluster) bool { return !s.Known() })
}

// forget forgets clusters. c.mu is held.
func (c *Clusters) forget(gone func(api.ClusterName, state.Cluster) bool) {
	if c.at.drop(gone) {
		c.reidentify()
	}
}

// keep forgets other clusters. c.mu is held.
func (c *Clusters) keep(names map[api.ClusterName]bool) {
	c.forget(func(n api.ClusterName, _ state.Cluster) bool { return !names[n] })
	c.digests.drop(func(n api.ClusterName, _ clusterDigest) bool { return !names[n] })
	maps.DeleteFunc(c.before, func(n api.ClusterName, _ []object.Watch) bool { return !names[n] })
	maps.DeleteFunc(c.specs, func(n api.ClusterName, _ sum) bool { return !names[n] })
	maps.DeleteFunc(c.decoded, func(n api.ClusterName, _ decoded) bool { return !names[n] })
}

// Share returns the list to keep for what is to be watched in a cluster, and was last: clusters that are watched alike share one.
func (c *Clusters) Share(list, last []object.Watch) []object.Watch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists.one(list, last)
}

// Watched returns what was watched in a cluster last.
func (c *Clusters) Watched(name api.ClusterName) []object.Watch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if watches := c.at.at[name].Watches; watches != nil {
		return watches
	}
	return c.before[name]
}

// Watches returns what was watched last in each cluster, for the next store: with less than that, watches would end.
func (c *Clusters) Watches() map[api.ClusterName][]object.Watch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watches()
}

// watches is Watches; c.mu is held.
func (c *Clusters) watches() map[api.ClusterName][]object.Watch {
	out := map[api.ClusterName][]object.Watch{}
	maps.Copy(out, c.before)
	for name, read := range c.at.at {
		if read.Watches != nil {
			out[name] = read.Watches
		}
	}
	return out
}

// SetWatches takes over what a former store's clusters were watched for.
func (c *Clusters) SetWatches(before map[api.ClusterName][]object.Watch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = before
}

// counted returns the uids that several clusters have. c.mu is held.
func (c *Clusters) counted() map[string]bool {
	if c.twins == nil {
		c.twins = state.Snapshot{Clusters: c.at.at}.CountUIDs()
	}
	return c.twins
}
