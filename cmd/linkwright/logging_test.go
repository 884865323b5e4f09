package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/sync/lease"
)

func TestLogFlags(t *testing.T) {
	for _, tt := range []struct {
		flags logFlags
		want  string // levels that are logged
		err   string
	}{
		{logFlags{}, "INFO WARN ERROR", ""},
		{logFlags{level: "debug"}, "DEBUG INFO WARN ERROR", ""},
		{logFlags{level: "warn", format: "json"}, "WARN ERROR", ""},
		{logFlags{level: "error"}, "ERROR", ""},
		{logFlags{level: "trace"}, "", "--log-level trace: want debug, info, warn or error"},
		{logFlags{format: "xml"}, "", "--log-format xml: want text or json"},
	} {
		var out bytes.Buffer
		log, err := tt.flags.open(&out)
		if said(err) != tt.err {
			t.Errorf("%+v: %v, want %s", tt.flags, err, tt.err)
		}
		if err != nil {
			continue
		}
		for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
			log.Log(t.Context(), level, "x")
		}
		got := regexp.MustCompile("DEBUG|INFO|WARN|ERROR").FindAllString(out.String(), -1)
		if lines := strings.Count(out.String(), "{"); tt.flags.format == "json" && lines != len(got) {
			t.Errorf("%+v: no JSON: %s", tt.flags, out.String())
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v logs %v, want %s", tt.flags, got, tt.want)
		}
	}
}

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
