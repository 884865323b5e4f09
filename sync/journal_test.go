package sync

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/sync/report"
)

// What is wrong with the head lasts until a sync says otherwise: what is done meanwhile ends nothing.
func TestErrorLastsUntilTheNextSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logged := journal{log: slog.New(slog.NewTextHandler(&out, nil))}
		e := newEngine(&Loop{Options: Options{Owner: "linkwright"}, Clusters: far{}}, 1)
		defer e.queue.ShutDown()
		p := newReporter(e.loop, e.store, e.failed, func(r report.Report, err error) { logged.record(r, err) })
		pass := report.Report{Commit: "a", Head: "b", Polled: time.Now(), Clusters: []report.Cluster{{Name: "west"}}}
		between := func() {
			e.store.Results.Open(report.Report{})
			p.reportChanges()
		}
		p.report(pass, errors.New("not a fast-forward"))
		between()
		between()
		p.report(pass, errors.New("not a fast-forward"))
		if got := out.String(); strings.Count(got, "revision not applied") != 1 || strings.Contains(got, "sync recovered") {
			t.Errorf("while the head is refused:\n%s", got)
		}
		p.report(pass, nil)
		between()
		if got := out.String(); strings.Count(got, "sync recovered") != 1 {
			t.Errorf("once it is not:\n%s", got)
		}
	})
}

// lines returns a log in JSON.
func lines(t *testing.T, log *bytes.Buffer) (out []map[string]any) {
	t.Helper()
	for line := range bytes.Lines(log.Bytes()) {
		var e map[string]any
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, e)
	}
	log.Reset()
	return out
}

// logs makes a sync, in which all must come to be in place, and gives what it logs.
func (r *memoryEnv) logs(level slog.Level) []map[string]any {
	r.t.Helper()
	var log bytes.Buffer
	l := r.loop()
	l.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: level}))
	got, err := l.Once(r.t.Context(), 1)
	if err != nil || !got.Clean() {
		r.t.Fatalf("%v%s", err, rows(got))
	}
	return lines(r.t, &log)
}

// writes returns the writes among requests, and those among the lines of a log, spelled alike and in order.
func writes(asked []string, logged []map[string]any) (sent, reported []string) {
	for _, q := range asked {
		name, what, _ := strings.Cut(q, ": ")
		if strings.Contains(what, " ") {
			sent = append(sent, strings.TrimPrefix(name, "home")+" "+what)
		}
	}
	for _, e := range logged {
		if name, _ := e["cluster"].(string); e["msg"] == report.ObjectWritten {
			reported = append(reported, fmt.Sprint(name, " ", e["verb"], " ", e["object"]))
		}
	}
	slices.Sort(sent)
	slices.Sort(reported)
	return sent, reported
}

// Each write is one line, with whose change it takes back; a sync that changes nothing logs nothing above debug.
func TestEachWriteIsOneLine(t *testing.T) {
	single(t, memcluster.Options{}, memoryLink("west", "east"), func(r *memoryEnv) {
		r.leads()
		r.asked()
		first := r.logs(slog.LevelInfo)
		if sent, reported := writes(r.asked(), first); len(sent) < 10 || !slices.Equal(sent, reported) {
			r.t.Errorf("writes %q, lines %q", sent, reported)
		}
		if quiet := r.logs(slog.LevelInfo); len(quiet) > 0 {
			r.t.Errorf("a quiet sync logs %v", quiet)
		}
		if quiet := r.logs(slog.LevelDebug); len(quiet) != 1 || quiet[0]["msg"] != report.SyncDone || quiet[0]["seconds"] != 0.0 {
			r.t.Errorf("with debug, a quiet sync logs %v", quiet)
		}
		r.edit("west", probe, 1)
		drift := slices.DeleteFunc(r.logs(slog.LevelInfo), func(e map[string]any) bool { return e["reason"] != "Drift" })
		want := map[string]any{"cluster": "west", "link": "west→east", "object": probe.String(), "verb": "update", "commit": "c1", "manager": "hand"}
		if len(drift) != 1 {
			r.t.Fatalf("what is taken back is logged as %v", drift)
		}
		for key, value := range want {
			if drift[0][key] != value {
				r.t.Errorf("what is taken back is logged as %v, want %s %v", drift[0], key, value)
			}
		}
	})
}
