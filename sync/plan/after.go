package plan

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// After returns the side a cluster would show once the step was done; side stays as it is. Every object that was written has a body, as it went out:
// what others add to one (a status, defaults, a first token) is not in it, so new credentials come from Results.Fresh. A refused step, an unknown
// side: nothing changes.
//
//	create, update, drain, replace   record of object.Written, body of the object
//	update of a part of another's    record as it was, body with the part merged in
//	patch                            the same
//	adopt                            record of object.Adopted, body with the patch merged in
//	release of an object of ours     record without any mark, body with the patch merged in
//	release of our part of another   record as it was, body with the patch merged in
//	delete                           neither is left
func After(current state.Cluster, s Step) state.Cluster {
	if !current.Known() || s.Denied != nil {
		return current
	}
	observed := current.Live.Edit()
	for _, c := range slices.Concat(s.Ahead, s.Changes, s.After) {
		applyChange(observed, current.Live, c)
	}
	current.Live = observed.Observation()
	return current
}

// applyChange shows one change. A step writes no object twice.
func applyChange(observed *object.Edit, was object.Observation, c object.Change) {
	switch c.Action {
	case object.None:
	case object.Delete:
		observed.Drop(c.Key)
	case object.Release:
		now, body := was.Record(c.Key), object.Body{}
		if c.Releases() {
			now = object.Released(now)
		}
		if live, ok := was.Body(c.Key); ok {
			body = merged(live, c.Object.Body)
		}
		if !now.IsZero() {
			observed.Put(c.Key, now, body)
		}
	case object.Adopt:
		body, _ := was.Body(c.Key)
		observed.Put(c.Key, object.Adopted(was.Record(c.Key)), merged(body, c.Object.Body))
	case object.Update, object.Patch:
		if body, ok := was.Body(c.Key); ok && c.Object.Part {
			observed.Put(c.Key, was.Record(c.Key), merged(body, c.Object.Body))
			return
		}
		observed.Put(c.Key, object.Written(c.Object), issued(was, c))
	default:
		observed.Put(c.Key, object.Written(c.Object), issued(was, c))
	}
}

// issued returns the body of a write, and in the Secret of an account the token that the server put there: an update leaves it.
func issued(was object.Observation, c object.Change) object.Body {
	live, ok := was.Body(c.Key)
	if !ok || c.Action != object.Update || c.Key.Kind != "Secret" {
		return c.Object.Body
	}
	var secret struct {
		Type string         `json:"type"`
		Data map[string]any `json:"data"`
	}
	if json.Unmarshal(live.Bytes(), &secret) != nil || secret.Type != string(corev1.SecretTypeServiceAccountToken) || len(secret.Data) == 0 {
		return c.Object.Body
	}
	data, err := json.Marshal(map[string]any{"data": secret.Data})
	if err != nil {
		return c.Object.Body
	}
	return merged(object.NewBody(data), c.Object.Body)
}

// merged applies a JSON merge patch (RFC 7396) to an object.
func merged(body, patch object.Body) object.Body {
	var into, from map[string]any
	if json.Unmarshal(body.Bytes(), &into) != nil || json.Unmarshal(patch.Bytes(), &from) != nil || into == nil {
		return body
	}
	merge(into, from)
	if meta, ok := into["metadata"].(map[string]any); ok {
		delete(meta, "managedFields") // the server's: a release resets them
	}
	out, err := json.Marshal(into)
	if err != nil {
		return body
	}
	return object.NewBody(out)
}

func merge(into, from map[string]any) {
	for name, v := range from {
		child, isMap := v.(map[string]any)
		switch {
		case v == nil:
			delete(into, name)
		case isMap:
			below, ok := into[name].(map[string]any)
			if !ok {
				below = map[string]any{}
				into[name] = below
			}
			merge(below, child)
		default:
			into[name] = v
		}
	}
}

// maxRounds bounds a simulation. An unlink takes about ten rounds.
const maxRounds = 50

