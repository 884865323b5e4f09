package plan

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/health"
)

// restarts restarts the cluster's destination controller for credentials that changed in place.
type restarts struct{ *cluster }

// add restarts the controller for all of them in one write.
func (r restarts) add(s Step) Step {
	if len(r.loading.NotLoaded) == 0 || r.restartDenied() != nil {
		return s
	}
	s.Changes = append(s.Changes, r.restart())
	for i, row := range s.Rows {
		if row.End == r.base() && row.Phase == Ready {
			s.Rows[i].Phase = Changing
		}
	}
	return s
}

// restart returns the write of one annotation, fenced by the uid that was read.
func (r restarts) restart() object.Change {
	l := r.Spec(r.name).Linkerd
	reported := linkerd.Loaded{At: r.Now, Marks: r.loading.Marks}
	return change(r.base(), object.Update, reported.Part(r.Owner, l), r.current.Live.Record(linkerd.Destination(l)),
		reason.CredentialsChanged, "the credentials that it loaded changed: its pods restart")
}

// restartDenied returns why the destination controller may not be restarted now; nil: it may.
func (r restarts) restartDenied() *object.Reason {
	k := linkerd.Destination(r.Spec(r.name).Linkerd)
	live, next := r.current.Live.Record(k), r.loading.Next(r.Now)
	switch why := r.denied(r.base()); {
	case why != nil:
		return why
	case !r.current.Covers(k):
		return object.Because(reason.CredentialNotLoaded, "%s still uses a former credential: run %s, or restart it after each change; linkwright may not get and patch it", k, r.Grant())
	case r.current.Unconfined(): // RBAC cannot grant one annotation, so the right would be for all of it
		return object.Because(reason.CredentialNotLoaded, "%s still uses a former credential: run %s, or restart it after each change; linkwright restarts it only if admission policies confine linkwright's account",
			k, r.Command("cluster add "+string(r.name)+" PATH --context CONTEXT"))
	case live.IsZero(), live.Terminating:
		return object.Because(reason.CredentialNotLoaded, "a credential changed, and there is no %s that linkwright could restart: restart what runs instead", k)
	case r.Now.Before(next):
		return object.Because(reason.CredentialNotLoaded, "%s still uses a former credential: linkwright restarted it last at %s, and restarts it again at %s UTC",
			k, r.loading.LoadedFor.At.UTC().Format(time.TimeOnly), next.UTC().Format(time.TimeOnly))
	}
	for _, policy := range r.policies {
		if why := policy(r.Snapshot, r.base(), []object.Change{r.restart()}); why != nil {
			return why
		}
	}
	return nil
}

// notLoaded returns why the destination controller has not loaded a link's changed credential, and when it may restart; nil: it has loaded it.
func (r restarts) notLoaded(l fleet.Link) (*object.Reason, time.Time) {
	mark := r.Changed(l)
	if mark == "" || !slices.Contains(r.loading.NotLoaded, mark) {
		return nil, time.Time{}
	}
	return r.restartDenied(), r.loading.Next(r.Now)
}

// loaded judges whether the control plane of a link's source runs with the credential that changed in place: it restarted for that, and all its pods
// are new. It read a credential that never changed when that appeared.
func (r restarts) loaded(l fleet.Link) health.Verdict {
	is := func(p health.Result, format string, a ...any) health.Verdict {
		return health.Verdict{Stage: health.CredentialsLoaded, Result: p, Why: object.Because(reason.CredentialNotLoaded, format, a...)}
	}
	mark, k := r.Changed(l), linkerd.Destination(r.Spec(r.name).Linkerd)
	live := r.current.Live.Record(k)
	switch {
	case mark == "":
		return health.Verdict{}
	case !r.current.Covers(k):
		return is(health.Unknown, "linkwright may not read %s", k)
	case live.IsZero():
		return is(health.Unknown, "there is no %s", k)
	case slices.Contains(r.loading.NotLoaded, mark):
		return is(health.Failed, "%s still uses the credential that it loaded before", k)
	case !live.Health.IsZero():
		return is(health.Failed, "%s restarts to load the credential, and is not ready: %s", k, live.Health)
	}
	return health.Verdict{Stage: health.CredentialsLoaded, Result: health.Passed}
}
