package report

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report/output"
)

// mostNames is how many mirrors a text names.
const mostNames = 10

// unlinkDoc is the removal of a link as it may be shown.
type unlinkDoc struct{ plan.Unlink }

// pair names the link.
func (u unlinkDoc) pair() string { return pair(string(u.Link.Source), string(u.Link.Target)) }

type unlinkDocs []unlinkDoc

// unlinkDocsOf: reasons are redacted.
func unlinkDocsOf(m mask, all []plan.Unlink) (out unlinkDocs) {
	for _, u := range all {
		u.Stopped, u.Waiting, u.Unread = m.reason(u.Stopped), m.reason(u.Waiting), m.reason(u.Unread)
		out = append(out, unlinkDoc{u})
	}
	return out
}

// document is the removal for programs.
func (u unlinkDoc) document() output.Unlink {
	out := output.Unlink{
		Source: string(u.Link.Source), Target: string(u.Link.Target), Begun: u.Begun,
		Stopped: u.Stopped, Waiting: u.Waiting, Stages: make([]output.UnlinkStage, len(u.Stages)),
	}
	out.Mirrors = mirrorsDocument(u.Mirrors)
	for i, s := range u.Stages {
		out.Stages[i] = output.UnlinkStage{Kind: string(s.Kind), Cluster: string(s.Cluster), Objects: s.Objects, Message: u.stage(s, u.words(mostNames))}
	}
	return out
}

// mirrorsDocument is what is known of mirrors; nil: nothing.
func mirrorsDocument(of plan.Mirrors) *output.Mirrors {
	if !of.Known {
		return nil
	}
	return &output.Mirrors{Services: orNone(of.Services), Serving: of.Serving, Federated: orNone(of.Federated)}
}

// orNone is a list that is written as [] if it is empty.
func orNone(keys []object.Key) []object.Key {
	if keys == nil {
		return []object.Key{}
	}
	return keys
}

// unlinkWords are how sentences about a removal name its clusters, its mirrors, and federated Services; empty: there are none.
type unlinkWords struct{ source, target, mirrors, federated string }

// words name the clusters, and up to most mirrors of each kind.
func (u unlinkDoc) words(most int) unlinkWords {
	w := unlinkWords{source: string(u.Link.Source), target: string(u.Link.Target)}
	if !u.Known {
		w.mirrors = "the mirror Services of " + w.target
		return w
	}
	if len(u.Services) > 0 {
		w.mirrors = u.services("of "+w.target, most)
	}
	if len(u.Federated) > 0 {
		w.federated = object.Count(len(u.Federated), "federated Service") + list(u.Federated, most)
	}
	return w
}

// services counts and names the mirrors of the target's services; which says more about them.
func (u unlinkDoc) services(which string, most int) string {
	text := counted(len(u.Services), "mirror Service") + " " + which
	if u.Serving > 0 {
		text += fmt.Sprintf(" (%d with a ready endpoint)", u.Serving)
	}
	return text + list(u.Services, most)
}

// counted is count, with "no" for zero.
func counted(n int, noun string) string {
	if n == 0 {
		return "no " + noun
	}
	return object.Count(n, noun)
}

// list names objects after a colon, at most so many of them; empty: there are none.
func list(keys []object.Key, most int) string {
	if len(keys) == 0 || most == 0 {
		return ""
	}
	names := make([]string, 0, most+1)
	for i, k := range keys {
		if i == most {
			break
		}
		names = append(names, line(k.Namespace+"/"+k.Name))
	}
	if more := len(keys) - len(names); more > 0 {
		return fmt.Sprintf(": %s and %d more", strings.Join(names, ", "), more)
	}
	return ": " + strings.Join(names, ", ")
}

// stage says in sentences what a stage does.
func (u unlinkDoc) stage(s plan.UnlinkStage, w unlinkWords) string {
	switch s.Kind {
	case plan.EmptySelectors:
		return fmt.Sprintf("linkwright empties the selectors of the Linkerd Link in %s, so that no new mirror appears.", w.source)
	case plan.RemoveMirrors:
		return u.removal(w)
	case plan.DeleteMirrors:
		why := fmt.Sprintf("Linkerd's controller in %s does not remove the mirrors", w.source)
		if u.Deadline == 0 {
			why = "prune.drainDeadline is 0s"
		}
		return fmt.Sprintf("%s, so linkwright %s.", why, w.removed())
	case plan.DeleteObjects:
		where := w.target
		if s.Cluster == u.Link.Source {
			where = w.source
		}
		return fmt.Sprintf("linkwright deletes %s in %s.", u.objects(s, w), where)
	}
	return ""
}

// removal says what Linkerd's controller removes, and until when.
func (u unlinkDoc) removal(w unlinkWords) string {
	removed := w.removed()
	if removed == "" {
		return fmt.Sprintf("Linkerd's controller in %s has no mirror Service of %s to delete.", w.source, w.target)
	}
	return fmt.Sprintf("Linkerd's controller in %s %s. linkwright deletes what is left after %s (prune.drainDeadline).",
		w.source, removed, duration.HumanDuration(u.Deadline))
}

// removed says what becomes of mirrors and federated Services; empty: there are none.
func (w unlinkWords) removed() string {
	var does []string
	if w.mirrors != "" {
		does = append(does, "deletes "+w.mirrors)
	}
	if w.federated != "" {
		does = append(does, "takes "+w.target+" out of "+w.federated)
	}
	return strings.Join(does, ", and ")
}

// objects names the kinds of objects that people know a link by, and counts the others.
func (u unlinkDoc) objects(s plan.UnlinkStage, w unlinkWords) string {
	kinds := []struct{ kind, name string }{{"Deployment", "the controller"}, {"Link", "the Linkerd Link"}, {"Secret", "the credentials"}}
	if s.Cluster != u.Link.Source {
		kinds = []struct{ kind, name string }{{"ServiceAccount", "the account of " + w.source}, {"Secret", "its token"}}
	}
	var names []string
	others := len(s.Objects)
	for _, k := range kinds {
		n := 0
		for _, o := range s.Objects {
			if o.Kind == k.kind {
				n++
			}
		}
		if n > 0 {
			names, others = append(names, k.name), others-n
		}
	}
	if others > 0 {
		noun := "more object"
		if len(names) == 0 {
			noun = "object"
		}
		names = append(names, object.Count(others, noun))
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// unlinksByPair are removals by source and target.
type unlinksByPair map[api.Pair]unlinkDoc

func (all unlinkDocs) byPair() unlinksByPair {
	out := make(unlinksByPair, len(all))
	for _, u := range all {
		out[u.Link] = u
	}
	return out
}

// hides says that the summary has all that the row of an end would say.
func (all unlinksByPair) hides(r output.EndDiff) bool {
	u, found := all[api.Pair{Source: api.ClusterName(r.Source), Target: api.ClusterName(r.Target)}]
	return found && r.Leaving && u.says(r.Reason)
}

// says reports whether the summary of a link gives a reason of one of its ends, or one that follows from that.
func (u unlinkDoc) says(why *object.Reason) bool {
	if why == nil || why.Code == reason.WaitingForSource && (u.Stopped != nil || u.Waiting != nil) {
		return true
	}
	for _, own := range []*object.Reason{u.Stopped, u.Waiting} {
		if own != nil && (own.Message == why.Message || own.Code == why.Code && strings.HasSuffix(why.Message, own.Message)) {
			return true
		}
	}
	return false
}
