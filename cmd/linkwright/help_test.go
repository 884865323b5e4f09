package main

import (
	"strings"
	"testing"
)

// Help fits a terminal: what a command says of itself, before its flags.
func TestHelpFits(t *testing.T) {
	root := newRoot()
	for _, c := range append(commands(root), root) {
		text := c.Long
		if text == "" {
			text = c.Short
		}
		lines := strings.Split(text, "\n")
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
