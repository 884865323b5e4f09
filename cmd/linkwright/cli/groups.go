package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups in which --help shows flags, in this order; what is in none comes first, because it is what the command is about.
const (
	ungrouped        = "Flags"
	groupRepository  = "Repository"
	GroupClusters    = "Clusters"
	groupCredentials = "Credentials for the repository"
	GroupTrust       = "Trust"
	GroupForge       = "Hooks and commit status"
)

func groups() []string {
	return []string{ungrouped, groupRepository, GroupClusters, groupCredentials, GroupTrust, GroupForge}
}

const groupKey = "linkwright.dev/group"

// Group puts all flags that add makes into a group.
func Group(f *pflag.FlagSet, name string, add func(*pflag.FlagSet)) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	add(own)
	own.VisitAll(func(flag *pflag.Flag) { annotate(flag, groupKey, name) })
	f.AddFlagSet(own)
}

func groupOf(flag *pflag.Flag) string {
	if names := flag.Annotations[groupKey]; len(names) > 0 {
		return names[0]
	}
	return ungrouped
}

// Grouped is what cobra says of a command's usage, with the flags in groups.
func Grouped(plain func(*cobra.Command) error) func(*cobra.Command) error {
	return func(c *cobra.Command) error {
		var shown []string
		for _, name := range groups() {
			own := pflag.NewFlagSet("", pflag.ContinueOnError)
			for _, flags := range []*pflag.FlagSet{c.LocalFlags(), c.InheritedFlags()} {
				flags.VisitAll(func(flag *pflag.Flag) {
					if groupOf(flag) == name {
						own.AddFlag(flag)
					}
				})
			}
			if own.HasAvailableFlags() {
				shown = append(shown, name+":\n"+own.FlagUsages())
			}
		}
		if len(shown) < 2 {
			return plain(c)
		}
		text := fmt.Sprintf("Usage:\n  %s\n", c.UseLine())
		if c.HasExample() {
			text += "\nExamples:\n" + c.Example + "\n"
		}
		_, err := fmt.Fprint(c.OutOrStderr(), text+"\n"+strings.Join(shown, "\n"))
		return err
	}
}

// gitGroup says that a flag is about a repository and nothing else: about a plain directory it says nothing.
func gitGroup(flag *pflag.Flag) bool {
	return slices.Contains([]string{groupRepository, groupCredentials, GroupTrust}, groupOf(flag)) &&
		!slices.Contains([]string{"path", "include", "exclude"}, flag.Name)
}
