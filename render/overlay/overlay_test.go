package overlay

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain makes children of the test binary, as main does of the program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Child {
		os.Exit(Serve(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}
