package cli

import (
	"regexp"

	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/api"
)

// nonFastForwardFlags say which commit one run may apply although it does not follow what was applied before.
type nonFastForwardFlags struct {
	commit string
}

func (r *nonFastForwardFlags) Add(f *pflag.FlagSet) {
	f.StringVar(&r.commit, "allow-non-fast-forward", "", "COMMIT: apply this commit, and its descendants, although it does not descend from the applied one; at least 7 digits")
}

var hexadecimal = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

// check gives the commit, or what it begins with; none: nothing is allowed.
func (r *nonFastForwardFlags) check() ([]api.Commit, error) {
	switch {
	case r.commit == "":
		return nil, nil
	case !hexadecimal.MatchString(r.commit):
		return nil, Usage("--allow-non-fast-forward %q: want a commit, 7 to 40 hexadecimal digits in lower case", r.commit)
	}
	return []api.Commit{api.Commit(r.commit)}, nil
}
