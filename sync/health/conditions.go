package health

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// RecoveryTime is for how long what is being set up may take.
const RecoveryTime = 5 * time.Minute

// readinessStages returns the stages that make a link ready or not, with the reason of each. That nobody serves behind a mirror is no fault of the
// link.
//
//	stage                  reason                 settles by itself
//	renders                NotRendered            while the target has given no token yet, or it is about to be verified
//	target reachable       TargetNotRead          no
//	trust anchors shared   TrustAnchorsNotShared  no
//	access works           CredentialNotAccepted  no
//	credentials written    CredentialsNotWritten  yes
//	controller leads       its own                yes
//	gateway alive          GatewayNotAlive        while the link is being set up: the first probes come late
func readinessStages() map[Stage]reason.Code {
	return map[Stage]reason.Code{
		EndRenders: reason.NotRendered, Reachable: reason.TargetNotRead, Trusted: reason.TrustAnchorsNotShared, CredentialVerified: reason.CredentialNotAccepted, CredentialsWritten: reason.CredentialsNotWritten, ControllerLeads: reason.ControllerNotLeading, Gateway: reason.GatewayNotAlive,
	}
}

// Denial returns what is reported about an end that a guard or a policy denies what is to be done there. Its message may change while all else stays.
func Denial(was []object.Condition, why object.Reason, now time.Time) []object.Condition {
	message := denialMessage(why)
	out := notReady(was, now, fault{reason: reason.Denied, message: message})
	for i := range out {
		out[i].Message = message
	}
	return out
}

// RemovalFailed returns what is reported about an end that is being removed, if a write for that failed.
func RemovalFailed(was []object.Condition, why object.Reason, now time.Time) []object.Condition {
	out := notReady(was, now, fault{reason: why.Code, message: why.Message})
	for i := range out {
		out[i].Message = why.Message
	}
	return out
}

// denialMessage is what a condition records of a denial. It repeats the messages of guards that name only objects of linkwright and its policy. The
// management cluster's record has that of a limit.
func denialMessage(why object.Reason) string {
	if why.Code == reason.PruneDisabled || why.Code == reason.PrunePolicy {
		return string(why.Code) + ": " + why.Message
	}
	return string(why.Code)
}

// Initial returns what is reported about a link of which nothing is written yet.
func Initial(now time.Time) []object.Condition {
	return notReady(nil, now, fault{soon: true})
}

// Conditions sums a link's stages up, for what was reported about it before. Due is when they must be judged again though nothing moved; zero: never.
//
//	stages that count                      Ready    Reconciling   Stalled
//	none failed, and both ends were read   True
//	failed, settles by itself              False    True          once it has taken longer than Settles
//	failed                                 False                  True
//	an end was not read                    Unknown
//
// What failed when it was tried last stays so until it is tried again: a process that has just started has tried nothing.
func Conditions(was []object.Condition, all []Verdict, now time.Time) (out []object.Condition, due time.Time) {
	v, code := decisive(all)
	if Condition(was, object.Ready).Reason == reason.Denied {
		was = nil // it tells nothing of stages
	}
	switch {
	case unverified(all, v) && Condition(was, object.Ready).Reason == reason.CredentialNotAccepted:
		return was, time.Time{}
	case code == "":
		return keepSince(was, now, object.Condition{Type: object.Ready, Status: object.True, Reason: reason.Healthy}), time.Time{}
	case v.Result == Unknown:
		return keepSince(was, now, object.Condition{Type: object.Ready, Status: object.Unknown, Reason: reason.EndNotRead}), time.Time{}
	}
	begun := Condition(was, object.Reconciling).Since
	soon := mayRecover(v, !begun.IsZero()) && Condition(was, object.Stalled).Status != object.True
	if begun.IsZero() {
		begun = now
	}
	if soon = soon && now.Before(begun.Add(RecoveryTime)); soon {
		due = begun.Add(RecoveryTime)
	}
	return notReady(was, now, fault{code, failure(v), soon}), due
}

