package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// shown is one command that a page shows.
type shown struct {
	page  string
	words []string // after linkwright
}

// TestPageCommands: each command in a block of a page is one that the program accepts. Those of the README, of tutorials and of how-to pages
// also run, on real control planes (hack/pages).
func TestPageCommands(t *testing.T) {
	commands := shownCommands(t, "../..")
	if len(commands) < 20 {
		t.Errorf("the pages show %d commands", len(commands))
	}
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", dir)
	t.Setenv("KUBECONFIG", filepath.Join(dir, "none"))
	for _, c := range commands {
		checkAccepted(t, c)
	}
}

// checkAccepted checks that the program takes what is shown as no wrong usage.
func checkAccepted(t *testing.T, c shown) {
	t.Helper()
	line := c.page + ": linkwright " + strings.Join(c.words, " ")
	root := newRoot()
	command, args, err := root.Find(c.words)
	if err != nil || command == root {
		t.Errorf("%s: no such command: %v", line, err)
		return
	}
	if err := command.ParseFlags(args); err != nil {
		t.Errorf("%s: %v", line, err)
		return
	}
	if err := command.ValidateArgs(command.Flags().Args()); err != nil {
		t.Errorf("%s: %v", line, err)
		return
	}
	if strings.HasPrefix(c.page, "docs/tutorials/") { // its commands take flags from the reader's environment
		return
	}
	ended, cancel := context.WithCancel(t.Context()) // it may check its flags, and reach nothing
	cancel()
	var out, problems bytes.Buffer
	if code := run(ended, c.words, &out, &problems); code == cli.ExitUsage {
		t.Errorf("%s: %s", line, problems.String())
	}
}

// shownPages are all pages for users, by their path in the repository.
func shownPages(t *testing.T, root string) (out []string) {
	t.Helper()
	out = []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "design":
			return filepath.SkipDir
		case filepath.Ext(path) == ".md":
			rel, err := filepath.Rel(root, path)
			out = append(out, rel)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func shownCommands(t *testing.T, root string) (out []shown) {
	t.Helper()
	blocks := regexp.MustCompile("(?ms)^ *```\\w*\n(.*?)^ *```")
	command := regexp.MustCompile(`(?m)^\s*(?:- |- run: |exec |entry: )?linkwright (.*)$`)
	for _, page := range shownPages(t, root) {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks.FindAllStringSubmatch(string(text), -1) {
			body := strings.ReplaceAll(b[1], "\\\n", " ")
			for _, m := range command.FindAllStringSubmatch(body, -1) {
				out = append(out, shown{page, words(m[1])})
			}
		}
	}
	return out
}

// words are those of one command line, as a shell splits them: without quotes, redirections, comments and what follows. URL is that of some
// repository.
func words(line string) (out []string) {
	for _, m := range regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`).FindAllString(line, -1) {
		switch {
		case strings.HasPrefix(m, "#"), strings.ContainsAny(strings.TrimLeft(m, "2")[:1], "|;&>"):
			return out
		case m == "…":
		case m == "URL":
			out = append(out, "https://git.example.com/mesh/fleet.git")
		default:
			out = append(out, strings.Trim(m, `'"`))
		}
	}
	return out
}

// TestPageMentions: each command and each flag that a page mentions in its text exists.
func TestPageMentions(t *testing.T) {
	root := newRoot()
	root.InitDefaultCompletionCmd("page")
	every := map[string]bool{}
	for _, c := range commands(root) {
		c.InitDefaultHelpFlag()
		for _, name := range flagNames(c) {
			every[name] = true
		}
	}
	// Those of Git, kubectl, krew, Helm and the API server.
	for _, other := range []string{
		"force", "from-file", "service-account-max-token-expiration", "no-headers", "previous", "ignore-cluster", "version", "take-ownership", "force-conflicts", "archive",
	} {
		every[other] = true
	}
	mention := regexp.MustCompile("`(linkwright [a-z][^`]*|--[a-z][^`]*)`")
	for _, page := range shownPages(t, "../..") {
		text, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mention.FindAllStringSubmatch(string(text), -1) {
			for _, wrong := range wrongly(root, m[1], every) {
				t.Errorf("%s: %s: %s", page, m[1], wrong)
			}
		}
	}
}

// wrongly says what is wrong with a command that a text mentions, or with flags of any command.
func wrongly(root *cobra.Command, mentioned string, every map[string]bool) (out []string) {
	known := every
	if line, ok := strings.CutPrefix(mentioned, "linkwright "); ok {
		c, _, err := root.Find(strings.Fields(line))
		if err != nil || c == root {
			return []string{"no such command"}
		}
		known = map[string]bool{}
		for _, name := range flagNames(c) {
			known[name] = true
		}
	}
	for _, f := range regexp.MustCompile(`--([a-z][a-z-]*[a-z])`).FindAllStringSubmatch(mentioned, -1) {
		if !known[f[1]] {
			out = append(out, "no flag --"+f[1])
		}
	}
	return out
}

func flagNames(c *cobra.Command) (out []string) {
	for line := range strings.Lines(c.Flags().FlagUsages() + c.InheritedFlags().FlagUsages()) {
		if m := regexp.MustCompile(`--([a-z-]+)`).FindStringSubmatch(line); m != nil {
			out = append(out, m[1])
		}
	}
	return out
}
