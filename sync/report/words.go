package report

import (
	"slices"
	"strings"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

// pair names a link as texts do.
func pair(source, target string) string { return source + "→" + target }

// words are a status and, of what is denied or blocked while it leaves, that it leaves.
func words(status string, leaving bool) string {
	if leaving && status != string(Removed) && status != string(Leaving) {
		return status + " (leaving)"
	}
	return status
}

func (l linkDoc) pair() string { return pair(l.Source, l.Target) }

func (l linkDoc) words() string { return words(l.Status, l.Leaving) }

// baseMeaning says what a base is: the word is linkwright's own.
const baseMeaning = "The base is what linkwright keeps once in a cluster, not once per link: a namespace, a record of what is applied there, and objects of the overlay."

// baseWords are the words of a cluster's base.
func baseWords(b *output.Base) string { return "base " + words(b.Status, b.Leaving) }

// message is the message of a reason, with its code where that says more than the status.
func message(status string, why *object.Reason) string {
	if why != nil && (string(why.Code) == status || why.Code == reason.Healthy || strings.HasSuffix(why.Message, ": "+string(why.Code))) {
		return why.Message
	}
	return sentence(why)
}

// shownOnce are reasons that a text has shown. Links often share a reason, and have that of their cluster, so its details are shown only in the first row
// that has it.
type shownOnce map[object.Reason]bool

// message is the whole message in the first row that shows it, and in later ones its first part.
func (s shownOnce) message(status string, why *object.Reason) string {
	if why == nil || !s[*why] {
		if why != nil {
			s[*why] = true
		}
		return message(status, why)
	}
	if first := why.First(); len(first) <= maxRepeated {
		return message(status, &object.Reason{Code: why.Code, Message: first})
	}
	return seeAbove(why)
}

// maxRepeated is how long a message may be, in bytes, that a text shows more than once.
const maxRepeated = 160

// seeAbove stands for a long message that a text has shown already, such as what an API server says of a right that is missing.
func seeAbove(why *object.Reason) string { return string(why.Code) + ": see above" }

// whole is the whole message, unless it is long and was shown already.
func (s shownOnce) whole(status string, why *object.Reason) string {
	if why != nil && s[*why] && len(why.Message) > maxRepeated {
		return seeAbove(why)
	}
	if why != nil {
		s[*why] = true
	}
	return message(status, why)
}

// notes are the rows of a cluster that is not just Ready: its status, and what its base has to say.
func (c clusterDoc) notes(shown shownOnce) (rows [][]string) {
	if c.Status != string(Ready) {
		rows = append(rows, []string{c.Name, c.Status, shown.whole(c.Status, c.Reason)})
	}
	if c.Base != nil {
		rows = append(rows, []string{c.Name, baseWords(c.Base), shown.whole(c.Base.Status, c.Base.Reason)})
	}
	if len(c.Orphans) > 0 {
		rows = append(rows, []string{c.Name, "orphans", orphans(c.Cluster)})
	}
	return rows
}

// writes counts the writes that were done, and those that failed.
func (c clusterDoc) writes() (written, failed int) {
	for _, w := range c.Written {
		if w.Error != "" {
			failed += w.Times
		} else {
			written += w.Times
		}
	}
	return written, failed
}

// conditions are those that may be shown. What both ends of a link record is shown once.
func (m mask) conditions(all []object.Condition) []object.Condition {
	out := make([]object.Condition, 0, len(all))
	for _, c := range all {
		c.Reason, c.Message = reason.Code(line(string(c.Reason))), m.line(c.Message)
		repeats := func(before object.Condition) bool { return before.SameState(c) && before.Message == c.Message }
		if !slices.ContainsFunc(out, repeats) {
			out = append(out, c)
		}
	}
	return out
}
