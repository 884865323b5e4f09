package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

func manCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "man [COMMAND...]",
		Short: "Print manual pages",
		Long: `Print the manual page of a command, or of linkwright itself, for man(1). With
--write, write the pages of all commands into a directory, such as man1 in a
directory of MANPATH. The pages of one version are always the same bytes.`,
		Example: `  linkwright man sync | man -l -
  linkwright man --write ~/.local/share/man/man1`,
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("write") {
				if len(args) > 0 || dir == "" {
					return cli.Usage("--write writes the pages of all commands into a directory: %s man --write DIR", cli.Program())
				}
				return writePages(c.Root(), dir)
			}
			of, err := commandNamed(c.Root(), args)
			if err != nil {
				return err
			}
			page, err := manPage(of)
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(page)
			return err
		},
	}
	c.Flags().StringVar(&dir, "write", "", "write the pages of all commands into this directory")
	return c
}

// writePages writes what is public: anybody may read it.
func writePages(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // manual pages are no secret
		return fmt.Errorf("write manual pages: %w", err)
	}
	for _, c := range append(commands(root), root) {
		if !c.IsAvailableCommand() && c != root {
			continue
		}
		page, err := manPage(c)
		if err != nil {
			return err
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		if err := os.WriteFile(filepath.Join(dir, name), page, 0o644); err != nil { //nolint:gosec // manual pages are no secret
			return fmt.Errorf("write manual pages: %w", err)
		}
	}
	return nil
}

// manPage is the page of one command. cobra takes help for Markdown, and a page for one of today: the first would lose columns and angle
// brackets, so help is a block of code; and the second would differ every month, so there is no date.
func manPage(c *cobra.Command) ([]byte, error) {
	shown := *c
	if shown.Long == "" {
		shown.Long = shown.Short
	}
	shown.DisableAutoGenTag = true // it has a date
	shown.Long = "```\n" + shown.Long + "\n```"
	defer escapeUsages(c)()
	epoch := time.Unix(0, 0).UTC()
	var page bytes.Buffer
	header := &doc.GenManHeader{Date: &epoch, Source: "linkwright " + versionString(), Manual: "linkwright"}
	if err := doc.GenMan(&shown, header, &page); err != nil {
		return nil, fmt.Errorf("write the manual page of %s: %w", c.CommandPath(), err)
	}
	return bytes.Replace(page.Bytes(), []byte(`"Jan 1970"`), []byte(`""`), 1), nil
}

// escapeUsages makes plain text in Markdown of what a command's flags say, until the function that it gives is called: commands share flags.
func escapeUsages(c *cobra.Command) (restore func()) {
	before := map[*pflag.Flag]string{}
	for _, flags := range []*pflag.FlagSet{c.Flags(), c.InheritedFlags()} {
		flags.VisitAll(func(f *pflag.Flag) { before[f] = f.Usage })
	}
	for f, usage := range before {
		f.Usage = strings.NewReplacer("<", `\<`, "*", `\*`, "_", `\_`).Replace(usage)
	}
	return func() {
		for f, usage := range before {
			f.Usage = usage
		}
	}
}
