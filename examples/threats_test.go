package examples_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThreats: every line of the model names a test, and all that it names exist.
func TestThreats(t *testing.T) {
	named := regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz)\\w+)`")
	found := map[string]string{} // all tests of a package
	lines := 0
	for line := range strings.Lines(text(t, "../docs/explanation/threat-model.md")) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| tried ") || strings.HasPrefix(line, "| where ") || strings.HasPrefix(line, "| --- ") {
			continue
		}
		lines++
		cells := strings.Split(line, " | ")
		tests := named.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) < 3 || len(tests) == 0 {
			t.Errorf("it names no test: %s", line)
		}
		for _, m := range tests {
			if found[m[1]] == "" {
				found[m[1]] = testsOf(t, m[1])
			}
			if !strings.Contains(found[m[1]], "\nfunc "+m[2]+"(") {
				t.Errorf("there is no %s.%s: %s", m[1], m[2], line)
			}
		}
	}
	if lines < 20 {
		t.Errorf("the model has %d lines", lines)
	}
}

func testsOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob("../" + dir + "/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no tests: %v", dir, err)
	}
	var b strings.Builder
	for _, f := range files {
		b.WriteString(text(t, f))
	}
	return b.String()
}
