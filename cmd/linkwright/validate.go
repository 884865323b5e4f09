package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/report"
)

func validateCommand() *cobra.Command {
	var g cli.GitFlags
	var out cli.Format
	var o cli.DeclarationFlags
	var factsFile string
	var strict bool
	c := &cobra.Command{
		Use:   "validate [PATH | REPO@REV | -]",
		Short: "Check declarations, without any cluster",
		Long: `Check declarations without any cluster. It reports all problems of all files in
one run, each with file:line:col and what to do. PATH is a directory or a file
(default: the working directory); - is standard input, as one file.
Overlays are built, and applied to what every cluster would hold. With --facts,
links that a cluster's Linkerd is too old for are errors, too.

  -o text     a line for each problem, and a summary
  -o json     the same for programs (or yaml, jsonpath, custom-columns)
  -o sarif    SARIF 2.1.0, for code scanning and editors
  -o github   annotations of a pull request, from a GitHub workflow

The exit code is 3 if there are errors, or warnings with --strict.`,
		Example: `  linkwright validate .
  linkwright validate fleet --strict -o github
  linkwright validate https://git.example.com/mesh/fleet.git@main
  kustomize build fleet | linkwright validate -`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			show := cli.DisplayOf(c, 0)
			shown := show.Show(c.Context(), live.Repository)
			defer shown()
			from, err := g.Find(c.Context(), args)
			if err != nil {
				return err
			}
			facts, err := cli.NewOffline(object.DefaultOwner, factsFile)
			if err != nil {
				return err
			}
			k, err := o.Open(c.Context(), object.DefaultOwner, cli.Warner(show))
			if err != nil {
				return err
			}
			defer k.Close()
			fl, problems, err := k.Validate(c.Context(), from, facts)
			if err != nil {
				return err
			}
			shown()
			p := problemsOf(fl, problems)
			p.Strict, p.Version = strict, versionString()
			return showProblems(c.OutOrStdout(), out.Format, p)
		},
	}
	g.Here = true
	g.Add(c.Flags())
	cli.Group(c.Flags(), cli.GroupClusters, o.Add)
	out.Add(c.Flags(), report.ProblemFormats())
	c.Flags().StringVar(&factsFile, "facts", "", "YAML file of facts, as render --save-facts writes it: also check that Linkerd there is new enough for every link")
	c.Flags().BoolVar(&strict, "strict", false, "count warnings as errors")
	return c
}

// showProblems shows problems, and gives the exit code.
func showProblems(w io.Writer, as report.Format, p report.Problems) error {
	if err := cli.Write(w, as, p.Answer()); err != nil {
		return err
	}
	if !p.Valid() {
		return cli.Exit{Code: cli.ExitInvalid}
	}
	return nil
}

// problemsOf counts what is declared, too, unless there is no fleet.
func problemsOf(f *fleet.Fleet, found []api.Problem) report.Problems {
	p := report.Problems{Found: found}
	for _, r := range slices.Concat(fleet.Rules(), fleet.SecretRules()) {
		p.Rules = append(p.Rules, report.Rule(r))
	}
	p.Rules = append(p.Rules,
		report.Rule{Code: cli.IdlePatch, Help: "A patch of an overlay chooses no object of any cluster that uses the overlay."},
		report.Rule{Code: string(reason.LinkerdTooOld), Help: "According to --facts, Linkerd in a cluster of the link is too old for what the link declares."})
	if f == nil {
		return p
	}
	p.Declared = &report.Declared{Clusters: len(f.Clusters), Links: f.NumLinks()}
	return p
}
