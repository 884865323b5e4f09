package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// typed are arguments with which each command does what it is for, without the flags that all commands share. The test of a command that is
// not here fails: the same mistake is to have the same exit code everywhere.
func typed(repo string) map[string][]string {
	from := []string{"--repo", repo, "--allow-file-repo"}
	with := func(words ...string) []string { return append(words, from...) }
	return map[string][]string{
		"abandon": {"east", "--yes"}, "accept cluster": {"east=4f2c1c1e-0b7e-4b7c-9a55-6d1f6f1f7b1a"}, "adopt": with("--all"),
		"allow non-fast-forward": {strings.Repeat("0123456789", 4)}, "approve": {"3f9c0e51b7a2"},
		"bootstrap": {filepath.Join(repo, "..", "checkout"), "--repo", "https://127.0.0.1:1/fleet.git", "--context", "dead"}, "check": with(), "cluster add": {"east", "--context", "dead", repo},
		"describe cluster": with("east"), "describe link": with("west/east"), "diff": with(), "events": {}, "explain": {"link"}, "get clusters": {}, "get gateways": {}, "get links": {}, "get revisions": {}, "import": {"--context", "dead"}, "man": {},
		"mirror": {"east", "--listen", "127.0.0.1:0"}, "rbac": {repo}, "reconcile": {}, "release": with("--all"), "rollout status": {"--context", "dead"}, "rollout pause": {"--context", "dead"}, "rollout resume": {"--context", "dead"}, "rollout undo": {"--context", "dead"}, "render": with("--save-facts", filepath.Join(repo, "facts.yaml")), "resume": {"east"},
		"rotate": with(), "run": with("--listen", "127.0.0.1:0"), "schema": {}, "status": {}, "suspend": {"east", "--reason", "x"}, "sync": with(), "trust status": {"--context", "dead"},
		"uninstall": with(), "validate": {repo}, "version": {},
	}
}

// exitCase is one mistake: arguments that are added, or all arguments, of the commands in which it can be made.
type exitCase struct {
	name  string
	more  []string
	args  map[string][]string // instead of the usual ones; a command that is not here cannot make the mistake. nil: all commands can
	not   []string            // commands that cannot make it
	want  int
	words string
}

