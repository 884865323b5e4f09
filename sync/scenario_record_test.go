package sync_test

import (
	"fmt"
	"time"

	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

// writesRecord takes note of the writes to the management cluster.
func (s *scenario) writesRecord() {
	s.writes += len(memcluster.Written(s.management.Requests()))
}

// revisions returns what the record tells of revisions, and how often it was written since this was asked last.
func (s *scenario) revisions() string {
	s.Helper()
	s.writesRecord()
	key := inventory.RecordKey(object.DefaultOwner, "linkwright")
	observed, err := s.management.Observe(s.Context(), []object.Watch{
		{Version: "v1", Kind: key.Kind, Namespace: key.Namespace, Names: []string{key.Name}, Depth: object.Whole},
	})
	s.bad(err)
	r, err := inventory.ReadRecord(key, observed)
	s.bad(err)
	why, n := "applied", s.writes
	if r.Revision.Why != nil {
		why = string(r.Revision.Why.Code+": ") + r.Revision.Why.Message
	}
	s.management.Requests()
	s.writes = 0
	text := fmt.Sprintf("%d writes\napplied %.12s, %d links, suspended %v\nobserved %.12s: %s\nby %s since %s\n", n,
		r.Revision.Applied, r.Revision.Links, r.Revision.Suspended, r.Revision.Observed, why, r.Revision.By, r.Revision.Since.Format(time.TimeOnly))
	for _, l := range r.Removed {
		text += fmt.Sprintf("removed %s by %.12s\n", l.Link().Name(), l.Revision)
	}
	return text
}
