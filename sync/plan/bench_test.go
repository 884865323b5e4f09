package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

// benchLinks is how many links of the source benchmarks plan, with 10 objects each, their inventories included. What they assert holds for a
// tenth of them, too, which is what short runs plan.
func benchLinks() int {
	if testing.Short() {
		return 100
	}
	return 1000
}

// BenchmarkPlan renders and plans one source cluster with all its links, everything in place: the sync that changes nothing. cpu-ms/op counts the
// garbage collector, too. Mirrored, each controller runs and has mirrored one service.
func BenchmarkPlan(b *testing.B) {
	w := inPlace(b, benchLinks())
	b.Run("bare", func(b *testing.B) { benchPlan(b, w) })
	west := w.Clusters["west"]
	for i := range benchLinks() {
		mirror(&west, string(benchTarget(i)))
	}
	w.Clusters["west"] = west
	w.Clusters["west"] = After(west, becameReady(b, w))
	b.Run("mirrored", func(b *testing.B) { benchPlan(b, w) })
}

// becameReady returns the step in which each link is first seen to be ready: that is written into its inventory, once.
func becameReady(b *testing.B, w state.Snapshot) Step {
	step := Next(w, "west", (&sim{snapshot: w}).renderer(), PrunePolicy, Suspend)
	n := 0
	for _, c := range slices.Concat(step.Ahead, step.Changes, step.After) {
		if c.Why == (object.Reason{Code: reason.ConditionsChanged, Message: "Ready is True: Healthy"}) {
			n++
		}
	}
	if n != benchLinks() || step.Writes() != n {
		b.Fatalf("%d of %d writes are of links that became ready, want %d", n, step.Writes(), benchLinks())
	}
	return step
}

// BenchmarkRender renders alone.
func BenchmarkRender(b *testing.B) {
	w := inPlace(b, benchLinks())
	s := &sim{snapshot: w}
	b.ReportAllocs()
	cpu(b, func() {
		if ends := DesiredEnds(w, "west", s.renderer()); len(ends) != benchLinks()+1 {
			b.Fatalf("%d ends", len(ends))
		}
	})
}

func benchPlan(b *testing.B, w state.Snapshot) {
	s := &sim{snapshot: w}
	b.ReportAllocs()
	cpu(b, func() {
		step := Next(w, "west", s.renderer(), PrunePolicy, Suspend)
		if step.Writes() > 0 || len(step.Rows) != benchLinks()+1 || step.Rows[benchLinks()].Phase != Ready {
			b.Fatalf("%d writes, %d rows: %v", step.Writes(), len(step.Rows), describe(step)[:min(3, step.Writes())])
		}
	})
}

