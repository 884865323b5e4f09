package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/linkwright/linkwright/sync/report"
)

const (
	silent = 2 * time.Second // a cluster that has not answered for so long does not answer
	most   = 3               // things that one line names
)

// Waiting is one line about what is waited for: clusters that do not answer first, then links, then whatever else goes on.
func (v View) Waiting(now time.Time) string {
	var items []string
	switch took := v.took(Row{Since: v.Since}, now); {
	case v.Awaited == "":
	case took == v.took(Row{Since: v.Began}, now): // which is said beside this
		items = append(items, "for "+v.Awaited)
	default:
		items = append(items, "for "+v.Awaited+" ("+took+")")
	}
	for _, row := range v.Rows {
		if !row.IsLink() && v.silent(row, now) {
			items = append(items, "cluster "+string(row.Cluster)+" does not answer ("+v.took(row, now)+")")
		}
	}
	for _, row := range v.Rows {
		if row.IsLink() && v.waits(row) {
			items = append(items, row.Link.String()+": "+sentence(row)+" ("+v.took(row, now)+")")
		}
	}
	if len(items) == 0 {
		return v.busy()
	}
	if more := len(items) - most; more > 0 {
		items = append(items[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(items, "; ")
}

// busy is what goes on if nothing is waited for that has a row.
func (v View) busy() string {
	var asked []string
	for _, row := range v.Rows {
		if !row.Asked.IsZero() {
			asked = append(asked, string(row.Cluster))
		}
	}
	switch len(asked) {
	case 0:
		return "credentials are being verified" // the one thing that a sync waits for without asking a cluster
	case 1:
		return "an answer from cluster " + asked[0]
	}
	return fmt.Sprintf("answers from %d clusters", len(asked))
}

// silent says that a cluster does not answer.
func (View) silent(row Row, now time.Time) bool {
	return !row.Asked.IsZero() && now.Sub(row.Asked) >= silent
}

// waits says that something must happen by itself.
func (View) waits(row Row) bool {
	return row.Status == report.Progressing || row.Status == report.Leaving
}

// sentence is the reason of a row.
func sentence(row Row) string {
	switch {
	case row.Reason == nil && row.Status == report.Progressing:
		return "linkwright writes it"
	case row.Reason == nil && row.Status == report.Leaving:
		return "linkwright removes it"
	case row.Reason == nil:
		return ""
	case row.Reason.Message == "":
		return string(row.Reason.Code)
	}
	return string(row.Reason.Code) + ": " + row.Reason.Message
}

// took is for how long a row is as it is, and for how long at most.
func (v View) took(row Row, now time.Time) string {
	since, until := row.Since, row.Until
	switch {
	case v.silent(row, now):
		since, until = row.Asked, time.Time{}
		if v.Timeout > 0 {
			return seconds(now.Sub(since)) + ", a request may take " + seconds(v.Timeout)
		}
	case until.IsZero() && v.waits(row):
		until = v.Until
	}
	if !until.After(now) {
		return seconds(now.Sub(since))
	}
	return seconds(now.Sub(since)) + " of at most " + seconds(until.Sub(since))
}

func seconds(d time.Duration) string { return max(d, 0).Round(time.Second).String() }

// Line is a row in one line, without how long.
func (r Row) Line() string {
	name := string(r.Cluster)
	if r.IsLink() {
		name = r.Link.String()
	}
	line := r.Status.Symbol() + " " + name + " " + string(r.Status)
	if why := sentence(r); why != "" && !r.done() {
		line += ": " + why
	}
	return line
}
