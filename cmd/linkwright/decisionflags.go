package main

import (
	"errors"

	"github.com/spf13/pflag"
)

// refuseDecisionFlags has a daemon refuse the flags of a single sync, in whose place people record a decision: a flag that stays behind in a
// manifest would go on deciding.
func refuseDecisionFlags(f *pflag.FlagSet) {
	for name, command := range map[string]string{
		"accept-cluster":         "accept cluster NAME=UID",
		"abandon-cluster":        "abandon NAME",
		"allow-non-fast-forward": "allow non-fast-forward COMMIT",
	} {
		if f.Lookup(name) == nil {
			f.Var(instead(""), name, "")
		}
		flag := f.Lookup(name)
		flag.Value, flag.Hidden = instead(command), true
	}
}

// instead is a flag that says which command does what it did.
type instead string

func (instead) String() string { return "" }

// Type implements pflag.Value.
func (instead) Type() string { return "string" }

// Set implements pflag.Value.
func (i instead) Set(string) error {
	return errors.New("a daemon does not take decisions from flags: record it while the daemon runs: linkwright " + string(i))
}
