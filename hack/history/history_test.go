package history

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// How many histories are played and from which seed on, and a script to play instead: see docs/explanation/soak.md.
const (
	envCount  = "HISTORIES"
	envSeed   = "HISTORY_SEED"
	envScript = "HISTORY_SCRIPT"
)

// slice is how many a test of every day plays.
const slice = 60

// number is that of an environment variable.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return n
}

// shown is how many histories that break a promise are made shorter, which takes as long as some hundred others; of the rest
// there is a line.
const shown = 3

// progress is after how many histories a long run says how far it is: what it found by then holds, whatever ends it.
const progress = 5000

// Random histories keep every promise. Each is its seed's alone.
func TestHistories(t *testing.T) { playAll(t, Generate, slice) }

// So do those in which clusters are renamed.
func TestRenames(t *testing.T) { playAll(t, GenerateRenames, slice/3) }

// And those in which links get other tokens.
func TestRotations(t *testing.T) { playAll(t, GenerateRotations, slice/3) }

func playAll(t *testing.T, generate func(uint64) []Event, otherwise uint64) {
	t.Helper()
	count, from, began := number(t, envCount, otherwise), number(t, envSeed, 0), time.Now()
	var next, played, writes, broken atomic.Uint64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			p := New()
			for i := next.Add(1) - 1; i < count; i = next.Add(1) - 1 {
				before := p.Writes
				if why := p.Play(generate(from + i)); why != "" {
					report(t, p, generate(from+i), from+i, why, broken.Add(1))
				}
				writes.Add(uint64(p.Writes - before))
				if n := played.Add(1); n%progress == 0 {
					t.Logf("%d played, %d broke a promise, after %s", n, broken.Load(), time.Since(began).Round(time.Second))
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d histories from seed %d, %d writes, %d broke a promise, %.0f histories a second",
		count, from, writes.Load(), broken.Load(), float64(count)/time.Since(began).Seconds())
	if writes.Load() < 10*count {
		t.Errorf("%d histories made %d writes: they try nothing", count, writes.Load())
	}
}

// report is about the n-th history that broke a promise.
func report(t *testing.T, p *Player, events []Event, seed uint64, why string, n uint64) {
	t.Helper()
	if n > shown {
		lines := strings.SplitN(why, "\n", 3)
		t.Errorf("seed %d: %s", seed, strings.Join(lines[:min(2, len(lines))], " "))
		return
	}
	events, why = p.Shrink(events)
	t.Errorf("seed %d: %s\nthe shortest script found that breaks a promise (docs/explanation/soak.md says how to play it):\n%s", seed, why, Script(events))
}

// A script is played line by line, with all that is written.
func TestScript(t *testing.T) {
	path := os.Getenv(envScript)
	if path == "" {
		t.Skipf("%s names no script", envScript)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	events, err := Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	p := New()
	p.Trace = func(line string) { t.Log(line) }
	if why := p.Play(events); why != "" {
		t.Error(why)
	}
}

// Scripts that broke a promise once, by the seeds that docs/explanation/soak.md judges, keep them now.
func TestFinds(t *testing.T) {
	finds, err := filepath.Glob("testdata/finds/*")
	if err != nil || len(finds) == 0 {
		t.Fatalf("finds: %v, %v", finds, err)
	}
	for _, path := range finds {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		events, err := Parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if why := New().Play(events); why != "" {
			t.Errorf("%s: %s", path, why)
		}
	}
}

// What a script says is what is played.
func TestParse(t *testing.T) {
	for seed := range uint64(200) {
		events := GenerateRenames(seed)
		again, err := Parse("# a comment\n\n" + Script(events))
		if err != nil || Script(again) != Script(events) {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, Script(events), Script(again))
		}
	}
	for _, wrong := range []string{"link a b 1", "link a b x 1", "pass a b 1 1 crash 2", "pass a b 1 1 crash 2 3 4"} {
		if _, err := Parse(wrong); err == nil {
			t.Errorf("Parse(%q): no error", wrong)
		}
	}
}

// A history is the same each time it is played.
func TestDeterministic(t *testing.T) {
	for seed := range uint64(8) {
		var first, second []string
		p, q := New(), New()
		p.Trace = func(line string) { first = append(first, line) }
		q.Trace = func(line string) { second = append(second, line) }
		if p.Play(GenerateRenames(seed)) != q.Play(GenerateRenames(seed)) || len(first) != len(second) {
			t.Fatalf("seed %d: played twice, %d and %d lines", seed, len(first), len(second))
		}
		for i := range first {
			if first[i] != second[i] {
				t.Fatalf("seed %d: line %d: %q, then %q", seed, i, first[i], second[i])
			}
		}
	}
}
