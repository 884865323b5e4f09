package store

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
)

// answers are those of one round to whether a commit may be applied after another; nil: it may.
type answers struct {
	after  map[[2]api.Commit]error       // the first after the second
	denied map[api.Commit]*object.Reason // that commit may not be applied after, made of after; nil: to be made. Nobody changes it
	commit api.Commit                    // of denied
}

func (a *answers) set(commit, last api.Commit, err error) {
	a.after[[2]api.Commit{commit, last}], a.denied = err, nil
}

// reset lets all be asked again; false: nothing was asked.
func (a *answers) reset() bool {
	if len(a.after) == 0 {
		return false
	}
	clear(a.after)
	a.denied = nil
	return true
}

// denies returns the commits that a fleet may not be applied after, as far as that was asked; f is nil before one is declared. Nobody changes it.
func (a *answers) denies(f *fleet.Fleet) map[api.Commit]*object.Reason {
	var commit api.Commit
	if f != nil {
		commit = f.Commit
	}
	if a.denied != nil && a.commit == commit {
		return a.denied
	}
	a.denied, a.commit = map[api.Commit]*object.Reason{}, commit
	for of, err := range a.after {
		if of[0] == commit && err != nil {
			a.denied[of[1]] = object.Because(reason.NonFastForward, "%v", err)
		}
	}
	return a.denied
}
