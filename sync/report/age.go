package report

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// age is how long ago a moment was, as kubectl shows it; empty if either is not known.
func age(since, now time.Time) string {
	if now.IsZero() || since.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(now.Sub(since), 0))
}

// moment is a time in UTC; empty for none.
func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
