package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// A daemon has none of the flags by which people decide something for a single sync: each names its command.
func TestDaemonTakesNoDecisions(t *testing.T) {
	for flag, command := range map[string]string{
		"--accept-cluster=east=1": "linkwright accept cluster", "--abandon-cluster=east": "linkwright abandon",
		"--allow-non-fast-forward=0123456": "linkwright allow non-fast-forward",
	} {
		var out, stderr strings.Builder
		if code := run(t.Context(), []string{"run", "--repo", "https://example.com/x", flag}, &out, &stderr); code != cli.ExitUsage || !strings.Contains(stderr.String(), command) {
			t.Errorf("run %s: exit code %d, %s", flag, code, stderr.String())
		}
		for _, c := range []*cobra.Command{syncCommand(), uninstallCommand()} {
			if err := c.ParseFlags([]string{flag}); err != nil {
				t.Errorf("%s %s: %v", c.Name(), flag, err)
			}
		}
	}
}
