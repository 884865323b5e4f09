package plan

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/state"
)

var destinationKey = object.Key{Group: "apps", Kind: "Deployment", Namespace: cp, Name: "linkerd-destination"}

// reader is west's destination controller: it reads a secret when that appears, and when it starts.
type reader struct {
	*sim
	read   map[object.Key]string // secrets, as they were read
	uids   map[object.Key]string
	starts int
	last   string // the pod template
}

func newReader(t *testing.T, more string) *reader {
	t.Helper()
	three := []api.ClusterName{"west", "east", "north"}
	r := &reader{
		sim:  newSim(t, declare(t, three, linkDoc("west", "east", discovering)+more), three...),
		read: map[object.Key]string{}, uids: map[object.Key]string{},
	}
	put(r.live["west"], destinationKey, map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{}}}}, metav1.ObjectMeta{})
	r.controllers = append(r.controllers, r.plays)
	r.settle()
	return r
}

// plays is done after every step.
func (r *reader) plays(s *state.Cluster) {
	body, ok := s.Live.Body(destinationKey)
	if !ok {
		return
	}
	if now := string(body.Bytes()); r.last == "" {
		r.last = now
	} else if now != r.last {
		r.last = now
		r.starts++
		clear(r.read)
	}
	for k, rec := range s.Live.Kind("", "Secret") {
		if k.Namespace != cp {
			continue
		}
		if _, known := r.read[k]; known && rec.UID == r.uids[k] {
			continue
		}
		r.read[k], r.uids[k] = kubeconfigOf(bodyOf(s.Live, k)), rec.UID
	}
}

func kubeconfigOf(secret object.Body) string {
	var s corev1.Secret
	if json.Unmarshal(secret.Bytes(), &s) != nil {
		return "no secret"
	}
	return base64.StdEncoding.EncodeToString(s.Data[linkerd.KubeconfigKey])
}

// behind returns the secrets that were read before they changed.
func (r *reader) behind() (out []string) {
	for k, was := range r.read {
		if body, ok := r.live["west"].Live.Body(k); ok && kubeconfigOf(body) != was {
			out = append(out, k.Name)
		}
	}
	slices.Sort(out)
	return out
}

// moves gives a target another CA: the credentials of its sources change in place.
func (r *reader) moves(target api.ClusterName, ca string) {
	root := object.Key{Kind: "ConfigMap", Namespace: "kube-system", Name: "kube-root-ca.crt"}
	show(&r.live[target].Live, root, encoded(map[string]any{
		"metadata": map[string]any{"name": root.Name, "namespace": root.Namespace}, "data": map[string]string{"ca.crt": ca},
	}))
}

func (r *reader) is(what string, starts int, behind ...string) {
	r.t.Helper()
	if r.starts != starts {
		r.t.Errorf("%s: destination started %d times, want %d", what, r.starts, starts)
	}
	same(r.t.(*testing.T), what+": read before they changed", behind, r.behind())
}

// The controller restarts once for a change in place, whatever else comes and goes, and never more often than every 5 minutes.
func TestDestinationRestarts(t *testing.T) {
	r := newReader(t, linkDoc("west", "north", discovering))
	r.is("first links", 0)
	r.moves("east", "second")
	r.settle()
	r.is("one changed", 1)
	r.moves("north", "second")
	r.moves("east", "first") // back to what it was made with
	last := r.settle()
	r.is("too soon", 1, "cluster-credentials-east", "cluster-credentials-north")
	west := last["west"]
	same(t, "rows", []string{"west base: Ready", "west→east in west: Ready CredentialNotLoaded", "west→north in west: Ready CredentialNotLoaded"}, statuses(west))
	if want := r.snapshot.Now.Add(credential.RestartInterval); !west.PlanAgain.Equal(want) {
		t.Errorf("it is asked again at %s, want %s", west.PlanAgain, want)
	}
	r.snapshot.Now = r.snapshot.Now.Add(credential.RestartInterval)
	r.settle()
	r.is("when it is time", 2)
	three := []api.ClusterName{"west", "east", "north"}
	r.snapshot.Now = r.snapshot.Now.Add(time.Hour)
	r.snapshot.Fleet = declare(t, three, linkDoc("west", "east", discovering))
	r.settle()
	r.is("a link goes", 2)
	r.snapshot.Fleet = declare(t, three, linkDoc("west", "east", discovering)+linkDoc("west", "north", discovering))
	r.settle()
	r.is("it comes back", 2)
}

