package inventory

import (
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Revision records the applied and the observed revision, and why the observed one is not applied. It is written when one of them
// changes, and never for a time alone.
type Revision struct {
	Applied  api.Commit `json:"applied,omitempty"`  // empty: none yet, or a plain directory is applied
	Observed api.Commit `json:"observed,omitempty"` // the newest known one; empty: none
	// Why is why the observed revision is not applied, or could not be observed; nil: it is applied.
	Why *object.Reason `json:"why,omitempty"`
	// Links is the number of declared links of the applied revision that are not suspended.
	Links int `json:"links,omitempty"`
	// Suspended are the suspended clusters of the applied revision; sorted.
	Suspended []api.ClusterName `json:"suspended,omitempty"`
	// SuspendedLinks are suspended links between clusters that are not; sorted.
	SuspendedLinks []api.Pair `json:"suspendedLinks,omitempty"`
	By             string     `json:"by,omitempty"`   // the process that wrote it
	Since          time.Time  `json:"since,omitzero"` // the last change, in UTC and whole seconds
	// AppliedSince is since when the applied revision is applied, in UTC and whole seconds.
	AppliedSince time.Time `json:"appliedSince,omitzero"`
	// UninstallSince is when an uninstall began that has not ended, in UTC and whole seconds; zero: none has begun, or a sync followed it.
	UninstallSince time.Time `json:"uninstallSince,omitzero"`
}

// maxWhyLength bounds a message, in bytes.
const maxWhyLength = 512

// IsZero reports whether no revision is recorded.
func (r Revision) IsZero() bool { return r.By == "" && r.Since.IsZero() && r.UninstallSince.IsZero() }

// SameState reports whether r and s are equal without times. Messages count only for invalid declarations: other messages contain
// times and addresses.
func (r Revision) SameState(s Revision) bool {
	switch {
	case r.Applied != s.Applied, r.Observed != s.Observed, r.Links != s.Links, !slices.Equal(r.Suspended, s.Suspended),
		!slices.Equal(r.SuspendedLinks, s.SuspendedLinks), r.UninstallSince.IsZero() != s.UninstallSince.IsZero(), (r.Why == nil) != (s.Why == nil):
		return false
	case r.Why == nil:
		return true
	}
	return r.Why.Code == s.Why.Code && (r.Why.Code != reason.InvalidDeclarations || r.Why.Message == s.Why.Message)
}

// Recorded is r with its writer and time, and a message of bounded length.
func (r Revision) Recorded(by string, now time.Time) Revision {
	r.By, r.Since = by, now.UTC().Truncate(time.Second)
	if r.Why != nil {
		r.Why = &object.Reason{Code: r.Why.Code, Message: bounded(r.Why.Message, maxWhyLength)}
	}
	return r
}

// Replacing is r with since when its revision is applied; was is what was recorded before.
func (r Revision) Replacing(was Revision) Revision {
	switch r.Applied {
	case "":
		r.AppliedSince = time.Time{}
	case was.Applied:
		r.AppliedSince = was.AppliedSince
	default:
		r.AppliedSince = r.Since
	}
	return r
}

// bounded is text on one line, in valid UTF-8, of at most limit bytes.
func bounded(text string, limit int) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "�")
	if len(text) <= limit {
		return text
	}
	const more = "…"
	cut := limit - len(more)
	for cut > 0 && text[cut]&0xc0 == 0x80 { // within a character
		cut--
	}
	return text[:cut] + more
}
