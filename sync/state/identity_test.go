package state

import (
	"fmt"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/linkerd"
)

// However many clusters are asked about, their identities are counted once: the count goes on to answer when there is
// nothing to be counted any more.
func TestIdentitiesAreCountedOnce(t *testing.T) {
	s := Snapshot{Clusters: map[api.ClusterName]Cluster{}}
	for n := range 30 { // every third identity is that of two names
		s.Clusters[api.ClusterName(fmt.Sprint("c", n))] = Cluster{Reading: Read, Facts: linkerd.Facts{UID: fmt.Sprint("uid-", n-n%3/2)}}
	}
	i := Identify(s)
	ask := func() {
		for n := range 30 {
			uid, twice := s.Clusters[api.ClusterName(fmt.Sprint("c", n))].Facts.UID, n%3 > 0
			if got := i.shared(uid); got != twice {
				t.Errorf("shared(%s): got %v", uid, got)
			}
		}
	}
	ask()
	i.Clusters = nil
	ask()
}
