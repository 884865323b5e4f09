package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/report/output"
)

// version is set by the build; else what Go recorded of the sources counts.
var version string

func versionString() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func versionCommand() *cobra.Command {
	var out cli.Format
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v := output.Version{
				TypeMeta: output.Of(output.KindVersion), Version: versionString(), GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
			}
			return cli.Write(c.OutOrStdout(), out.Format, report.Plain(v, versionLine()+"\n"))
		},
	}
	out.Add(c.Flags(), report.DescribeFormats())
	return c
}

// versionLine is what the command and the flag --version print.
func versionLine() string {
	return fmt.Sprintf("linkwright %s %s %s/%s", versionString(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
