package live

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/progress"
	"github.com/linkwright/linkwright/sync/report"
)

// terminal is one in memory: what it shows follows from what is written.
type terminal struct {
	t     *testing.T
	mu    sync.Mutex
	lines []string
	row   int
}

var sequence = regexp.MustCompile("^\x1b\\[(\\??[0-9]*)([A-Za-z])")

// Write implements io.Writer.
func (s *terminal) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for text := string(p); text != ""; {
		switch m := sequence.FindStringSubmatch(text); {
		case m != nil:
			s.do(m[1], m[2])
			text = text[len(m[0]):]
		case text[0] == '\n':
			s.row++
			text = text[1:]
		case text[0] == '\r':
			text = text[1:]
		default:
			end := strings.IndexAny(text+"\n", "\x1b\n\r")
			s.grow()
			s.lines[s.row] = text[:end] // the tests write whole lines
			text = text[end:]
		}
	}
	return len(p), nil
}

func (s *terminal) grow() {
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, "")
	}
}

func (s *terminal) do(number, what string) {
	switch what {
	case "A":
		n, err := strconv.Atoi(number)
		if s.row -= n; err != nil || s.row < 0 {
			s.t.Errorf("the cursor goes up by %s", number)
		}
	case "J":
		s.lines = s.lines[:min(s.row, len(s.lines))]
	case "K", "h", "l":
	default:
		s.t.Errorf("unknown sequence %s%s", number, what)
	}
}

// narrow breaks the lines that have no room any more, as most terminals do.
func (s *terminal) narrow(width int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	row := 0
	for i, l := range s.lines {
		if i == s.row {
			row = len(lines)
		}
		for text := []rune(l); ; text = text[width:] {
			if lines = append(lines, string(text[:min(len(text), width)])); len(text) <= width {
				break
			}
		}
	}
	if s.row >= len(s.lines) {
		row = len(lines) + s.row - len(s.lines)
	}
	s.lines, s.row = lines, row
}

func (s *terminal) shows() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

// hangs is a report of a sync in which east does not answer.
func hangs(asked time.Time) report.Report {
	return report.Report{Head: "c1", When: report.Syncing, Clusters: []report.Cluster{
		{Name: "east", Activity: report.Activity{Asked: asked}}, {Name: "west", Activity: report.Activity{Read: true}},
	}}
}

// refused is a report of a sync in which east cannot be read.
func refused() report.Report {
	return report.Report{Head: "c1", When: report.Syncing, Clusters: []report.Cluster{
		{Name: "east", Step: plan.Step{Denied: object.Because(reason.Unreachable, "no route")}, Activity: report.Activity{Read: true}},
	}}
}

func display(out io.Writer, mode Mode) *Display {
	d := New(Options{Mode: mode, Title: "sync", Writes: true, Timeout: 15 * time.Second, Out: out, Size: func() progress.Size { return progress.Size{Width: 80, Height: 10} }})
	d.RecordTo(slog.New(slog.NewTextHandler(d, nil)))
	return d
}

// The tree changes in its place. What is written meanwhile stays above it, and nothing of it is left at the end.
func TestTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &terminal{t: t}
		d := display(s, Tree)
		stop := d.Show(t.Context(), Repository)
		time.Sleep(400 * time.Millisecond)
		synctest.Wait()
		if got := s.shows(); got != "" {
			t.Errorf("at first:\n%s", got)
		}
		time.Sleep(2600 * time.Millisecond)
		synctest.Wait()
		if got, want := s.shows(), "sync  3s\n► the repository  3s"; got != want {
			t.Errorf("after 3 s:\n%s\nwant\n%s", got, want)
		}
		d.Report(hangs(time.Now()))
		_, _ = io.WriteString(d, "warning: something\n")
		time.Sleep(4 * time.Second)
		synctest.Wait()
		want := "warning: something\nsync  7s\n► east  does not answer, 4s, a request may take 15s\n· west  waits for the other clusters"
		if got := s.shows(); got != want {
			t.Errorf("after 7 s:\n%s\nwant\n%s", got, want)
		}
		stop()
		stop()
		if got := s.shows(); got != "warning: something" {
			t.Errorf("at the end:\n%s", got)
		}
	})
}

