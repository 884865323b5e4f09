package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// helpCommand is as cobra's own, with the error of any other command for one that does not exist.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND...]",
		Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			of, err := commandNamed(c.Root(), args)
			if err != nil {
				return err
			}
			return of.Help()
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, typed string) (out []string, _ cobra.ShellCompDirective) {
			of, err := commandNamed(c.Root(), args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, name := range cli.Names(of) {
				if strings.HasPrefix(name, typed) {
					out = append(out, name)
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// commandNamed is the command that words name; without words root.
func commandNamed(root *cobra.Command, words []string) (*cobra.Command, error) {
	of, rest, err := root.Find(words)
	if err != nil || len(rest) > 0 {
		like := ""
		if of != nil && len(rest) > 0 {
			like = cli.DidYouMean(rest[0], cli.Names(of))
		}
		return nil, cli.Usage("there is no command %q%s\nSee: %s --help", strings.Join(words, " "), like, root.CommandPath())
	}
	return of, nil
}
