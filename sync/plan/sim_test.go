package plan

import (
	"bytes"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

const (
	owner = object.DefaultOwner
	cp    = api.DefaultNamespace
	mc    = api.DefaultMulticlusterNamespace
)

// sim is a fleet's clusters in memory. Live is all there is in each; what a step sees of it is what Watches asks for, as in a sync. Play is what
// happens by itself after every step.
type sim struct {
	t           testing.TB
	snapshot    state.Snapshot // all but Sides, which are read again for every step
	live        map[api.ClusterName]*state.Cluster
	down        map[api.ClusterName]bool
	hidden      map[api.ClusterName][]object.Hidden // what nobody lets linkwright read
	controllers []func(*state.Cluster)
	steps       int
	checked     bool                                // step by step
	extras      map[api.ClusterName][]object.Object // what overlays bring into each base
	change      func(object.Desired) object.Desired // what they do to each end
}

// newSim has the given clusters, dressed, and what plays Kubernetes and Linkerd in them.
func newSim(t testing.TB, f *fleet.Fleet, names ...api.ClusterName) *sim {
	s := &sim{
		t: t, live: map[api.ClusterName]*state.Cluster{}, down: map[api.ClusterName]bool{}, checked: true,
		snapshot: state.Snapshot{
			Installation: object.Installation{Owner: owner}, Process: state.Process{Leadership: 1}, Declarations: state.Declarations{Fleet: f},
			Record: state.Record{UIDs: map[api.ClusterName]string{}}, Options: state.Options{UnreachableSourceTimeout: 24 * time.Hour}, Now: time.Unix(1_800_000_000, 0),
		},
		controllers: []func(*state.Cluster){playTokens, playControllers, playShared},
	}
	for i, name := range names {
		s.live[name] = dressed(name, fmt.Sprintf("192.0.2.%d", i+1))
	}
	return s
}

// declare loads a fleet of the clusters and whatever else is declared; the text is the commit, too.
func declare(t testing.TB, clusters []api.ClusterName, more string) *fleet.Fleet {
	t.Helper()
	return declareAs(t, clusters, nil, more)
}

// declareAs is declare with more fields of some clusters.
func declareAs(t testing.TB, clusters []api.ClusterName, as map[api.ClusterName]string, more string) *fleet.Fleet {
	t.Helper()
	text := more
	for _, c := range clusters {
		text += fmt.Sprintf("---\napiVersion: %s\nkind: Cluster\nmetadata: {name: %s, labels: {in: mesh}}\n"+
			"spec: {access: {kubeconfigSecret: {name: %s}}%s}\n", api.GroupVersion, c, c, as[c])
	}
	f, problems := fleet.Load(api.Commit(fmt.Sprintf("%x", sha1.Sum([]byte(text)))), fstest.MapFS{"fleet.yaml": {Data: []byte(text)}})
	if f == nil {
		t.Fatalf("declare: %v", problems)
	}
	return f
}

func linkDoc(source, target, more string) string {
	return fmt.Sprintf("---\napiVersion: %s\nkind: Link\nmetadata: {name: %s-%s}\nspec:\n  source: %s\n  target: %s\n%s\n",
		api.GroupVersion, source, target, source, target, more)
}

// now returns the snapshot as it would be read at this moment.
func (s *sim) now() state.Snapshot {
	w := s.snapshot
	w.Clusters = map[api.ClusterName]state.Cluster{}
	for _, c := range slices.Concat(w.Fleet.Clusters, w.Departed) {
		w.Clusters[c.Name] = s.watch(w, c)
	}
	return w
}

func (s *sim) renderer() Renderer {
	return withExtras{render.New(s.snapshot.Owner), s.extras, s.change}
}

// withExtras plays overlays: each base holds what is given for its cluster, and change is done to each end.
type withExtras struct {
	render.Renderer
	extras map[api.ClusterName][]object.Object
	change func(object.Desired) object.Desired
}

func (r withExtras) Complete(c fleet.Cluster, ends []object.Desired) []object.Desired {
	ends = r.Renderer.Complete(c, ends)
	for i, want := range ends {
		if want.End.IsBase() {
			ends[i].Objects = append(ends[i].Objects, r.extras[c.Name]...)
		}
		if r.change != nil {
			ends[i] = r.change(ends[i])
		}
	}
	return ends
}

func (s *sim) watch(w state.Snapshot, c fleet.Cluster) state.Cluster {
	if s.down[c.Name] {
		return state.Cluster{Err: object.Because(reason.Unreachable, "down")}
	}
	all := s.live[c.Name].Live
	watched, err := Watches(w, c, s.renderer(), observe(all, InventoryWatches()))
	if err != nil {
		s.t.Fatalf("Watches(%s): %v", c.Name, err)
	}
	current := state.Cluster{Reading: state.Read, Confinement: s.live[c.Name].Confinement, Watches: watched, Live: hide(observe(all, watched), s.hidden[c.Name])}
	current.Facts = linkerd.FactsOf(c.Spec, "https://"+string(c.Name)+".example.com:6443", current.Live)
	return current
}

// hide returns what an account sees that may not read some of it.
func hide(observed object.Observation, hidden []object.Hidden) object.Observation {
	e := observed.Edit()
	for k := range observed.Records() {
		body, _ := observed.Body(k)
		if slices.ContainsFunc(hidden, func(h object.Hidden) bool {
			return h.Hides(k) || h.Selector != "" && h.Group == k.Group && h.Kind == k.Kind && bytes.Contains(body.Bytes(), []byte(`"`+h.Selector+`":`))
		}) {
			e.Drop(k)
		}
	}
	out := e.Observation()
	out.Hidden = slices.SortedFunc(slices.Values(hidden), object.Hidden.Compare)
	return out
}

// forbidReading has objects of a cluster be hidden.
func (s *sim) forbidReading(name api.ClusterName, keys ...object.Key) {
	if s.hidden == nil {
		s.hidden = map[api.ClusterName][]object.Hidden{}
	}
	for _, k := range keys {
		s.hidden[name] = append(s.hidden[name], object.Hidden{Key: k})
	}
}

// reconcile returns one cluster's step, done.
func (s *sim) reconcile(name api.ClusterName, policies ...Policy) Step {
	s.t.Helper()
	step := Next(s.now(), name, s.renderer(), policies...)
	if s.checked {
		s.check(step)
	}
	*s.live[name] = After(*s.live[name], step)
	for _, play := range s.controllers {
		play(s.live[name])
	}
	s.steps += step.Writes()
	return step
}

// settle reconciles until nobody writes, and gives the last steps.
func (s *sim) settle(policies ...Policy) map[api.ClusterName]Step {
	s.t.Helper()
	for range 60 {
		last, writes := map[api.ClusterName]Step{}, 0
		for _, c := range slices.Concat(s.snapshot.Fleet.Clusters, s.snapshot.Departed) {
			last[c.Name] = s.reconcile(c.Name, policies...)
			writes += last[c.Name].Writes()
		}
		if writes == 0 {
			return last
		}
	}
	s.t.Fatal("the clusters come to no rest")
	return nil
}

// check holds what is true of every step: writes fit what is live, and creates are written ahead.
func (s *sim) check(step Step) {
	s.t.Helper()
	live := s.live[step.Cluster].Live
	ahead := After(*s.live[step.Cluster], Step{Ahead: step.Ahead}).Live
	done := map[object.Key]bool{}
	for _, c := range slices.Concat(step.Ahead, step.Changes, step.After) {
		was := live.Record(c.Key)
		there := !was.IsZero()
		switch {
		case done[c.Key]:
			s.t.Errorf("%s: %s is written twice in one step", step.Cluster, c.Key)
		case c.Action == object.Create && there:
			s.t.Errorf("%s: create of %s, which is there", step.Cluster, c.Key)
		case c.Action != object.Create && (c.Was != was || !there):
			s.t.Errorf("%s: %s of %s has wrong preconditions", step.Cluster, c.Action, c.Key)
		}
		done[c.Key] = true
	}
	for _, c := range step.Changes {
		if c.Action == object.Create && !recordedIn(s.t, ahead, c) {
			s.t.Errorf("%s: create of %s is not written ahead", step.Cluster, c.Key)
		}
	}
}

// observe returns what a cluster answers to watches.
func observe(all object.Observation, watches []object.Watch) object.Observation {
	var unserved []string
	for _, w := range watches {
		if slices.Contains(all.Unserved, w.KindName()) {
			unserved = append(unserved, w.KindName())
		}
	}
	out := object.NewObservation(unserved).Edit()
	for key, r := range all.Records() {
		body, depth, observed := bodyOf(all, key), object.Reduced, false
		for _, w := range watches {
			if shows(w, key, body) {
				observed, depth = true, max(depth, w.Depth)
			}
		}
		if observed {
			out.Put(key, r, cut(body, depth))
		}
	}
	return out.Observation()
}

func shows(w object.Watch, k object.Key, body object.Body) bool {
	if w.Group != k.Group || w.Kind != k.Kind || w.Namespace != "" && w.Namespace != k.Namespace ||
		len(w.Names) > 0 && !slices.Contains(w.Names, k.Name) {
		return false
	}
	if w.Selector == "" {
		return true
	}
	selector, err := labels.Parse(w.Selector)
	return err == nil && selector.Matches(labels.Set(metaOf(body).Labels))
}

func cut(body object.Body, d object.Depth) object.Body {
	switch d {
	case object.Reduced:
		return object.Body{}
	case object.Whole:
		return body
	}
	return encoded(map[string]any{"metadata": metaOf(body)})
}

func metaOf(body object.Body) metav1.ObjectMeta {
	var o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if len(body.Bytes()) > 0 && json.Unmarshal(body.Bytes(), &o) != nil {
		panic("no object")
	}
	return o.Metadata
}

func encoded(v any) object.Body {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return object.NewBody(b)
}

// names lists what is live in a cluster beside its dressing, in order.
func (s *sim) names(c api.ClusterName) []string {
	var out []string
	dressing := dressed(c, "").Live
	for k := range s.live[c].Live.Records() {
		if dressing.Record(k).IsZero() {
			out = append(out, k.String())
		}
	}
	return out
}

// unraced leaves a test that plans long on one goroutine out of short runs, which are those with the race detector: there it takes ten
// times as long.
func unraced(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("one goroutine works long: make unraced runs it")
	}
	t.Parallel()
}
