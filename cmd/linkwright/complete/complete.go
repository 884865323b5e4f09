// Package complete answers: which words may be typed here? Shells ask for them through cobra's completion. It says nothing if it does not
// know, and takes two seconds at most.
package complete

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// patience is how long a person who pressed the tabulator waits.
const patience = 2 * time.Second

// choice gives the words for what is being typed, after the arguments before it.
type choice func(c *cobra.Command, args []string, typed string) []string

// Register adds completion to all commands below root.
func Register(root *cobra.Command) {
	for _, c := range root.Commands() {
		Register(c)
		if choose, ok := arguments()[strings.TrimPrefix(c.CommandPath(), root.Root().CommandPath()+" ")]; ok {
			c.ValidArgs, c.ValidArgsFunction = nil, completing(choose)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if choose := ofFlag(f); choose != nil {
				_ = c.RegisterFlagCompletionFunc(f.Name, completing(choose)) // it fails only if the flag has one already
			}
		})
	}
}

// arguments are the commands whose arguments are words that can be known.
func arguments() map[string]choice {
	return map[string]choice{
		"explain":          once(explained),
		"schema":           once(schemas),
		"rotate":           links,
		"adopt":            links,
		"release":          links,
		"suspend":          either(clusters, links),
		"resume":           suspended,
		"reconcile":        clusters,
		"abandon":          once(clusters),
		"approve":          once(denied),
		"accept cluster":   once(assigned(clusters)),
		"describe link":    once(links),
		"describe cluster": once(clusters),
		"get links":        links,
		"get gateways":     links,
		"get clusters":     clusters,
	}
}

// ofFlag is how the value of a flag is completed; nil: as a file.
func ofFlag(f *pflag.Flag) choice {
	switch f.Name {
	case "context", "management-context":
		return contexts
	case "cluster", "only-write", "abandon-cluster":
		return clusters
	case "accept-cluster":
		return assigned(clusters)
	}
	words := cli.Words(f)
	if format, ok := f.Value.(interface{ Words() []string }); ok {
		words = format.Words()
	}
	if words == nil {
		return nil
	}
	return func(*cobra.Command, []string, string) []string { return words }
}

// completing makes of a choice what cobra calls. A word that ends in a separator goes on.
func completing(choose choice) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		if cli.Preset(c) != nil {
			return nil, directive
		}
		given := slices.DeleteFunc(choose(c, args, typed), func(word string) bool { return !strings.HasPrefix(word, typed) || slices.Contains(args, word) })
		if slices.ContainsFunc(given, func(word string) bool {
			return strings.HasSuffix(word, "/") || strings.HasSuffix(word, "=") || strings.HasSuffix(word, ".")
		}) {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return given, directive
	}
}

// once is for the first argument only.
func once(choose choice) choice {
	return func(c *cobra.Command, args []string, typed string) []string {
		if len(args) > 0 {
			return nil
		}
		return choose(c, args, typed)
	}
}

// either gives the words of both.
func either(a, b choice) choice {
	return func(c *cobra.Command, args []string, typed string) []string {
		return append(a(c, args, typed), b(c, args, typed)...)
	}
}

// assigned gives NAME= for each name.
func assigned(choose choice) choice {
	return func(c *cobra.Command, args []string, typed string) []string {
		out := choose(c, args, typed)
		for i := range out {
			out[i] += "="
		}
		return out
	}
}
