package sync_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	gosync "sync"
	"testing/fstest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/report"
)

// What happens to a scenario's clusters and repository from outside.

// trees is a repository whose commits follow each other. A daemon may poll while a scenario changes it.
type trees struct {
	mu      gosync.Mutex
	commits []fstest.MapFS
	hangs   bool
}

// change has the repository be another.
func (h *trees) change(how func(*trees)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	how(h)
}

// seen returns what a poll sees.
func (h *trees) seen() (commits []fstest.MapFS, hangs bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.commits, h.hangs
}

func (h *trees) Next(ctx context.Context) (sync.Declaration, error) {
	commits, hangs := h.seen()
	if hangs {
		<-ctx.Done()
		return sync.Declaration{}, ctx.Err()
	}
	return h.At(ctx, commitOf(len(commits)))
}

func (h *trees) At(_ context.Context, commit api.Commit) (sync.Declaration, error) {
	commits, _ := h.seen()
	for i, tree := range commits {
		if commitOf(i+1) == commit {
			f, problems := fleet.Load(commit, tree)
			return sync.Declaration{Commit: commit, Fleet: f, Problems: problems}, nil
		}
	}
	return sync.Declaration{}, fmt.Errorf("there is no commit %s", commit)
}

func (h *trees) Follows(_ context.Context, commit, last api.Commit, allowed []api.Commit) error {
	if commit < last && !slices.Contains(allowed, commit) {
		return fmt.Errorf("commit %s does not descend from %s", commit, last)
	}
	return nil
}

func (s *scenario) option(words []string) {
	s.Helper()
	switch words[0] {
	case "abandon":
		s.abandon = map[api.ClusterName]bool{api.ClusterName(words[1]): true}
		return
	case "observe":
		s.observes = true
		return
	case "unwatched":
		s.recorded = nil
		return
	}
	switch d := s.duration(words[1]); words[0] {
	case "token":
		s.options.TokenAfter = d
	case "ready":
		s.options.ReadyAfter = d
	case "patience":
		s.patience = d
	case "grace":
		s.grace = d
	default:
		s.Fatalf("%s: there is no such option", s.line)
	}
}

// commit makes the files it names the head, and tells a daemon.
func (s *scenario) commit(words []string) {
	s.Helper()
	s.open()
	tree := fstest.MapFS{}
	for _, word := range words {
		if s.set.Cluster(api.ClusterName(word)) != nil {
			tree["cluster-"+word+".yaml"] = &fstest.MapFile{Data: declared(word)}
		} else {
			tree[word+".yaml"] = &fstest.MapFile{Data: s.file(word)}
		}
	}
	s.history.change(func(h *trees) { h.commits = append(h.commits, tree) })
	if s.end != nil {
		s.poke <- struct{}{}
	}
}

// declared returns a cluster that a mesh of all would select.
func declared(name string) []byte {
	return fmt.Appendf(nil, "apiVersion: %s\nkind: Cluster\nmetadata: {name: %s, labels: {mesh: all}}\n"+
		"spec: {access: {kubeconfigSecret: {name: %[2]s}}}\n", api.GroupVersion, name)
}

func (s *scenario) fault(words []string) {
	s.Helper()
	c, more := s.at(words[0]), words[2:]
	c.Fault(func(f *memcluster.Faults) {
		switch words[1] {
		case "up":
			*f = memcluster.Faults{}
		case "down":
			f.Down = true
		case "hangs":
			f.Hanging = true
		case "unauthorized":
			f.Unauthorized = true
		case "slow":
			f.Slow = s.duration(more[0])
		case "throttled":
			n, err := strconv.Atoi(more[0])
			s.bad(err)
			f.Throttled = n
		case "forbids":
			if len(more) > 1 {
				ns, name, _ := strings.Cut(more[1], "/")
				f.Closed = append(f.Closed, object.Key{Group: kindOf(more[0]).Group, Kind: kindOf(more[0]).Kind, Namespace: ns, Name: name})
				return
			}
			f.Forbidden = append(f.Forbidden, kindOf(more[0]))
		case "denies":
			f.Denied = map[string][]schema.GroupKind{more[0]: {kindOf(more[1])}}
		case "refuses":
			f.Refused = map[object.Key]string{keyOf(more): "spec: Invalid value: it does not like it"}
		default:
			s.Fatalf("%s: a cluster cannot do that", s.line)
		}
	})
}

