package prometheus

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each alert fires when it should, with its labels and its text, and does not fire otherwise.
func TestAlerts(t *testing.T) {
	tool := os.Getenv("LINKWRIGHT_PROMTOOL")
	if tool == "" {
		t.Skip("make monitoring-test builds promtool, and sets LINKWRIGHT_PROMTOOL to it")
	}
	tests, err := filepath.Glob(alertTests + "/*.yaml")
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests of alerts: %v", err)
	}
	out, err := exec.CommandContext(t.Context(), tool, append([]string{"test", "rules"}, tests...)...).CombinedOutput()
	if err != nil || strings.Count(string(out), "SUCCESS") != len(tests) {
		t.Errorf("promtool test rules: %v\n%s", err, out)
	}
}
