package cli

import (
	"bytes"
	"log/slog"
	"regexp"
	"strings"
	"testing"
)

func TestLogFlags(t *testing.T) {
	for _, tt := range []struct {
		flags LogFlags
		want  string // levels that are logged
		err   string
	}{
		{LogFlags{}, "INFO WARN ERROR", ""},
		{LogFlags{level: "debug"}, "DEBUG INFO WARN ERROR", ""},
		{LogFlags{level: "warn", format: "json"}, "WARN ERROR", ""},
		{LogFlags{level: "error"}, "ERROR", ""},
		{LogFlags{level: "trace"}, "", "--log-level trace: want debug, info, warn or error"},
		{LogFlags{format: "xml"}, "", "--log-format xml: want text or json"},
	} {
		var out bytes.Buffer
		log, err := tt.flags.Open(&out)
		if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
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
