package inventory

import (
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Revision is what the management cluster remembers of the revisions that declare: which is applied, which was observed last, and why
// that one is not applied. It is written when one of that changes, never for a time alone.
type Revision struct {
	Applied  api.Commit `json:"applied,omitempty"`  // empty: none yet, or a plain directory is applied
	Observed api.Commit `json:"observed,omitempty"` // the newest that was seen; empty: none
	// Why says why the observed revision is not applied, or was not observed at all; nil: it is applied.
	Why *object.Reason `json:"why,omitempty"`
	// Links is how many links the applied revision has written: declared, and not suspended.
	Links int `json:"links,omitempty"`
	// Suspended are the clusters in which the applied revision has nothing written; sorted.
	Suspended []api.ClusterName `json:"suspended,omitempty"`
	// SuspendedLinks are links that Links does not count although their clusters are written; sorted.
	SuspendedLinks []api.Pair `json:"suspendedLinks,omitempty"`
	By             string     `json:"by,omitempty"`   // the process that wrote it
	Since          time.Time  `json:"since,omitzero"` // since when it stands so, in UTC and whole seconds
}

// maxWhyLength is of a message, in bytes.
const maxWhyLength = 512

// IsZero reports whether nothing of revisions is remembered.
func (r Revision) IsZero() bool { return r.By == "" && r.Since.IsZero() }

// Stands reports whether r and s tell the same. Messages count only of errors in declarations: other errors name moments and whom they met.
func (r Revision) Stands(s Revision) bool {
	switch {
	case r.Applied != s.Applied, r.Observed != s.Observed, r.Links != s.Links, !slices.Equal(r.Suspended, s.Suspended),
		!slices.Equal(r.SuspendedLinks, s.SuspendedLinks), (r.Why == nil) != (s.Why == nil):
		return false
	case r.Why == nil:
		return true
	}
	return r.Why.Code == s.Why.Code && (r.Why.Code != reason.InvalidDeclarations || r.Why.Message == s.Why.Message)
}

// Noted is r as it is to be remembered: by whom and since when, with a message of bounded length.
func (r Revision) Noted(by string, now time.Time) Revision {
	r.By, r.Since = by, now.UTC().Truncate(time.Second)
	if r.Why != nil {
		r.Why = &object.Reason{Code: r.Why.Code, Message: bounded(r.Why.Message, maxWhyLength)}
	}
	return r
}

// bounded is text on one line, of valid UTF-8, and of no more bytes than limit.
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
