package main

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/report/output"
)

// version is set by the build of a release. Without it, the version is the one that Go recorded of the sources.
var version string

func versionString() string { return thisBuild().Version }

// thisBuild returns the version of this program.
func thisBuild() output.Version {
	info, _ := debug.ReadBuildInfo()
	return versionOf(version, info)
}

// versionOf returns the version of a build: the released one, else the one that Go recorded; and the commit, if Go recorded it. info may be nil.
func versionOf(released string, info *debug.BuildInfo) output.Version {
	v := output.Version{TypeMeta: output.Of(output.KindVersion), GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		info = &debug.BuildInfo{}
	}
	v.Version = cmp.Or(released, info.Main.Version, "(devel)")
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.GitCommit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			v.GitTreeState = "dirty"
		case s.Key == "vcs.modified":
			v.GitTreeState = "clean"
		}
	}
	return v
}

func versionCommand() *cobra.Command {
	var out cli.Format
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v := thisBuild()
			return cli.Write(c.OutOrStdout(), out.Format, report.Plain(v, versionLine(v)+"\n"))
		},
	}
	out.Add(c.Flags(), report.DescribeFormats())
	return c
}

// versionLine is what the command and the flag --version print. A pseudo-version of Go names the commit itself.
func versionLine(v output.Version) string {
	line := "linkwright " + v.Version
	if commit := v.GitCommit[:min(12, len(v.GitCommit))]; !strings.Contains(v.Version, commit) {
		line += " (commit " + commit
		if v.GitTreeState == "dirty" {
			line += ", dirty"
		}
		line += ")"
	}
	return line + " " + v.GoVersion + " " + v.Platform
}
