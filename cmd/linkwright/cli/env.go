package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// given marks a flag that has its value from the environment or the config file, not from the command line.
const given = "linkwright.dev/given"

// Decides lists the flags that confirm or decide something once. They have no variable, and no key in the config file: one that is left
// over would decide again.
func Decides() []string {
	return []string{
		"abandon-cluster", "accept-cluster", "all", "allow-non-fast-forward", "dry-run", "force", "force-manager", "from-owner", "help", "reason",
		"revoke", "until", "version", "withdraw", "yes",
	}
}

// Preset gives values to the flags that the command line leaves out: from the environment, else from the config file.
func Preset(c *cobra.Command) error {
	if err := FromEnvironment(c); err != nil {
		return err
	}
	return FromConfig(c)
}

// FromEnvironment sets each flag that was not given from its variable: --git-timeout from LINKWRIGHT_GIT_TIMEOUT. An empty variable counts
// for none. A flag that may be repeated takes several values, separated by commas. Flags that decide something have no variable.
func FromEnvironment(c *cobra.Command) error {
	var errs []error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		name := variable(f)
		text := os.Getenv(name)
		if name == "" || text == "" || f.Changed {
			return
		}
		for _, v := range valuesOf(f, text) {
			if err := setTo(f, v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
		annotate(f, given, name)
	})
	if err := errors.Join(errs...); err != nil {
		return Usage("%w", err)
	}
	return nil
}

// variable is the name of a flag's environment variable; empty: it has none.
func variable(f *pflag.Flag) string {
	if slices.Contains(Decides(), f.Name) || f.Annotations[noVariable] != nil {
		return ""
	}
	return "LINKWRIGHT_" + strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(f.Name, managementPrefix), "-", "_"))
}

func annotate(f *pflag.Flag, key string, values ...string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[key] = values
}

// FromVariable says that a flag has its value from the environment or the config file.
func FromVariable(f *pflag.Flag) bool { return f != nil && f.Annotations[given] != nil }

// noVariable marks a flag that means another cluster than the flag of its name elsewhere.
const noVariable = "linkwright.dev/no-variable"

// WithoutVariable takes the variables of flags away, and their keys in the config file.
func WithoutVariable(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		annotate(f.Lookup(name), noVariable, "true")
	}
}

func valuesOf(f *pflag.Flag, text string) []string {
	if _, repeatable := f.Value.(pflag.SliceValue); !repeatable {
		return []string{text}
	}
	out := strings.Split(text, ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}
