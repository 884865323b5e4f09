package overlay

import (
	"os"
	"testing"

	"github.com/linkwright/linkwright/hack/leaks"
)

// What the test binary becomes, by its first argument.
const (
	canaryChild         = "canary-child" // a child that has a PATH, and so something to start
	bareChild           = "bare-child"   // the same, without a lock
	misbehavingChildEnv = "wild-child"   // misbehaves as the job says
	brokenOff           = "broken-off"   // a parent that is killed
)

// TestMain makes children of the test binary, as main does of the program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Child:
			os.Exit(Serve(os.Stdin, os.Stdout))
		case canaryChild:
			_ = os.Setenv("PATH", os.Args[2])
			os.Exit(Serve(os.Stdin, os.Stdout))
		case bareChild:
			_ = os.Setenv("PATH", os.Args[2])
			os.Exit(misbehavingChild())
		case misbehavingChildEnv:
			os.Exit(misbehavingChild())
		case brokenOff:
			os.Exit(heavyParent())
		}
	}
	os.Exit(leaks.Code(m.Run()))
}
