package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func validateCommand() *cobra.Command {
	var g gitFlags
	c := &cobra.Command{
		Use:   "validate [PATH | REPO@REV]",
		Short: "Check declarations, without any cluster",
		Long: `Check declarations, without any cluster: all problems of all files in one run, each with
file:line:col and what to do. The exit code is 3 when there are errors; warnings alone give 0.`,
		Example: `  linkwright validate .
  linkwright validate https://git.example.com/mesh/fleet.git@main`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			from, err := g.find(c.Context(), argument(args))
			if err != nil {
				return err
			}
			f, problems := load(from)
			for _, p := range problems {
				say(c.OutOrStdout(), p)
			}
			if f == nil {
				return exit{exitInvalid, nil}
			}
			links := 0
			for range f.Links() {
				links++
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "valid: %d clusters, %d links\n", len(f.Clusters), links)
			return err
		},
	}
	g.add(c.Flags())
	return c
}

func argument(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}
