package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An answer is written when it changes, and the last one decides how the command ends; an interrupted question decides nothing.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 4*pause+time.Second)
		defer cancel()
		broken, asked := errors.New("broken"), 0
		answers := []string{"ok\n", "ok\n", "broken\n", "broken\n"}
		var out strings.Builder
		err := again(ctx, &out, func(ctx context.Context) (string, error) {
			if asked++; asked > len(answers) {
				<-ctx.Done()
				return "", ctx.Err()
			}
			if answers[asked-1] == "broken\n" {
				return "broken\n", broken
			}
			return answers[asked-1], nil
		})
		if !errors.Is(err, broken) || out.String() != "ok\nbroken\n" || asked != 5 {
			t.Errorf("%v after %d questions, written %q", err, asked, &out)
		}
	})
}
