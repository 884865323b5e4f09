// Package notify shows transitions of links, clusters and revisions as Events of the management cluster.
package notify

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedeventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/report/output"
)

const (
	action = "Sync"
	// maxNote is the length of a message in bytes that every API server takes (validation of events.k8s.io allows 1024).
	maxNote = 1000
)

// Options say where Events are written.
type Options struct {
	Config *rest.Config // of the management cluster
	Owner  string
	// Record reads linkwright's record. Its ConfigMap is what Events are about: links and clusters are no objects of the management cluster.
	Record func(context.Context) (inventory.Record, error)
	Key    object.Key // of that ConfigMap
	Log    *slog.Logger
}

// Notifier shows what reports and the record say, during one period of leadership.
type Notifier struct {
	options  Options
	recorder events.EventRecorder
	notices  report.Notices
	shown    shown         // of the last report
	changed  chan struct{} // the record may name other revisions

	mu     sync.Mutex
	record inventory.Record // as read last
}

// shown is what a report says of revisions.
type shown struct{ applied, observed, err string }

// Begin reads the record, and shows transitions until the returned function is called. A process that starts again repeats none: what the record
// says of revisions is known, and so is what the first sync finds as it was.
func Begin(ctx context.Context, o Options) (*Notifier, func(), error) {
	client, err := typedeventsv1.NewForConfig(o.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the management cluster: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	broadcaster := events.NewBroadcaster(&sink{EventSink: &events.EventSinkImpl{Interface: client}, log: o.Log})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		cancel()
		return nil, nil, fmt.Errorf("record events: %w", err)
	}
	n := &Notifier{options: o, recorder: broadcaster.NewRecorder(scheme.Scheme, object.Manager(o.Owner)), changed: make(chan struct{}, 1)}
	n.record, _ = o.Record(ctx) // else the first record that can be read is what is known
	var following sync.WaitGroup
	following.Go(func() { n.follow(ctx) })
	return n, func() {
		cancel()
		following.Wait()
		broadcaster.Shutdown()
	}, nil
}

// Publish shows the transitions of a report. It waits for nothing.
func (n *Notifier) Publish(r report.Report) {
	var all []report.Notice
	n.notices, all = n.notices.Next(r)
	n.show(all)
	if now := (shown{string(r.Commit), string(r.Head), r.Err}); r.When == report.AtEnd && now != n.shown {
		n.shown = now
		select {
		case n.changed <- struct{}{}:
		default:
		}
	}
}

// follow reads the record whenever it may have changed, until ctx ends.
func (n *Notifier) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.changed:
		}
		now, err := n.options.Record(ctx)
		if err != nil {
			continue
		}
		n.mu.Lock()
		was := n.record
		n.record = now
		n.mu.Unlock()
		if was.Clusters != nil {
			n.show(revisionNotices(was.Revision, now.Revision))
		}
	}
}

// revisionNotices are the transitions from one recorded revision to another, with the reasons that `linkwright events` shows.
func revisionNotices(was, now inventory.Revision) []report.Notice {
	ref := func(commit string) string { return output.Revision{Revision: commit}.Ref() }
	applied, observed := ref(string(now.Applied)), ref(string(now.Observed))
	var out []report.Notice
	if now.Applied != "" && now.Applied != was.Applied {
		message := applied + " is applied"
		if was.Applied != "" {
			message += ", was " + ref(string(was.Applied))
		}
		out = append(out, report.Notice{Object: applied, Reason: string(reason.Applied), Message: message})
	}
	same := was.Why != nil && now.Why != nil && was.Why.Code == now.Why.Code && was.Observed == now.Observed
	switch {
	case now.Why != nil && !same && now.Why.Code == reason.RepositoryNotRead:
		out = append(out, report.Notice{Warning: true, Reason: string(now.Why.Code), Message: "the repository cannot be read: " + now.Why.Message})
	case now.Why != nil && !same:
		out = append(out, report.Notice{Object: observed, Warning: true, Reason: string(now.Why.Code), Message: observed + " is not applied: " + now.Why.Message})
	case now.Why == nil && was.Why != nil && now.Applied == was.Applied:
		out = append(out, report.Notice{Object: applied, Reason: string(reason.Applied), Message: applied + " is applied and the newest"})
	}
	return out
}

// show has Events written, one after the other in the background.
func (n *Notifier) show(all []report.Notice) {
	if len(all) == 0 {
		return
	}
	n.mu.Lock()
	uid := n.record.Was.UID
	n.mu.Unlock()
	for _, notice := range all {
		kind := corev1.EventTypeNormal
		if notice.Warning {
			kind = corev1.EventTypeWarning
		}
		about := &corev1.ObjectReference{
			APIVersion: "v1", Kind: n.options.Key.Kind, Namespace: n.options.Key.Namespace, Name: n.options.Key.Name, UID: types.UID(uid), FieldPath: notice.Object,
		}
		n.recorder.Eventf(about, nil, kind, notice.Reason, action, "%s", note(notice.Message))
	}
}

// note shortens a message to what an API server takes.
func note(message string) string {
	if len(message) <= maxNote {
		return message
	}
	return strings.ToValidUTF8(message[:maxNote], "") + "…"
}

// sink says once why no Event can be written.
type sink struct {
	events.EventSink
	log  *slog.Logger
	once sync.Once
}

// Create implements events.EventSink.
func (s *sink) Create(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	out, err := s.EventSink.Create(ctx, e)
	return out, s.explained(err)
}

// Patch implements events.EventSink.
func (s *sink) Patch(ctx context.Context, e *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	out, err := s.EventSink.Patch(ctx, e, data)
	return out, s.explained(err)
}

func (s *sink) explained(err error) error {
	if apierrors.IsForbidden(err) {
		s.once.Do(func() {
			s.log.Warn("no events are written: grant create and patch on events.events.k8s.io in linkwright's namespace, as deploy/management does", "error", err)
		})
	}
	return err
}