// cpu runs f as often as it takes, and reports the CPU time of the process for each.
func cpu(b *testing.B, f func()) {
	before := processTime(b)
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64((processTime(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

func processTime(b testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchTarget(i int) api.ClusterName { return api.ClusterName(fmt.Sprintf("target-%04d", i)) }

// inPlace returns a snapshot in which west has a link to each of n targets, and everything of it in place.
func inPlace(t testing.TB, n int) state.Snapshot {
	t.Helper()
	names, links := []api.ClusterName{"west"}, ""
	for i := range n {
		names = append(names, benchTarget(i))
		links += linkDoc("west", string(names[i+1]), "  remoteDiscoverySelector: {matchLabels: {mirror.linkerd.io/exported: remote-discovery}}\n")
	}
	s := newSim(t, declare(t, names, links), names...)
	s.checked, s.controllers = false, nil
	for _, name := range names {
		enlarge(s.live[name])
	}
	for _, name := range names[1:] {
		step := Next(state.Snapshot{Installation: object.Installation{Owner: owner}, Process: state.Process{Leadership: 1}, Declarations: state.Declarations{Fleet: s.snapshot.Fleet}, Clusters: map[api.ClusterName]state.Cluster{name: s.watch(s.snapshot, clusterOf(s.snapshot, name))}}, name, s.renderer())
		*s.live[name] = After(*s.live[name], step)
		playTokens(s.live[name])
	}
	fields := managedFields(t)
	for range 5 {
		if s.reconcile("west").Writes() == 0 {
			return s.now()
		}
		applied(t, s.live["west"], fields)
	}
	t.Fatal("west comes to no rest")
	return state.Snapshot{}
}

func clusterOf(w state.Snapshot, name api.ClusterName) fleet.Cluster {
	c, _ := w.Fleet.Cluster(name)
	return *c
}

// enlarge gives a cluster a CA as long as a real one.
func enlarge(s *state.Cluster) {
	ca := "-----BEGIN CERTIFICATE-----\n" + strings.Repeat("MIIC/zCCAeegAwIBAgIBADANBgkqhkiG9w0BAQsFADAVMRMwEQYDVQQDEwprdWJl\n", 16) + "-----END CERTIFICATE-----\n"
	put(s, object.Key{Kind: "ConfigMap", Namespace: "kube-system", Name: "kube-root-ca.crt"},
		map[string]any{"data": map[string]string{"ca.crt": ca}}, metav1.ObjectMeta{})
}

// managedFields returns what a real API server lists as ours of a link's objects, by kind and namespace: no name of a link stands in them.
func managedFields(t testing.TB) map[object.Key]string {
	t.Helper()
	archive, err := txtar.ParseFile("../../testdata/render/managed/remote-discovery.txtar")
	if err != nil {
		t.Fatal(err)
	}
	out := map[object.Key]string{}
	for _, f := range archive.Files {
		at := strings.Split(f.Name, "/")
		if at[0] != "west" {
			continue
		}
		k := object.Key{Kind: at[1]}
		if len(at) == 4 {
			k.Namespace = at[2]
		}
		out[k] = strings.TrimSpace(string(f.Data))
	}
	return out
}

// applied gives what was written the record that a real API server shows of it.
func applied(t testing.TB, s *state.Cluster, fields map[object.Key]string) {
	t.Helper()
	edit := s.Live.Edit()
	for k, r := range s.Live.Records() {
		ours, ok := fields[object.Key{Kind: k.Kind, Namespace: k.Namespace}]
		if r.UID != "simulated" || !ok {
			continue
		}
		var o struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if err := json.Unmarshal(bodyOf(s.Live, k).Bytes(), &o); err != nil {
			t.Fatal(err)
		}
		o.Metadata.UID, o.Metadata.ResourceVersion = types.UID("uid of "+k.String()), "7"
		o.Metadata.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: object.Manager(owner), Operation: metav1.ManagedFieldsOperationApply,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(ours),
		}}
		edit.Put(k, object.Reduce(&o.Metadata, owner), bodyOf(s.Live, k))
	}
	s.Live = edit.Observation()
}

// BenchmarkRemoval plans one cluster of a full mesh from which another one was removed: what goes everywhere is counted for it.
func BenchmarkRemoval(b *testing.B) {
	const clusters = 20
	var names []api.ClusterName
	for i := range clusters {
		names = append(names, benchTarget(i))
	}
	s := newSim(b, declare(b, names, meshOf(names...)), names...)
	s.checked = false
	w := s.inMesh(names)
	w.Fleet = declare(b, names[1:], meshOf(names[1:]...))
	w.Departed = []fleet.Cluster{{Name: names[0], Spec: api.Cluster{}.WithDefaults()}}
	b.ReportAllocs()
	cpu(b, func() {
		step := Next(w, names[1], s.renderer(), PrunePolicy, Suspend)
		if step.Writes() == 0 || step.Judged.Denied != nil {
			b.Fatalf("%d writes, denied %v", step.Writes(), step.Judged.Denied)
		}
	})
}

// inMesh returns the snapshot once every cluster was reconciled some times, each of them by what all others showed before.
func (s *sim) inMesh(names []api.ClusterName) state.Snapshot {
	for range 4 {
		w := s.now()
		for _, n := range names {
			*s.live[n] = After(*s.live[n], Next(w, n, s.renderer()))
			for _, play := range s.controllers {
				play(s.live[n])
			}
		}
	}
	w := s.now()
	w.UIDs = map[api.ClusterName]string{}
	for _, n := range names {
		w.UIDs[n] = w.Clusters[n].Facts.UID
	}
	return w
}
