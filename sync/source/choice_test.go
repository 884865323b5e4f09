package source

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// verdictOf asks linkwright's patterns for the fate of a file, from the root down, as build does.
func verdictOf(c choice, name string) verdict {
	parts := strings.Split(name, "/")
	v := verdict{in: len(c.include) == 0}
	for i := range parts {
		if v = c.judge(parts[:i+1], i < len(parts)-1, v); v.out {
			break
		}
	}
	return v
}

// Git itself says what a pattern means.
func TestExcludeIsGitignore(t *testing.T) {
	files := []string{
		"a", "b", "a/b", "a/b/c", "x/a/b", "a/x/b", "a/x/y/b", "x/a/y/a/b", "docs/a.md", "docs/deep/a.md", "a.md",
		"foo/bar", "foo/x/bar", "foo.yaml", "x/foo.yaml", "[x]", "#c", "!d", "e ", "sp ace", "x/a/y/b/c",
	}
	for _, patterns := range [][]string{
		{"a"},
		{"a/"},
		{"/a"},
		{"a/b"},
		{"**/a/b"},
		{"a/**/b"},
		{"a/**"},
		{"**/b"},
		{"x/**/b/c"},
		{"*.md"},
		{"docs/*.md"},
		{"docs/*/*.md"},
		{"*", "!*.md"},
		{"*.md", "!docs/a.md"},
		{"docs", "!docs/a.md"},
		{"docs/*", "!docs/a.md"},
		{"foo*"},
		{"f?o"},
		{"[fd]o*"},
		{"[!f]*"},
		{"[a-c]"},
		{`\#c`},
		{`\!d`},
		{`e\ `},
		{"sp ace  "},
		{`\[x\]`},
		{"/x/a"},
		{"b/"},
	} {
		c, err := newChoice(Options{Exclude: patterns})
		if err != nil {
			t.Errorf("newChoice(%q): %v", patterns, err)
			continue
		}
		ignored := checkIgnore(t, patterns, files)
		for _, name := range files {
			if got := verdictOf(c, name).out; got != ignored[name] {
				t.Errorf("exclude %q: %s is out: %v, and Git says %v", patterns, name, got, ignored[name])
			}
		}
	}
}

// checkIgnore asks git check-ignore.
func checkIgnore(t *testing.T, patterns, files []string) map[string]bool {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	if err := writeFile(dir+"/.gitignore", strings.Join(patterns, "\n")+"\n"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "git", "-C", dir, "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Stdin = strings.NewReader(strings.Join(files, "\x00"))
	var out bytes.Buffer
	cmd.Stdout = &out
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && (!errors.As(err, &failed) || failed.ExitCode() != 1) {
		t.Fatalf("git check-ignore: %v", err)
	}
	ignored := map[string]bool{}
	for name := range strings.SplitSeq(out.String(), "\x00") {
		ignored[name] = true
	}
	return ignored
}

func TestInclude(t *testing.T) {
	for _, tt := range []struct {
		include, exclude []string
		in, out          []string
	}{
		{[]string{"clusters/"}, nil, []string{"clusters/a.yaml", "x/clusters/d/a.yaml"}, []string{"a.yaml", "x/a.yaml"}},
		{[]string{"/clusters/"}, nil, []string{"clusters/a.yaml"}, []string{"x/clusters/d/a.yaml"}},
		{[]string{"*.yaml"}, []string{"drafts/"}, []string{"a.yaml", "x/y/a.yaml"}, []string{"a.md", "drafts/a.yaml", "x/drafts/a.yaml"}},
		{[]string{"fleet/**", "!fleet/old/**"}, nil, []string{"fleet/a", "fleet/b/c"}, []string{"fleet/old/a", "a"}},
		{nil, []string{"*.md", "!README.md"}, []string{"README.md", "a"}, []string{"x/a.md"}},
	} {
		c, err := newChoice(Options{Include: tt.include, Exclude: tt.exclude})
		if err != nil {
			t.Fatal(err)
		}
		chosen := func(name string) bool { v := verdictOf(c, name); return v.in && !v.out }
		for _, name := range tt.in {
			if !chosen(name) {
				t.Errorf("include %q, exclude %q: %s is left out", tt.include, tt.exclude, name)
			}
		}
		for _, name := range tt.out {
			if chosen(name) {
				t.Errorf("include %q, exclude %q: %s is chosen", tt.include, tt.exclude, name)
			}
		}
	}
}

func TestNewRefusesPatterns(t *testing.T) {
	for text, words := range map[string]string{
		"":            "is empty",
		"  ":          "is empty",
		"/":           "is empty",
		"!":           "is empty",
		"# all":       "is a comment",
		"[a":          "is not a pattern",
		`a\`:          "is not a pattern",
		"a//b":        `holds ""`,
		"./a":         `holds "."`,
		"../a":        `holds ".."`,
		"a**b":        "** beside other characters",
		"[[:alpha:]]": "which linkwright does not support",
		"!a":          "there is none before it",
	} {
		for _, o := range []Options{{Include: []string{text}}, {Exclude: []string{text}}} {
			o.Repo = "https://git.example.com/fleet.git"
			_, err := New(o)
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("New with the pattern %q: %v; want %q", text, err, words)
			}
		}
	}
	_, err := New(Options{Repo: "https://git.example.com/fleet.git", Include: make([]string, MaxPatterns+1)})
	if err == nil || !strings.Contains(err.Error(), "include has 65 patterns") {
		t.Errorf("New with too many patterns: %v", err)
	}
}
