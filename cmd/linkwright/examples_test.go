package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/sync"
)

// Every example is valid without a warning, and is rendered whole.
func TestExamples(t *testing.T) {
	const examples = "../../examples"
	entries, err := os.ReadDir(examples)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range entries {
		if !e.IsDir() || e.Name() == "install" {
			continue
		}
		found++
		dir := filepath.Join(examples, e.Name())
		for _, args := range [][]string{{"validate", "--strict", dir}, {"render", dir}} {
			var out, problems bytes.Buffer
			if code := run(t.Context(), args, &out, &problems); code != cli.ExitDone {
				t.Errorf("%v: exit code %d\n%s%s", args, code, out.String(), problems.String())
			}
			if bytes.Contains(out.Bytes(), []byte(": Blocked: ")) || args[0] == "render" && !bytes.Contains(out.Bytes(), []byte("kind: Link\n")) {
				t.Errorf("%v leaves something out:\n%s", args, out.String())
			}
		}
	}
	if found < 7 {
		t.Errorf("%d examples found", found)
	}
}

// An interrupted build does not report that the declarations are wrong.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, command := range []string{"validate", "render"} {
		var out, problems bytes.Buffer
		if code := run(ctx, []string{command, "../../examples/overlay"}, &out, &problems); code != cli.ExitError || out.Len() > 0 {
			t.Errorf("%s: exit code %d\n%s%s", command, code, out.String(), problems.String())
		}
	}
}

// After a signal the program says that it was interrupted, unless the answer has said that.
func TestExitAfterASignal(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(live.Stopped{Signal: os.Interrupt})
	said := sync.Interrupted(ctx)
	for name, tt := range map[string]struct {
		err   error
		shown bool
	}{
		"the answer says it":          {cli.Exit{Code: cli.ExitError, Err: said, Shown: true}, true},
		"the answer has other errors": {cli.Exit{Code: cli.ExitError, Err: errors.New("Git does not answer"), Shown: true}, false},
		"there is no answer":          {errors.New("Git does not answer"), false},
	} {
		if got := exitOf(ctx, tt.err); got.Shown != tt.shown || got.Code != cli.ExitPartial || !errors.Is(got.Err, sync.ErrInterrupted) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
