package report

import (
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

// Status is how a link, an end of one, a base or a cluster is, in one word.
type Status string

// Statuses. A cluster has only Ready, Denied and Unknown; no end is Stalled.
//
//	Ready        all is as declared, and a link works; a cluster can be read and written
//	Progressing  writes are planned, or something must happen by itself
//	Suspended    it is left as it is, because that is declared or decided
//	Leaving      it is being removed
//	Stalled      a write failed, or all is as declared and the link does not work: somebody must act
//	Blocked      it cannot be rendered or written until somebody acts
//	Denied       a guard, a policy or an approval says no
//	Unknown      it was not read
//	Removed      nothing of it is left
//	Released     linkwright gave it up, and its objects stay
const (
	Ready       Status = "Ready"
	Progressing Status = "Progressing"
	Suspended   Status = "Suspended"
	Leaving     Status = "Leaving"
	Stalled     Status = "Stalled"
	Blocked     Status = "Blocked"
	Denied      Status = "Denied"
	Unknown     Status = "Unknown"
	Removed     Status = "Removed"
	Released    Status = "Released"
)

// Statuses lists those of links, the best first.
func Statuses() []Status {
	return []Status{Ready, Progressing, Suspended, Leaving, Stalled, Blocked, Denied, Unknown, Removed, Released}
}

// ClusterStatuses lists those of clusters, the best first.
func ClusterStatuses() []Status { return []Status{Ready, Unknown, Denied} }

// Unseen is the phase of an end whose cluster was not read: neither there nor absent.
const Unseen plan.Phase = "Unseen"

// statusOf gives the status of an end or a base.
func statusOf(p plan.Phase) Status {
	switch p {
	case plan.Changing, plan.Waiting:
		return Progressing
	case Unseen:
		return Unknown
	}
	return Status(p)
}

// Status is the word by which a link is counted. Where both ends are as declared, the stages of the link decide.
func (l LinkRow) Status() Status {
	is := statusOf(l.Phase)
	if l.failed() {
		return Stalled
	}
	switch is {
	case Removed, Released, Denied, Suspended:
		return is
	case Ready:
		is = works(l.Source.Condition())
	}
	if l.Leaving && is != Blocked {
		return Leaving
	}
	return is
}

// failed reports whether a write of the link failed. What leaves has a reason all the time.
func (l LinkRow) failed() bool {
	return l.Phase == plan.Changing && l.Why != nil && (!l.Leaving || l.Source.Failed || l.Target.Failed)
}

// Reason is why a link has its Status; nil: there is nothing to say. Where both ends are as declared, the
// first stage says it that keeps the link from working. Of a suspended link that stage is named, too.
func (l LinkRow) Reason() *object.Reason {
	if l.Phase == plan.Ready { // what else is to be said of the ends is only a remark
		if why := l.Source.NotWorking(); why != nil {
			return why
		}
	}
	if l.Phase == plan.Suspended {
		return notReadyToo(l.Why, sentence(l.Source.NotWorking()))
	}
	return l.Why
}

// notReadyToo is the reason of a suspended link, with why it is not ready; empty: it is.
func notReadyToo(suspended *object.Reason, why string) *object.Reason {
	if suspended == nil || why == "" {
		return suspended
	}
	return suspended.With("it is not ready: %s", why)
}

// works is the status of a link in whose ends all is as declared.
func works(ready object.Condition) Status {
	switch {
	case ready.Status == "" || ready.Status == object.True:
		return Ready
	case ready.Status == object.False && ready.Reason == reason.Progressing:
		return Progressing
	case ready.Status == object.False:
		return Stalled
	}
	return Unknown
}

// endStatus is the status of an end alone.
func endStatus(p plan.Phase, leaving bool) Status {
	if is := statusOf(p); !leaving || is != Ready && is != Progressing {
		return is
	}
	return Leaving
}