// Simulate does all steps of all clusters without a cluster until none has anything left to do. It returns the resulting snapshot, and the steps of
// each cluster in order. Controllers count as prompt: a new one takes the Lease of its link, and releases it with the Link; pods disappear with their Deployment, and mirrors with
// the selectors that chose them.
// Credentials must be given as Fresh, because nobody issues any.
func Simulate(w state.Snapshot, r Renderer, policies ...Policy) (state.Snapshot, map[api.ClusterName][]Step) {
	w.Clusters = maps.Clone(w.Clusters)
	steps := map[api.ClusterName][]Step{}
	names := slices.Sorted(maps.Keys(w.Clusters))
	for range maxRounds {
		moved := false
		for _, name := range names {
			s := Next(w, name, r, policies...)
			if s.Writes() == 0 && len(steps[name]) > 0 && steps[name][len(steps[name])-1].Writes() == 0 {
				steps[name][len(steps[name])-1] = s
				continue
			}
			steps[name] = append(steps[name], s)
			if s.Writes() > 0 {
				moved = true
				w.Clusters[name] = withControllers(w.Spec(name).Linkerd, After(w.Clusters[name], s), s)
			}
		}
		if !moved {
			break
		}
	}
	return w, steps
}

// WithControllers adds to simulated clusters a pod of the controller of every Linkerd Link, so that an unlink of it is drained as in a cluster that works.
func WithControllers(w state.Snapshot) state.Snapshot {
	w.Clusters = maps.Clone(w.Clusters)
	for name, current := range w.Clusters {
		observed := current.Live.Edit()
		for k := range current.Live.Kind(linkerd.Group, "Link") {
			link, _ := current.Live.Body(k)
			pod, body := linkerd.StandInPod(w.Spec(name).Linkerd, api.ClusterName(k.Name), link)
			observed.Put(pod, object.Record{}, body)
		}
		current.Live = observed.Observation()
		w.Clusters[name] = current
	}
	return w
}

// WithConfigs adds to simulated clusters Linkerd's configuration, if they have none, with every value that one of these fleets declares there: each is
// as the installation has it, which is not known.
func WithConfigs(w state.Snapshot, fleets ...*fleet.Fleet) state.Snapshot {
	w.Clusters = maps.Clone(w.Clusters)
	for name, current := range w.Clusters {
		at := w.Spec(name).Linkerd
		var paths []string
		for _, f := range fleets {
			if c, ok := f.Cluster(name); ok {
				for _, v := range c.Values {
					paths = append(paths, v.Path)
				}
			}
		}
		key := linkerd.ConfigKey(at)
		if len(paths) == 0 || !current.Live.Record(key).IsZero() {
			continue
		}
		observed := current.Live.Edit()
		observed.Put(key, object.Record{UID: "simulated", ResourceVersion: "1"}, linkerd.StandInConfig(at, paths))
		current.Live = observed.Observation()
		w.Clusters[name] = current
	}
	return w
}

// withControllers has new controllers take free Leases, and removes the pods of controllers that the step deleted, and the mirrors of links that it
// drained.
func withControllers(l api.Linkerd, current state.Cluster, s Step) state.Cluster {
	observed := current.Live.Edit()
	for _, c := range s.Changes {
		lease := linkerd.LeaseKey(l, c.End.Link.Target)
		switch {
		case c.Action == object.Create && c.Key.Kind == "Deployment" && !current.Live.Record(lease).IsZero():
			held := current.Live.Record(lease)
			held.Health = object.Health{}
			observed.Put(lease, held, object.Body{})
		case c.Action == object.Delete && c.Key.Kind == "Link" && !current.Live.Record(lease).IsZero():
			free := current.Live.Record(lease)
			free.Health = object.HealthOf("Lease", []byte("{}"))
			observed.Put(lease, free, object.Body{})
		case c.Action == object.Delete && c.Key.Kind == "Deployment":
			for _, pod := range linkerd.MirrorsOf(l, current.Live)[c.End.Link.Target].Pods {
				observed.Drop(pod)
			}
		case c.Action == object.Drain && c.Why.Code == reason.Draining:
			now := observed.Observation() // another link may have left a Service that they share
			m := linkerd.MirrorsOf(l, now)[c.End.Link.Target]
			for _, k := range slices.Concat(m.Services, m.Endpoints) {
				observed.Drop(k)
			}
			for _, f := range m.Federated {
				applyChange(observed, now, prune.LeaveFederated(c.End, f, now))
			}
		}
	}
	current.Live = observed.Observation()
	return current
}
