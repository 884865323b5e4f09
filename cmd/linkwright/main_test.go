package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/linkwright/linkwright/hack/outputschema"
	"github.com/linkwright/linkwright/hack/program"
	"github.com/linkwright/linkwright/render/overlay"
)

var update = flag.Bool("update", false, "rewrite the goldens of scripts")

// TestMain makes the test binary the program itself, under its names. "linkwright" is the program as it is released, which starts at
// once; see raced.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == overlay.Child {
		main() // scripts start the program by a link, but it starts itself as what it is
	}
	testscript.Main(released{m}, map[string]func(){"linkwright": main, "linkerd-linkwright": main, "kubectl-linkwright": main, "poke": poke})
}

// racedEnv names the directory of the test binary as a program.
const racedEnv = "LINKWRIGHT_RACED"

// raced is the program with the race detector, if the tests have it: for a test with a daemon that runs long.
func raced() string { return filepath.Join(os.Getenv(racedEnv), "linkwright") }

// released has tests start the released program: hundreds of times, for each of which the race detector would take most of the time.
type released struct{ *testing.M }

func (r released) Run() int {
	before := os.Getenv("PATH")
	dir, _, _ := strings.Cut(before, string(os.PathListSeparator))
	if err := os.Setenv(racedEnv, dir); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "linkwright-released-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if _, err := program.Build(context.Background(), dir); err != nil {
		panic(err)
	}
	if err := os.Setenv("PATH", dir+string(os.PathListSeparator)+before); err != nil {
		panic(err)
	}
	return r.M.Run()
}

// TestScripts runs the program without any cluster.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "../../testdata/script",
		UpdateScripts: *update,
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"answer": inSchema},
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			return os.WriteFile(e.WorkDir+"/.gitconfig", []byte("[user]\nname = t\nemail = t@example.com\n[init]\ndefaultBranch = main\n"), 0o600)
		},
	})
}

// inSchema holds the last output to the published schema of its kind: answer KIND.
func inSchema(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: answer KIND")
	}
	out := ts.ReadFile("stdout")
	ts.Check(outputschema.Check([]byte(out)))
	if !strings.Contains(out, "\n  \"kind\": \""+args[0]+"\",\n") {
		ts.Fatalf("the answer is no %s:\n%s", args[0], out)
	}
}
