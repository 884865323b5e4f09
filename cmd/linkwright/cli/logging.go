package cli

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"
)

// LogFlags say what is logged, and how.
type LogFlags struct {
	format, level string
	flags         *pflag.FlagSet // that they are of; nil: nobody gives them
}

// given says that somebody asked for the log.
func (l *LogFlags) given() bool {
	if l.flags == nil {
		return false
	}
	format, level := l.flags.Lookup("log-format"), l.flags.Lookup("log-level")
	return format.Changed || level.Changed || FromVariable(format) || FromVariable(level)
}

// Add adds --log-format and --log-level.
func (l *LogFlags) Add(f *pflag.FlagSet) {
	l.flags = f
	f.StringVar(&l.format, "log-format", "text", "text or json: the log on standard error, in place of progress")
	f.StringVar(&l.level, "log-level", "info", "debug, info, warn or error: the lowest level that is logged")
	OneOf(f, "log-format", "text", "json")
	OneOf(f, "log-level", "debug", "info", "warn", "error")
}

// Open gives the log. Errors are usage errors.
func (l *LogFlags) Open(stderr io.Writer) (*slog.Logger, error) {
	levels := map[string]slog.Level{"": slog.LevelInfo, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level, ok := levels[l.level]
	if !ok {
		return nil, Usage("--log-level %s: want debug, info, warn or error", l.level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch l.format {
	case "", "text":
		return slog.New(slog.NewTextHandler(stderr, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(stderr, options)), nil
	}
	return nil, Usage("--log-format %s: want text or json", l.format)
}