// A terminal that becomes narrower breaks the lines that are drawn: the next frame takes their place all the same, and no line of it is
// longer than the terminal is wide.
func TestNarrowTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, width := &terminal{t: t}, 80
		d := New(Options{Mode: Tree, Title: "sync", Writes: true, Timeout: 15 * time.Second, Out: s, Size: func() progress.Size { return progress.Size{Width: width, Height: 10} }})
		stop := d.Show(t.Context(), Repository)
		_, _ = io.WriteString(d, "warning: something\n")
		d.Report(hangs(time.Now()))
		time.Sleep(4 * time.Second)
		synctest.Wait()
		d.mu.Lock() // between two frames
		width = 20
		s.narrow(width)
		if n := strings.Count(s.shows(), "\n") + 1; n < 6 {
			t.Errorf("nothing was broken:\n%s", s.shows())
		}
		d.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := s.shows(), "warning: something\nsync  5s\n► east  does not an…\n· west  waits for t…"; got != want {
			t.Errorf("with 20 columns:\n%s\nwant\n%s", got, want)
		}
		stop()
		if got := s.shows(); got != "warning: something" {
			t.Errorf("at the end:\n%s", got)
		}
	})
}

// Colours take no room.
func TestCells(t *testing.T) {
	for line, want := range map[string]int{"": 0, "► east": 6, "\x1b[36m►\x1b[0m east  \x1b[31mDenied\x1b[0m": 14} {
		if got := cells(line); got != want {
			t.Errorf("cells(%q): %d, want %d", line, got, want)
		}
	}
}

// Clusters that are asked at the same time are named until they have answered; those that are asked one after the other, with how many there are.
func TestClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stamped{began: time.Now()}
		d := display(s, Lines)
		defer d.Show(t.Context(), Management)()
		answered := d.Clusters([]api.ClusterName{"a", "b", "c", "d", "e"})
		time.Sleep(2 * time.Second)
		for _, name := range []api.ClusterName{"a", "c", "e", "b"} {
			answered(name)
		}
		time.Sleep(5 * time.Second)
		answered("d")
		d.Nth([]api.ClusterName{"x", "y"}, 1)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		want := []string{
			"1.8 waiting 2s: for clusters a, b, c, and 2 more",
			"6.8 waiting 7s: for cluster d (5s)",
			"16.8 waiting 17s: for cluster y, 2 of 2 (10s)",
		}
		if !slices.Equal(s.lines, want) {
			t.Errorf("%s\nwant\n%s", strings.Join(s.lines, "\n"), strings.Join(want, "\n"))
		}
	})
}

// stamped notes when each line is written.
type stamped struct {
	began time.Time
	lines []string
}

// Write implements io.Writer.
func (s *stamped) Write(p []byte) (int, error) {
	s.lines = append(s.lines, fmt.Sprintf("%.1f %s", time.Since(s.began).Seconds(), strings.TrimSuffix(string(p), "\n")))
	return len(p), nil
}

// Without a terminal, no silence is longer than two seconds at first. While nothing changes, a line comes every 10 s. A transition is a line.
func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stamped{began: time.Now()}
		d := display(s, Lines)
		stop := d.Show(t.Context(), Repository)
		time.Sleep(100 * time.Millisecond)
		d.Report(hangs(time.Now()))
		time.Sleep(59900 * time.Millisecond)
		d.Report(refused())
		d.Report(refused())
		time.Sleep(3 * time.Second)
		stop()
		time.Sleep(time.Minute)
		want := []string{
			"1.8 waiting 2s: an answer from cluster east",
			"6.8 waiting 7s: cluster east does not answer (7s, a request may take 15s)",
			"16.8 waiting 17s: cluster east does not answer (17s, a request may take 15s)",
			"26.8 waiting 27s: cluster east does not answer (27s, a request may take 15s)",
			"36.8 waiting 37s: cluster east does not answer (37s, a request may take 15s)",
			"46.8 waiting 47s: cluster east does not answer (47s, a request may take 15s)",
			"56.8 waiting 57s: cluster east does not answer (57s, a request may take 15s)",
			"60.0 ‼ east Unknown: Unreachable: no route",
			"61.8 waiting 1m2s: credentials are being verified",
		}
		if !slices.Equal(s.lines, want) {
			t.Errorf("%s\nwant\n%s", strings.Join(s.lines, "\n"), strings.Join(want, "\n"))
		}
	})
}

