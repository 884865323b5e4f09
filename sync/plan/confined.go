package plan

import (
	"github.com/linkwright/linkwright/object"

	"github.com/linkwright/linkwright/object/reason"
)

// Codes of a cluster in which no admission policies hold linkwright's account to what linkwright does: they are missing, altered or not
// known; or its login is no ServiceAccount, which policies could be for.
const (
	NotConfined      = reason.NotConfined
	NoServiceAccount = reason.NoServiceAccount
)

// unconfined says why none do in the planner's own cluster, and what to do; nil: they do.
func (p *planner) unconfined() *object.Reason {
	if !p.side.Known || p.side.Gap == "" {
		return nil
	}
	code, todo := NotConfined, "with your own login"
	if p.side.Anyone {
		code, todo = NoServiceAccount, "give it an account of its own"
	}
	return object.Because(code, "%s: %s: %s", p.side.Gap, todo, p.command("cluster add "+string(p.name)+" PATH --context CONTEXT"))
}
