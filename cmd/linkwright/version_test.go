package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

// A release shows its version; a build from a checkout shows the commit, and whether the sources differ from it.
func TestVersionOf(t *testing.T) {
	const commit = "9ce14474078ea8127824b26973e945f44e21afc5"
	checkout := func(version, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: []debug.BuildSetting{
			{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: modified},
		}}
	}
	for name, tt := range map[string]struct {
		released string
		info     *debug.BuildInfo
		want     string
	}{
		"release":              {"v1.2.3", checkout("(devel)", "false"), "v1.2.3 (commit 9ce14474078e)"},
		"checkout":             {"", checkout("v1.2.4-0.20261128133905-9ce14474078e", "false"), "v1.2.4-0.20261128133905-9ce14474078e"},
		"changed checkout":     {"", checkout("v1.2.4-0.20261128133905-9ce14474078e+dirty", "true"), "v1.2.4-0.20261128133905-9ce14474078e+dirty"},
		"without a version":    {"", checkout("(devel)", "true"), "(devel) (commit 9ce14474078e, dirty)"},
		"module":               {"", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3"},
		"without a repository": {"", nil, "(devel)"},
	} {
		v := versionOf(tt.released, tt.info)
		if line := versionLine(v); !strings.HasPrefix(line, "linkwright "+tt.want+" go1.") {
			t.Errorf("%s: %q, want %q", name, line, tt.want)
		}
	}
}