func exitCases(dir, repo string) []exitCase {
	local := []string{"explain", "man", "schema", "validate", "version", "rbac"} // read no cluster
	at := func(file string) string { return filepath.Join(dir, file) }
	from := []string{"--repo", repo, "--allow-file-repo", "--kubeconfig", at("dead.yaml")}
	wrong := slices.Clip([]string{"--repo", at("wrong"), "--allow-file-repo", "--kubeconfig", at("dead.yaml")})
	silent := []string{"--kubeconfig", at("dead.yaml"), "--cluster-timeout", "2s"}
	return []exitCase{
		{name: "an unknown flag", more: []string{"--nonsense"}, want: cli.ExitUsage, words: "unknown flag: --nonsense"},
		{name: "a mistyped flag", more: []string{"--confg", "x"}, want: cli.ExitUsage, words: "did you mean --config"},
		{name: "a config file that is not there", more: []string{"--config", at("none")}, not: []string{"man", "schema"}, want: cli.ExitError, words: "read --config: open"},
		{name: "an unknown key", more: []string{"--config", at("unknown.yaml")}, not: []string{"man", "schema"}, want: cli.ExitUsage, words: "unknown.yaml:3:1: unknown key"},
		{name: "too many arguments", more: []string{"a", "b", "c"}, not: []string{"adopt", "release", "rotate", "suspend", "resume", "reconcile", "man", "mirror", "get clusters", "get gateways", "get links", "get revisions"}, want: cli.ExitUsage, words: "wrong arguments"},
		{name: "an argument that is missing", args: map[string][]string{
			"abandon": {}, "accept cluster": {}, "allow non-fast-forward": {}, "approve": {}, "describe cluster": {}, "describe link": {}, "suspend": {"--reason", "x"},
			"resume": {}, "adopt": from, "release": from, "cluster add": {}, "import": {},
		}, want: cli.ExitUsage},
		{name: "a repository that is missing", args: map[string][]string{
			"adopt": {"--all"}, "check": {}, "diff": {}, "release": {"--all"}, "rotate": {}, "run": {}, "sync": {},
			"uninstall": {},
		}, want: cli.ExitUsage, words: "--repo is missing"},
		{name: "declarations that are invalid", args: map[string][]string{
			"adopt": append(wrong, "--all"), "check": wrong, "diff": wrong, "release": append(wrong, "--all"), "render": append(wrong, "--save-facts", at("facts.yaml")),
			"rbac": {at("wrong")}, "rotate": wrong, "status": wrong, "sync": append(wrong, "--dry-run", "client"), "uninstall": wrong, "validate": {at("wrong")},
		}, want: cli.ExitInvalid},
		{
			name: "declarations that are invalid, for people", args: map[string][]string{"diff": wrong, "rotate": wrong, "adopt": append(wrong, "--all")}, want: cli.ExitInvalid,
			words: "linkwright: the declarations are invalid:\nz.yaml:4:7: the link west→east is declared twice",
		},
		{name: "a kubeconfig that cannot be read", more: []string{"--kubeconfig", at("none")}, not: local, want: cli.ExitError, words: "read kubeconfig"},
		{name: "a kubeconfig that is none", more: []string{"--kubeconfig", at("broken.yaml")}, not: local, want: cli.ExitError, words: "this is not a kubeconfig"},
		{name: "an unknown context", more: []string{"--kubeconfig", at("dead.yaml"), "--context", "nowhere"}, not: append(local, "import", "cluster add", "bootstrap"), want: cli.ExitError, words: `no context "nowhere"`},
		{name: "a management cluster that does not answer", more: silent, not: append(local, "run", "import", "mirror", "rollout status", "rollout pause", "rollout resume", "rollout undo", "trust status", "cluster add", "bootstrap"), want: cli.ExitError, words: "the management cluster (context dead of "},
		{name: "a cluster that does not answer", more: silent, not: append(local, "run", "mirror"), want: cli.ExitError, words: "refused"},
		{name: "a link that cannot be", args: map[string][]string{
			"describe link": append(from, "west/East"), "mirror": {"East"}, "suspend": {"west/East", "--reason", "x"}, "resume": {"west/East"},
			"get gateways": {"west/East"}, "get links": {"west/East"}, "events": {"--for", "link/west/East"},
		}, want: cli.ExitUsage, words: "East"},
		{name: "a cluster that cannot be", args: map[string][]string{
			"abandon": {"East"}, "accept cluster": {"East=1"}, "cluster add": {"East", "--context", "dead"}, "describe cluster": append(from, "East"), "get clusters": {"East"}, "reconcile": {"East"},
			"render": {repo, "--cluster", "East"}, "rbac": {repo, "--cluster", "East"}, "suspend": {"East", "--reason", "x"}, "sync": append(from, "--only-write", "East"),
		}, want: cli.ExitUsage, words: `"East"`},
		{name: "a cluster that is not declared", args: map[string][]string{
			"render": {repo, "--cluster", "north"}, "rbac": {repo, "--cluster", "north"},
			"cluster add": {"north", "--context", "dead", "--kubeconfig", at("dead.yaml"), repo},
		}, want: cli.ExitError, words: "declared"},
		{name: "an unknown format", more: []string{"-o", "xml"}, args: map[string][]string{
			"abandon": {"east"}, "accept cluster": {"east=1"}, "adopt": append(from, "--all"), "allow non-fast-forward": {"x"}, "approve": {"x"}, "bootstrap": {},
			"check": from, "cluster add": {"east"}, "describe cluster": {"east"}, "describe link": {"west/east"}, "diff": from, "events": {}, "explain": {}, "get clusters": {}, "get gateways": {}, "get links": {},
			"get revisions": {}, "import": {}, "rbac": {repo}, "reconcile": {}, "release": append(from, "--all"), "render": {repo}, "resume": {"east"}, "rotate": from, "status": {},
			"suspend": {"east"}, "sync": from, "uninstall": from, "validate": {repo}, "version": {},
		}, want: cli.ExitUsage, words: "xml"},
		{name: "an unknown dry run", more: []string{"--dry-run", "yes"}, args: map[string][]string{
			"abandon": {"east"}, "accept cluster": {"east=4f2c1c1e-0b7e-4b7c-9a55-6d1f6f1f7b1a"}, "adopt": from, "allow non-fast-forward": {"x"}, "approve": {"x"}, "bootstrap": {}, "cluster add": {"east"}, "reconcile": {},
			"release": from, "resume": {"east"}, "rotate": from, "suspend": {"east"}, "sync": from, "uninstall": from,
		}, want: cli.ExitUsage, words: "write --dry-run=client"},
	}
}

