package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Help fits a terminal: what a command says of itself, before its flags.
func TestHelpFits(t *testing.T) {
	root := newRoot()
	for _, c := range append(commands(root), root) {
		lines := beforeFlags(c)
		if len(lines) > 40 {
			t.Errorf("%s --help: %d lines before its flags, want at most 40", c.CommandPath(), len(lines))
		}
		for _, line := range lines {
			if n := len([]rune(line)); n > 80 {
				t.Errorf("%s --help: %d columns, want at most 80: %s", c.CommandPath(), n, line)
			}
		}
	}
}

// beforeFlags is what --help prints of a command before its flags: what it does, how it is used, examples and subcommands.
func beforeFlags(c *cobra.Command) []string {
	var out bytes.Buffer
	c.SetOut(&out)
	_ = c.Help() // to memory
	lines := strings.Split(out.String(), "\n")
	flag := regexp.MustCompile(`^ +(-., )?--[a-z]`)
	if first := slices.IndexFunc(lines, flag.MatchString); first >= 2 {
		return lines[:first-2] // without the blank line and the title above the flags
	}
	return lines
}
