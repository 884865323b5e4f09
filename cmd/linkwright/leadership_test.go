package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/sync/lease"
)

// The end of a leadership says why: whoever reads the log of a replica that led knows whether another one may lead now.
func TestEndOfLeadership(t *testing.T) {
	for _, tt := range []struct {
		cause, failed error
		want          []string
	}{
		{lease.ErrLost, nil, []string{"level=WARN", "reason=LeaseLost"}},
		{errors.New("terminated signal received"), nil, []string{"level=INFO", "reason=LeaseReleased", "terminated signal received"}},
		{nil, errors.New("no"), []string{"level=ERROR", "reason=Failed", "error=no"}},
	} {
		ctx, end := context.WithCancelCause(t.Context())
		if tt.cause != nil {
			end(tt.cause)
		}
		var out bytes.Buffer
		ended(ctx, slog.New(slog.NewTextHandler(&out, nil)), 7, tt.failed)
		end(nil)
		for _, want := range append(tt.want, "leadership ends", "term=7") {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%v, %v: %s does not say %s", tt.cause, tt.failed, out.String(), want)
			}
		}
	}
}

// A standby says which process leads, as status does.
func TestStandingBy(t *testing.T) {
	var out bytes.Buffer
	locks := waiting([]lease.Lock{{Namespace: "linkwright", Name: "linkwright-linkwright"}}, slog.New(slog.NewTextHandler(&out, nil)))
	locks[0].Waits("pod-1_7", time.Time{})
	if want := `level=INFO msg="standing by" holder=pod-1_7 lease=linkwright/linkwright-linkwright why="another process holds the lease`; !strings.Contains(out.String(), want) {
		t.Errorf("%s does not say %s", out.String(), want)
	}
}
