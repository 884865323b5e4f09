package restart

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/linkwright/linkwright/rollout"
)

// refusal is why a workload could not be restarted, and until when it is left alone.
type refusal struct {
	why   string
	until time.Time
}

// restartAll restarts workloads; false: one of them did not restart, and another decision is needed.
func (w *worker) restartAll(ctx context.Context, t Target, all []rollout.Restart) (done bool, err error) {
	done = true
	for _, r := range all {
		if ok, err := w.mayGoOn(ctx, t); !ok || err != nil {
			return false, err
		}
		f, err := w.compareOne(ctx, r.Ref)
		switch {
		case err == nil && (f == nil || f.Unknown != nil || f.Outdated == 0):
			done = false
			continue
		case err == nil && (f.UID != r.UID || f.Template != r.Template || f.State != r.State || f.Restarted != r.Restarted): // watches show that soon
			done, w.refused[r.Ref] = false, refusal{"it changes just now", time.Now().Add(minRetry)}
			continue
		case err == nil:
			r.ResourceVersion, r.For, r.Why = f.ResourceVersion, f.For, f.Difference
			err = w.restart(ctx, r)
		}
		if err != nil {
			w.refuse(ctx, r, err)
			done = false
		}
	}
	return done, nil
}

// mayGoOn reports whether restarts may begin, as it is now: the target is the same, no other cluster halts it, and nobody paused restarts.
func (w *worker) mayGoOn(ctx context.Context, t Target) (bool, error) {
	now, haltedBy, ok := w.runner.target(w)
	if !ok || haltedBy != nil || !now.same(t) {
		return false, nil
	}
	paused, err := w.conn.paused(ctx, w.runner.Owner)
	if paused { // the target says so soon
		w.pausedUntil = time.Now().Add(minRetry)
	}
	return !paused, err
}

// refuse notes that a workload could not be restarted.
func (w *worker) refuse(ctx context.Context, r rollout.Restart, err error) {
	now := time.Now()
	if apierrors.IsConflict(err) { // somebody changed it meanwhile
		w.refused[r.Ref] = refusal{"somebody changes it", now.Add(minRetry)}
		return
	}
	why := w.runner.Explain(err)
	w.refused[r.Ref] = refusal{fmt.Sprintf("%s: %s", why.Code, why.Message), now.Add(refusalPause)}
	if ctx.Err() == nil {
		w.runner.Log.Warn("a workload is not restarted", "cluster", string(w.name), "object", r.String(), "reason", string(why.Code), "error", why.Message)
	}
}

// refusals returns why workloads are left alone now, and when the first of them is tried again.
func (w *worker) refusals(now time.Time) (map[rollout.Ref]string, time.Time) {
	out, again := map[rollout.Ref]string{}, time.Time{}
	for ref, r := range w.refused {
		if !now.Before(r.until) {
			delete(w.refused, ref)
			continue
		}
		out[ref], again = r.why, soonest(again, r.until)
	}
	return out, again
}

// restart restarts a workload, if it is still what was read, and says so in an Event.
func (w *worker) restart(ctx context.Context, r rollout.Restart) error {
	now := time.Now()
	if now.Before(w.view.began) { // by the clock of another process
		now = w.view.began
	}
	generation, err := w.patch(ctx, r, now)
	if err != nil {
		return err
	}
	s := w.steps[r.Ref]
	s.restarted, s.uid, s.generation, s.done = &rollout.Restarted{For: r.For, At: now}, r.UID, generation, 0
	w.steps[r.Ref] = s
	w.runner.Log.Info("a workload restarts", "cluster", string(w.name), "object", r.String(), "changes", r.Why)
	w.event(ctx, restartEvent(r), "linkwright restarts it, because its pods run an outdated proxy; a restart changes "+cmp.Or(r.Why, "it"))
	return nil
}