// A link's stage tells whether destination runs with the credential, where that changed in place. It makes no link unready: the former
// credential still holds.
func TestDestinationHasLoaded(t *testing.T) {
	r := newReader(t, "")
	is := func(what string, want health.Result, code string) {
		t.Helper()
		row := r.settle()["west"].row(westEnd())
		at := slices.IndexFunc(row.Health, func(v health.Verdict) bool { return v.Stage == health.CredentialsLoaded })
		if v := row.Health[at]; v.Result != want || (v.Why == nil) != (code == "") || v.Why != nil && string(v.Why.Code) != code {
			t.Errorf("%s: %s %v, want %s %s", what, v.Result, v.Why, want, code)
		}
		if first, reason := health.First(row.Health); reason && first.Stage == health.CredentialsLoaded && !row.Ready() {
			t.Errorf("%s: the link is not ready for it", what)
		}
	}
	rolls := func(body string) {
		observed := &r.live["west"].Live
		rec := observed.Record(destinationKey)
		rec.Health = object.HealthOf("Deployment", []byte(body))
		record(observed, destinationKey, rec)
	}
	is("it read what appeared", health.NotApplicable, "")
	r.moves("east", "second")
	is("it was told", health.Passed, "")
	rolls(`{"metadata":{"generation":2},"spec":{"replicas":3},"status":{"observedGeneration":2,"replicas":4,"updatedReplicas":1,"availableReplicas":3}}`)
	is("it starts anew", health.Failed, string(reason.CredentialNotLoaded))
	rolls(`{"metadata":{"generation":2},"spec":{"replicas":3},"status":{"observedGeneration":2,"replicas":3,"updatedReplicas":3,"availableReplicas":3}}`)
	is("it is through", health.Passed, "")
	r.moves("east", "third")
	is("too soon", health.Failed, string(reason.CredentialNotLoaded))
	r.forbidReading("west", destinationKey)
	is("nobody may look", health.Unknown, string(reason.CredentialNotLoaded))
}

// Whatever write of a step is the last before a crash, the next step goes on from what is live.
func TestDestinationRestartsAfterACrash(t *testing.T) {
	for at := range 4 {
		r := newReader(t, "")
		r.moves("east", "second")
		step := Next(r.now(), "west", r.renderer())
		step.Changes = step.Changes[:min(at, len(step.Changes))]
		*r.live["west"] = After(*r.live["west"], step)
		r.plays(r.live["west"])
		r.settle()
		r.is("in the end", 1)
	}
}

// Where destination cannot be told, links go on, and say so.
func TestDestinationCannotRestart(t *testing.T) {
	for what, c := range map[string]struct {
		do   func(*reader)
		says string
	}{
		"no such Deployment": {func(r *reader) { remove(r.live["west"], destinationKey) }, "there is no Deployment"},
		"no rights":          {func(r *reader) { r.forbidReading("west", destinationKey) }, "may not get and patch it"},
		"no policies":        {func(r *reader) { r.live["west"].Gap = "none" }, "only if admission policies confine linkwright's account"},
	} {
		r := newReader(t, "")
		r.moves("east", "second")
		c.do(r)
		last := r.settle()["west"]
		row := last.row(westEnd())
		if row.Phase != Ready || row.Why == nil || row.Why.Code != reason.CredentialNotLoaded || !strings.Contains(row.Why.Message, c.says) {
			t.Errorf("%s: %s %v", what, row.Phase, row.Why)
		}
		if !r.live["west"].Live.Record(destinationKey).IsZero() {
			r.is(what, 0, planeKey.Name)
		}
	}
	r := newReader(t, "")
	r.moves("east", "second")
	r.live["west"].Gap, r.live["west"].NotServiceAccount = "no ServiceAccount", true
	r.settle()
	r.is("with a login that no policy could confine", 1)
}

// A secret that others made holds what we did not: once it was taken over and written, it changed in place. One of an earlier
// linkwright, which has a digest and no mark, did not.
func TestDestinationOfFormerSecrets(t *testing.T) {
	for what, digest := range map[string]bool{"taken over": false, "of an earlier linkwright": true} {
		r := newReader(t, "")
		rec, meta := r.live["west"].Live.Record(planeKey), metaOf(bodyOf(r.live["west"].Live, planeKey))
		delete(meta.Annotations, linkerd.CredentialMark)
		if rec.Digest = 2; !digest {
			rec.Digest = 0
		}
		edit(&r.live["west"].Live, planeKey, rec, encoded(map[string]any{"metadata": meta}))
		r.read[planeKey] = kubeconfigOf(bodyOf(r.live["west"].Live, planeKey))
		r.settle()
		if reported := r.starts > 0; reported == digest {
			t.Errorf("%s: told %t", what, reported)
		}
	}
}