// Work that only reads shows no transitions, and says what it waits for all the same.
func TestLinesOfReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stamped{began: time.Now()}
		d := display(s, Lines)
		d.options.Writes = false
		ctx, end := context.WithCancelCause(t.Context())
		defer d.Show(ctx, Repository)()
		d.Report(refused())
		time.Sleep(3 * time.Second)
		end(Stopped{os.Interrupt})
		synctest.Wait()
		if want := []string{"1.8 waiting 2s: credentials are being verified"}; !slices.Equal(s.lines, want) {
			t.Errorf("%q, want %q", s.lines, want)
		}
	})
}

// Records are of the log, and become rarer, too.
func TestRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := display(&out, Records)
		d.RecordTo(slog.New(slog.NewJSONHandler(d, nil)))
		stop := d.Show(t.Context(), Repository)
		time.Sleep(10 * time.Second)
		stop()
		want := `{"time":"2000-01-01T00:00:01.75Z","level":"INFO","msg":"waiting","seconds":2,"why":"for the repository"}
{"time":"2000-01-01T00:00:06.75Z","level":"INFO","msg":"waiting","seconds":7,"why":"for the repository"}
`
		if got := out.String(); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	})
}

// After a signal, work that writes says how it ends, once: the hint is for who sits at a keyboard.
func TestStopping(t *testing.T) {
	for _, tt := range []struct {
		signal Stopped
		want   string
	}{
		{Stopped{os.Interrupt}, "0.0 finishing what has begun; press Ctrl-C again to stop now"},
		{Stopped{syscall.SIGTERM}, "0.0 finishing what has begun"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &stamped{began: time.Now()}
			d := display(s, Lines)
			ctx, end := context.WithCancelCause(t.Context())
			outer := d.Show(ctx, Lease)
			inner := d.Show(ctx, Repository)
			end(tt.signal)
			synctest.Wait()
			inner()
			outer()
			d.Show(ctx, Status)() // what is left to do
			synctest.Wait()
			if want := []string{tt.want}; !slices.Equal(s.lines, want) {
				t.Errorf("%q, want %q", s.lines, want)
			}
		})
	}
}

func TestColour(t *testing.T) {
	for _, tt := range []struct {
		flag            string
		noColour, force string
		want            bool
	}{
		{"auto", "", "", false}, // a buffer is no terminal
		{"always", "1", "", true},
		{"never", "", "1", false},
		{"auto", "", "1", true},
		{"auto", "", "0", false},
		{"auto", "1", "1", false},
	} {
		t.Setenv("NO_COLOR", tt.noColour)
		t.Setenv("CLICOLOR_FORCE", tt.force)
		var c Colour
		if err := c.Set(tt.flag); err != nil {
			t.Fatal(err)
		}
		if got := c.On(&bytes.Buffer{}); got != tt.want {
			t.Errorf("%+v: %t", tt, got)
		}
	}
	if err := new(Colour).Set("yes"); err == nil {
		t.Error("yes is taken")
	}
}

// An error that an answer has is not written again to where the answer went: a terminal, or a pipe after 2>&1.
func TestSame(t *testing.T) {
	file := func(name string) *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	out, other := file("out"), file("other")
	again, err := os.OpenFile(out.Name(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close() //nolint:errcheck // nothing was written
	if !Same(out, out) || !Same(out, again) || Same(out, other) || Same(out, &strings.Builder{}) || Same(&strings.Builder{}, out) {
		t.Error("only two names of one file are the same")
	}
}