func kindOf(word string) schema.GroupKind {
	kind, group, _ := strings.Cut(word, ".")
	return schema.GroupKind{Group: group, Kind: kind}
}

// keyOf reads what Key.String writes.
func keyOf(words []string) object.Key {
	kind := kindOf(words[0])
	ns, name, ok := strings.Cut(words[1], "/")
	if !ok {
		ns, name = "", words[1]
	}
	return object.Key{Group: kind.Group, Kind: kind.Kind, Namespace: ns, Name: name}
}

func (s *scenario) approve([]string) {
	s.Helper()
	s.amendRecord(func(r *inventory.Record) {
		if r.Denied == nil {
			s.Fatalf("%s: nothing is denied", s.line)
		}
		r.Approvals = append(r.Approvals, inventory.Approval{Hash: r.Denied.Hash, Units: r.Denied.Units, By: "ann", At: time.Now().UTC().Truncate(time.Second)})
	})
}

func (s *scenario) gateway(words []string) {
	s.Helper()
	s.bad(s.at(words[0]).SetGateway(words[1:]...))
}

func (s *scenario) put(words []string) {
	s.Helper()
	var content map[string]any
	s.bad(yaml.Unmarshal(s.file(words[1]), &content))
	manager := "kubectl"
	if len(words) > 2 {
		manager = words[2]
	}
	s.bad(s.at(words[0]).Put(manager, content))
}

func (s *scenario) apply(words []string) {
	s.Helper()
	var content map[string]any
	s.bad(yaml.Unmarshal(s.file(words[1]), &content))
	s.bad(s.at(words[0]).Apply(object.Manager(object.DefaultOwner), content))
}

func (s *scenario) patch(words []string) {
	s.Helper()
	var content map[string]any
	s.bad(json.Unmarshal([]byte(strings.Join(words[3:], " ")), &content))
	s.bad(s.at(words[0]).Patch("kubectl", keyOf(words[1:3]), content))
}

func (s *scenario) remove(words []string) {
	s.Helper()
	s.bad(s.at(words[0]).Remove(keyOf(words[1:3])))
}

// left counts what has linkwright's mark.
func (s *scenario) left(words []string) {
	s.Helper()
	want, err := strconv.Atoi(words[1])
	s.bad(err)
	c := s.at(words[0])
	var ours []string
	for _, k := range c.Keys() {
		var o struct {
			Metadata struct{ Labels map[string]string } `json:"metadata"`
		}
		text, err := json.Marshal(c.Object(k))
		s.bad(err)
		s.bad(json.Unmarshal(text, &o))
		if o.Metadata.Labels[object.OwnerLabel] != "" {
			ours = append(ours, k.String())
		}
	}
	if len(ours) != want {
		s.Errorf("%s: there are %d: %s", s.line, len(ours), strings.Join(ours, ", "))
	}
}

// linkerd installs another version of Linkerd.
func (s *scenario) linkerd(words []string) {
	s.Helper()
	release, ok := linkerd.Running(words[1])
	if !ok {
		s.Fatalf("%s: there is no such release", s.line)
	}
	d := testbed.Linkerd{LinkerdVersion: words[1]}
	for _, v := range []string{"v1alpha1", "v1alpha2", "v1alpha3"} {
		if v <= release.Link {
			d.LinkVersions = append(d.LinkVersions, v)
		}
	}
	s.bad(s.at(words[0]).InstallLinkerd(d))
	if !release.Controllers {
		s.remove([]string{words[0], "ClusterRole.rbac.authorization.k8s.io", linkerd.LocalAccessRole})
	}
}

// ended keeps a report of a sync that has ended, or of what was done since.
func (s *scenario) ended(r report.Report) {
	if r.When != report.Syncing {
		s.last.Store(&r)
	}
}

// lastReport returns the last one; zero: there was none yet.
func (s *scenario) lastReport() report.Report {
	if r := s.last.Load(); r != nil {
		return *r
	}
	return report.Report{}
}
