package sync

import (
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
)

// Drift that cannot be repaired is reported: the end is not in place, and why.
func TestDriftThatIsDenied(t *testing.T) {
	turns(t, memcluster.Options{}, memoryMesh, func(r *memoryEnv) {
		r.clean(30*time.Second, 12)
		r.Cluster("west").Fault(func(f *memcluster.Faults) { f.Refused = map[object.Key]string{probe: "no"} })
		r.edit("west", probe, 1)
		time.Sleep(time.Second)
		all := r.reported()
		if len(all) == 0 {
			t.Error("nothing is told")
		}
		for _, p := range all {
			if c := p.Counts(); c.Ready != 11 || c.Changing != 1 || !strings.Contains(rows(p), "Changing: {Invalid") {
				t.Errorf("%+v%s", c, rows(p))
			}
		}
		r.Cluster("west").Fault(func(f *memcluster.Faults) { f.Refused = nil })
		r.clean(3*time.Minute, 12)
	})
}
