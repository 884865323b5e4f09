package sync_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/record"
)

// decide records what alice decides, as the commands do, and tells a daemon.
func (s *scenario) decide(words []string) {
	s.Helper()
	s.amendRecord(func(r *inventory.Record) {
		if words[0] == "none" {
			r.RemoveDecisions(func(inventory.Decision) bool { return true })
			return
		}
		d := s.decision(words)
		d.By, d.At = "alice", time.Now()
		r.Decide(d)
	})
}

// amendRecord changes the record in the management cluster.
func (s *scenario) amendRecord(change func(*inventory.Record)) {
	s.Helper()
	home := record.ManagementCluster{Cluster: s.management, Namespace: "linkwright"}
	s.bad(home.Amend(s.Context(), object.DefaultOwner, func(r *inventory.Record) error {
		change(r)
		return nil
	}))
	s.management.Requests()
	select {
	case s.recorded <- struct{}{}:
	default:
	}
}

func (s *scenario) decision(words []string) (d inventory.Decision) {
	s.Helper()
	d.Cluster = api.ClusterName(words[1])
	switch words[0] {
	case "suspend":
		if source, target, link := strings.Cut(words[1], "/"); link {
			d.Cluster, d.Source, d.Target = "", api.ClusterName(source), api.ClusterName(target)
		}
		if d.Kind = inventory.Suspend; len(words) > 2 {
			d.Until = time.Now().Add(s.duration(words[2]))
		}
	case "accept":
		var ns struct{ Metadata struct{ UID string } }
		raw, err := json.Marshal(s.at(words[1]).Object(object.Key{Kind: "Namespace", Name: "kube-system"}))
		s.bad(err)
		s.bad(json.Unmarshal(raw, &ns))
		d.Kind, d.UID = inventory.AcceptCluster, ns.Metadata.UID
	case "allow":
		n, err := strconv.Atoi(words[1])
		s.bad(err)
		d.Kind, d.Cluster, d.Revision = inventory.AllowNonFastForward, "", commitOf(n)
	case "abandon":
		d.Kind = inventory.AbandonCluster
	case "reconcile":
		d.Kind = inventory.Reconcile
	default:
		s.Fatalf("%s: there is no such decision", s.line)
	}
	return d
}

// record returns what the management cluster remembers.
func (s *scenario) record() inventory.Record {
	s.Helper()
	s.open()
	key := inventory.RecordKey(object.DefaultOwner, "linkwright")
	observed, err := s.management.Observe(s.Context(), []object.Watch{{Version: "v1", Kind: key.Kind, Namespace: key.Namespace, Names: []string{key.Name}, Depth: object.Whole}})
	s.bad(err)
	r, err := inventory.ReadRecord(key, observed)
	s.bad(err)
	return r
}

// decisions returns those of the record, one a line, without when they were made.
func (s *scenario) decisions() string {
	s.Helper()
	var out strings.Builder
	for _, d := range s.record().Decisions {
		d.At = time.Time{}
		out.WriteString(d.String() + "\n")
	}
	return out.String()
}

func (s *scenario) git(words []string) {
	s.history.change(func(h *trees) { h.hangs = words[0] == "hangs" })
}

// back has the branch forced back by one commit, and tells a daemon.
func (s *scenario) back([]string) {
	s.history.change(func(h *trees) { h.commits = h.commits[:len(h.commits)-1] })
	if s.end != nil {
		s.poke <- struct{}{}
	}
}
