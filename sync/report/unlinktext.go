package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

// unlinkGroup are removals of which all is the same but the mirrors.
type unlinkGroup struct{ unlinkDocs }

// unlinkState is how far a removal is.
//
//	removed  it begins with the next sync
//	resumed  an earlier sync began it, and the next one goes on
//	waiting  an earlier sync began it, and it waits
//	stopped  nothing is removed before somebody acts
//	delayed  nothing is removed yet
type unlinkState string

const (
	removed unlinkState = "removed"
	resumed unlinkState = "resumed"
	waiting unlinkState = "waiting"
	stopped unlinkState = "stopped"
	delayed unlinkState = "delayed"
)

func (u unlinkDoc) state() unlinkState {
	switch moves := len(u.Stages) > 0; {
	case u.Begun && moves:
		return resumed
	case u.Begun:
		return waiting
	case u.Stopped != nil:
		return stopped
	case moves:
		return removed
	}
	return delayed
}

// ofMany names the ends of each link of several. Only what is true of all of them is said.
func (u unlinkDoc) ofMany() unlinkWords {
	w := unlinkWords{source: "the source", target: "the target", mirrors: "the mirror Services of the target"}
	if len(u.Federated) > 0 {
		w.federated = "federated Services"
	}
	return w
}

// groups puts links together of which all is the same but the mirrors, in the order of the first of each.
func (all unlinkDocs) groups() (out []unlinkGroup) {
	at := map[string]int{}
	for _, u := range all {
		same := strings.Join(append([]string{string(u.state()), u.closing(), sentence(u.Stopped)}, u.steps(u.ofMany())...), "\n")
		i, known := at[same]
		if !known {
			i = len(out)
			at[same], out = i, append(out, unlinkGroup{})
		}
		out[i].unlinkDocs = append(out[i].unlinkDocs, u)
	}
	return out
}

// steps are the sentences of all stages.
func (u unlinkDoc) steps(w unlinkWords) (out []string) {
	for _, s := range u.Stages {
		out = append(out, u.stage(s, w))
	}
	return out
}

// closing is what is said after the stages.
func (u unlinkDoc) closing() string {
	switch {
	case u.Waiting != nil && len(u.Stages) == 0 && u.NeedsApproval():
		return "After an approval, this still denies it: " + sentence(u.Waiting)
	case u.Waiting != nil && len(u.Stages) > 0:
		return "Then linkwright waits: " + message(string(reason.Waiting), u.Waiting)
	case u.Waiting != nil:
		return message(string(reason.Waiting), u.Waiting)
	case u.Stopped != nil || u.Begun:
		return ""
	case u.Unread != nil:
		return "The number of mirror Services is not known: " + sentence(u.Unread)
	case !u.Known:
		return "No cluster was read, so the number of mirror Services is not known. With clusters, prune.maxMirrors or the annotation " +
			object.PruneAnnotation + "=" + object.PruneDisabled + " can still deny this."
	}
	return "No guard denies this."
}

func (g unlinkGroup) one() bool { return len(g.unlinkDocs) == 1 }

// head is the first sentence of a group.
func (g unlinkGroup) head() string {
	subject, them, first := object.Count(len(g.unlinkDocs), "link")+" are ", "them", g.unlinkDocs[0]
	if g.one() {
		subject, them = "Link "+first.pair()+" is ", "it"
	}
	switch first.state() {
	case removed:
		return subject + "removed:"
	case resumed:
		return subject + "being removed, because an earlier sync began it:"
	case waiting:
		return subject + "being removed, and linkwright waits:"
	case stopped:
		return subject + "to be removed, and linkwright removes nothing of " + them + ":"
	}
	return subject + "to be removed, and linkwright waits before it removes anything of " + them + ":"
}

// lead introduces the stages of several links, and those that need an approval.
func (g unlinkGroup) lead() string {
	approved := g.unlinkDocs[0].NeedsApproval()
	switch {
	case len(g.unlinkDocs[0].Stages) == 0:
		return ""
	case approved && g.one():
		return "After an approval, it goes in this order:"
	case approved:
		return "After an approval, each goes in this order:"
	case g.one():
		return ""
	}
	return "Each goes in this order:"
}

// steps are the stages of a group. Those of a single link name its clusters and up to most mirrors.
func (g unlinkGroup) steps(most int) []string {
	if g.one() {
		return g.unlinkDocs[0].steps(g.unlinkDocs[0].words(most))
	}
	return g.unlinkDocs[0].steps(g.unlinkDocs[0].ofMany())
}

// mirrors has a row for each link whose mirrors are known and not named by its stages.
func (g unlinkGroup) mirrors(most int) (rows [][]string) {
	for _, u := range g.unlinkDocs {
		if !u.Known || g.one() && u.removesMirrors() {
			continue
		}
		text := u.services("in "+string(u.Link.Source), most)
		if len(u.Federated) > 0 {
			text += "; member of " + u.words(most).federated
		}
		rows = append(rows, []string{u.pair(), text})
	}
	return rows
}

// pairs names the links of a group whose mirrors are not known.
func (g unlinkGroup) pairs() string {
	if g.one() || g.unlinkDocs[0].Known {
		return ""
	}
	names := make([]string, len(g.unlinkDocs))
	for i, u := range g.unlinkDocs {
		names[i] = u.pair()
	}
	return strings.Join(names, ", ")
}

// removesMirrors says that a stage names the mirrors.
func (u unlinkDoc) removesMirrors() bool {
	return slices.ContainsFunc(u.Stages, func(s plan.UnlinkStage) bool { return s.Kind == plan.RemoveMirrors || s.Kind == plan.DeleteMirrors })
}

func (g unlinkGroup) text() string {
	var rows []string
	for _, r := range g.mirrors(mostNames) {
		rows = append(rows, strings.Join(r, "\t"))
	}
	lines := []string{g.head(), indented(sentence(g.unlinkDocs[0].Stopped)), indented(g.pairs()), strings.TrimSuffix(columns("  ", rows), "\n"), g.lead()}
	for i, s := range g.steps(mostNames) {
		lines = append(lines, fmt.Sprintf("  %d. %s", i+1, s))
	}
	lines = slices.DeleteFunc(append(lines, indented(g.unlinkDocs[0].closing())), func(l string) bool { return l == "" })
	return strings.Join(lines, "\n") + "\n"
}

// indented is a line of a paragraph; empty for no text.
func indented(text string) string {
	if text == "" {
		return ""
	}
	return "  " + text
}

// UnlinksText says what is removed of links; empty: nothing is.
func (d Diff) UnlinksText() string {
	return paragraphs(unlinkDocsOf(redacting(nil), d.Unlinks).text()...)
}

// text is a paragraph for each group.
func (all unlinkDocs) text() []string {
	var blocks []string
	for _, g := range all.groups() {
		blocks = append(blocks, g.text())
	}
	return blocks
}
