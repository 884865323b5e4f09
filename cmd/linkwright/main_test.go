package main

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/linkwright/linkwright/render/overlay"
)

var update = flag.Bool("update", false, "rewrite the goldens of scripts")

// TestMain makes the test binary the program itself: scripts and tests start it as "linkwright".
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == overlay.Child {
		main() // scripts start the program by a link, but it starts itself as what it is
	}
	testscript.Main(m, map[string]func(){"linkwright": main, "linkerd-linkwright": main, "poke": poke})
}

// TestScripts runs the program without any cluster.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			return os.WriteFile(e.WorkDir+"/.gitconfig", []byte("[user]\nname = t\nemail = t@example.com\n[init]\ndefaultBranch = main\n"), 0o600)
		},
	})
}
