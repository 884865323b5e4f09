package report

import (
	"os"
	"strings"
	"testing"
)

// docs/reference/log.md has a row for every message.
func TestMessagesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/reference/log.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{
		ObjectWritten, ObjectNotWritten, LinkChanged, ClusterChanged, BaseChanged, CleanupChanged, OrphansChanged, ConfinementChanged, HasProblem,
		RevisionApplied, RevisionNotApplied, SyncFailed, SyncRecovered, SyncDone, "waiting", "stopping",
	} {
		if !strings.Contains(string(doc), "\n| `"+message+"` |") {
			t.Errorf("%q has no row", message)
		}
	}
}