// emptyCheckout makes a work tree without a commit.
func emptyCheckout(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "--quiet", dir}, {"-C", dir, "config", "user.name", "t"}, {"-C", dir, "config", "user.email", "t@example.com"}} {
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// TestExitCodes: the same mistake has the same exit code in every command.
func TestExitCodes(t *testing.T) {
	dir, repo := t.TempDir(), filepath.Join(t.TempDir(), "fleet")
	t.Setenv("HOME", dir)
	t.Setenv("KUBECONFIG", "")
	if err := os.CopyFS(repo, os.DirFS("../../examples/pair")); err != nil {
		t.Fatal(err)
	}
	emptyCheckout(t, filepath.Join(repo, "..", "checkout"))
	write(t, filepath.Join(dir, "broken.yaml"), "{{{")
	write(t, filepath.Join(dir, "unknown.yaml"), "apiVersion: config.linkwright.dev/v1alpha1\nkind: Config\nnonsense: true\n")
	write(t, filepath.Join(dir, "dead.yaml"), `{apiVersion: v1, kind: Config, current-context: dead, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
contexts: [{name: dead, context: {cluster: c, user: u}}], users: [{name: u, user: {token: x}}]}`)
	committed(t, repo)
	wrong := filepath.Join(dir, "wrong")
	if err := os.CopyFS(wrong, os.DirFS("../../examples/pair")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(wrong, "z.yaml"), "apiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata: {name: x}\nspec: {source: west, target: east}\n")
	committed(t, wrong)
	usual := typed(repo)
	var names []string
	for _, c := range leaves(newRoot()) {
		name := strings.TrimPrefix(c.CommandPath(), "linkwright ")
		if names = append(names, name); usual[name] == nil {
			t.Errorf("%s: give it a row in typed", name)
		}
	}
	for _, tt := range exitCases(dir, repo) {
		for _, name := range names {
			args, ok := tt.args[name]
			if tt.args == nil {
				args, ok = usual[name], !slices.Contains(tt.not, name)
			}
			if !ok {
				continue
			}
			line := slices.Concat(strings.Fields(name), args, tt.more)
			var out, stderr bytes.Buffer
			if code := run(t.Context(), line, &out, &stderr); code != tt.want || !strings.Contains(stderr.String(), tt.words) {
				t.Errorf("%s: %q: exit code %d, want %d and %q\n%s", tt.name, line, code, tt.want, tt.words, &stderr)
			}
		}
	}
}

// leaves are the commands that do something.
func leaves(root *cobra.Command) (out []*cobra.Command) {
	for _, c := range commands(root) {
		if !c.HasSubCommands() && c.IsAvailableCommand() {
			out = append(out, c)
		}
	}
	return out
}

// committed makes a directory a repository with all of its files in one commit.
func committed(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "one"}} {
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}
