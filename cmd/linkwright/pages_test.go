package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// parsedOnly are the commands that need a cluster: of those that pages show, flags and arguments are checked, and no more. The
// commands of tutorials run on real control planes (hack/tutorials), as those of the README do (deploy).
var parsedOnly = []string{
	"abandon", "accept cluster", "adopt", "allow non-fast-forward", "approve", "check", "cluster add", "describe cluster", "describe link", "diff", "events", "get clusters",
	"get links", "get revisions", "import",
	"reconcile", "release", "render", "resume", "rotate", "run", "status", "suspend", "sync", "uninstall",
}

// shown is one command that a page shows.
type shown struct {
	page  string
	words []string // after linkwright
}

// TestPageCommands: each command in a block of a page is one that the program accepts. Those that need no cluster run on an example.
func TestPageCommands(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	commands := shownCommands(t, root)
	if len(commands) < 20 {
		t.Errorf("the pages show %d commands", len(commands))
	}
	workTree(t, root)
	ran := 0
	for _, c := range commands {
		name := accepted(t, c)
		if name == "" || slices.Contains(parsedOnly, name) && !offline(name, c.words) {
			continue
		}
		ran++
		var out, problems bytes.Buffer
		if code := run(t.Context(), c.words, &out, &problems); code != cli.ExitDone && (name != "diff" || code != cli.ExitDifferent) {
			t.Errorf("%s: linkwright %s: exit code %d\n%s%s", c.page, strings.Join(c.words, " "), code, out.String(), problems.String())
		}
	}
	if ran < 5 {
		t.Errorf("%d commands ran", ran)
	}
}

// offline says that a command which usually needs clusters does not, as it is shown.
func offline(name string, words []string) bool {
	has := func(part string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, part) })
	}
	return name == "diff" && has("..") && !has("://") || name == "render" && !has("--save-facts") && !has("--repo")
}

// accepted gives the name of the command, if the program takes what is shown as no wrong usage.
func accepted(t *testing.T, c shown) string {
	t.Helper()
	line := c.page + ": linkwright " + strings.Join(c.words, " ")
	root := newRoot()
	command, args, err := root.Find(c.words)
	if err != nil || command == root {
		t.Errorf("%s: no such command: %v", line, err)
		return ""
	}
	if err := command.ParseFlags(args); err != nil {
		t.Errorf("%s: %v", line, err)
		return ""
	}
	if err := command.ValidateArgs(command.Flags().Args()); err != nil {
		t.Errorf("%s: %v", line, err)
		return ""
	}
	if strings.HasPrefix(c.page, "docs/tutorials/") { // its commands take flags from the reader's environment
		return ""
	}
	ended, cancel := context.WithCancel(t.Context()) // it may check its flags, and reach nothing
	cancel()
	var out, problems bytes.Buffer
	if code := run(ended, c.words, &out, &problems); code == cli.ExitUsage {
		t.Errorf("%s: %s", line, problems.String())
	}
	return strings.TrimPrefix(command.CommandPath(), "linkwright ")
}

// workTree makes a directory in which the commands of pages work, and goes there: a repository with the branches main and branch, and with
// declarations in fleet.
func workTree(t *testing.T, root string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "fleet"), os.DirFS(filepath.Join(root, "examples", "mesh"))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "fleet"}, {"commit", "-qm", "declare"}, {"branch", "branch"}} {
		git := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=You", "-c", "user.email=you@example.com"}, args...)...)
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if err := os.WriteFile("facts.yaml", []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	t.Setenv("KUBECONFIG", filepath.Join(dir, "none"))
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
	for _, other := range []string{"force", "from-file", "service-account-max-token-expiration", "no-headers", "previous", "ignore-cluster", "version"} {
		every[other] = true // of Git, kubectl, Helm, the API server
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