// Suspended adds that the source's end is suspended to conditions, and whether changes wait until it is resumed.
func Suspended(all, was []object.Condition, waiting bool, now time.Time) []object.Condition {
	c := object.Condition{Type: object.Suspended, Status: object.True, Reason: reason.Suspended}
	if waiting {
		c.Reason, c.Message = reason.Waiting, "changes wait until the link is resumed"
	}
	return suspended(all, was, c, now)
}

// RemovalSuspended adds to conditions that the source's end would be removed if it were not suspended.
func RemovalSuspended(was []object.Condition, now time.Time) []object.Condition {
	return suspended(was, was, object.Condition{Type: object.Suspended, Status: object.True, Reason: reason.Leaving, Message: "its removal waits until the link is resumed"}, now)
}

// suspended is conditions with c in place of the one of its type.
func suspended(all, was []object.Condition, c object.Condition, now time.Time) []object.Condition {
	all = slices.DeleteFunc(slices.Clone(all), func(c object.Condition) bool { return c.Type == object.Suspended })
	return append(all, keepSince(was, now, c)...)
}

// Decisive returns the first stage that keeps a link from being ready; a zero Verdict: none does.
func Decisive(all []Verdict) Verdict {
	v, _ := decisive(all)
	return v
}

// decisive returns the first stage that keeps a link from being ready, with the reason to tell; none: the link is. A credential that nobody tried
// does not, nor anchors that nobody shows, nor a gateway of which no mirror tells.
func decisive(all []Verdict) (Verdict, reason.Code) {
	for _, v := range all {
		observed := v.Result != Unknown || v.Stage != Reachable && v.Stage != CredentialsWritten && v.Stage != ControllerLeads
		code := readinessStages()[v.Stage]
		if v.Stage == ControllerLeads && v.Result == Failed && v.Why != nil { // what to do differs
			code = v.Why.Code
		}
		if code != "" && (v.Result == Failed || !observed) {
			return v, code
		}
	}
	return Verdict{}, ""
}

// unverified reports whether nobody tried the credential, and nothing ahead of that is in its way.
func unverified(all []Verdict, first Verdict) bool {
	for _, v := range all {
		switch v.Stage {
		case CredentialVerified:
			return v.Result == Unknown
		case first.Stage:
			return false
		}
	}
	return false
}

// fault is what keeps a link from being ready; soon: it should come right by itself.
type fault struct {
	reason  reason.Code
	message string
	soon    bool
}

// notReady reports a fault. While it may settle, one fault after another is no news.
func notReady(was []object.Condition, now time.Time, f fault) []object.Condition {
	kind := object.Stalled
	if f.soon {
		kind, f.reason = object.Reconciling, reason.Progressing
	}
	return keepSince(was, now,
		object.Condition{Type: object.Ready, Status: object.False, Reason: f.reason, Message: f.message},
		object.Condition{Type: kind, Status: object.True, Reason: f.reason, Message: f.message})
}

// keepSince are conditions, each since it stands so, and in the words in which that was told first.
func keepSince(was []object.Condition, now time.Time, next ...object.Condition) []object.Condition {
	for i, c := range next {
		next[i].Since = now.UTC().Truncate(time.Second)
		if old := Condition(was, c.Type); old.SameState(c) {
			next[i] = old
		}
	}
	return next
}

// Condition returns that of one type; zero where there is none.
func Condition(all []object.Condition, kind string) object.Condition {
	for _, c := range all {
		if c.Type == kind {
			return c
		}
	}
	return object.Condition{}
}

// mayRecover reports whether what failed may come right by itself.
func mayRecover(v Verdict, settingUp bool) bool {
	switch v.Stage {
	case CredentialsWritten, ControllerLeads:
		return true
	case Gateway:
		return settingUp
	}
	return v.Stage == EndRenders && v.Why != nil && (v.Why.Code == reason.CredentialNotIssued || v.Why.Code == reason.CredentialNotVerified)
}

// failure says that a stage failed, and with which code: what a server said is for reports, which take secrets out. NotRendered says the stage already.
func failure(v Verdict) string {
	switch {
	case v.Why == nil:
		return v.Stage.failed()
	case v.Stage == EndRenders:
		return string(v.Why.Code)
	}
	return v.Stage.failed() + ": " + string(v.Why.Code)
}
