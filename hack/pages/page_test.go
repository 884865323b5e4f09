package pages

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSame(t *testing.T) {
	for _, c := range []struct {
		shown, got string
		want       bool
	}{
		{"a 0123456789ab 5s\n", "a  fedcba987654 1m10s\n", true},
		{"a\n", "b\n", false},
		{"a\n…\nd\n", "a\nb\nc\nd\n", true},
		{"a\n…\nd\n", "a\nd\n", true},
		{"a\n…\nd\n", "a\nb\nc\n", false},
		{"a\n…\nd\n", "x\na\nd\n", false},
		{"a\n", "a\nb\n", false},
	} {
		if got := Same(c.shown, c.got); got != c.want {
			t.Errorf("Same(%q, %q): %t, want %t", c.shown, c.got, got, c.want)
		}
	}
}

func TestParts(t *testing.T) {
	page := "# A\n\nRun `linkwright status`, or `git`.\n\n  ```sh\n  ls\n  pwd\n  ```\n\n```\na → b\n```\n| `kubectl get x` |\n"
	want := []Part{
		{Line: 3, Inline: true, Text: "linkwright status\n"},
		{Line: 5, Language: "sh", Text: "ls\npwd\n"},
		{Line: 10, Text: "a → b\n"},
		{Line: 13, Inline: true, Text: "kubectl get x\n"},
	}
	got, err := Parts(page)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
	for _, bad := range []string{"```sh\nls\n", "```go\nx\n```\n", "```\nlinkwright status\n```\n"} {
		if _, err := Parts(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

func TestSteps(t *testing.T) {
	steps, err := Steps("# A\n\n```sh\nls\n```\n\n```text\na\n```\n\n<!-- test: exit 4, repeat -->\n```sh\nfalse\n```\n")
	if err != nil || len(steps) != 2 {
		t.Fatalf("%+v, %v", steps, err)
	}
	if s := steps[0]; s.Line != 3 || s.Commands != "ls\n" || s.Shown != "a\n" || s.From != 7 || s.To != 8 {
		t.Errorf("%+v", s)
	}
	if s := steps[1]; s.Exit != 4 || !s.Repeat || s.HasShown {
		t.Errorf("%+v", s)
	}
	for _, bad := range []string{"```sh\nls\n", "```yaml\na: b\n```\n", "<!-- test: exit x -->\n", "<!-- test: later -->\n"} {
		if _, err := Steps(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}
