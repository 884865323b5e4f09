package history

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// How many histories are played and from which seed on, and a script to play instead: see docs/soak.md.
const (
	envCount  = "HISTORIES"
	envSeed   = "HISTORY_SEED"
	envScript = "HISTORY_SCRIPT"
)

// slice is how many a test of every day plays, race detector and all.
const slice = 150

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

// enough is how many histories are shown that break a promise.
const enough = 3

// Random histories keep every promise. Each is its seed's alone.
func TestHistories(t *testing.T) {
	count, from, began := number(t, envCount, slice), number(t, envSeed, 0), time.Now()
	var next, writes, broken atomic.Uint64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			p := New()
			for i := next.Add(1) - 1; i < count && broken.Load() < enough; i = next.Add(1) - 1 {
				if why := p.Play(Generate(from + i)); why != "" {
					broken.Add(1)
					events, why := p.Shrink(Generate(from + i))
					t.Errorf("seed %d: %s\nthe shortest script found that breaks a promise (docs/soak.md says how to play it):\n%s", from+i, why, Script(events))
				}
			}
			writes.Add(uint64(p.Writes))
		})
	}
	all.Wait()
	t.Logf("%d histories from seed %d, %d writes, %.0f histories a second", count, from, writes.Load(), float64(count)/time.Since(began).Seconds())
	if writes.Load() < 10*count {
		t.Errorf("%d histories made %d writes: they try nothing", count, writes.Load())
	}
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

// What a script says is what is played.
func TestParse(t *testing.T) {
	for seed := range uint64(200) {
		events := Generate(seed)
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
	for seed := range uint64(20) {
		var first, second []string
		p, q := New(), New()
		p.Trace = func(line string) { first = append(first, line) }
		q.Trace = func(line string) { second = append(second, line) }
		if p.Play(Generate(seed)) != q.Play(Generate(seed)) || len(first) != len(second) {
			t.Fatalf("seed %d: played twice, %d and %d lines", seed, len(first), len(second))
		}
		for i := range first {
			if first[i] != second[i] {
				t.Fatalf("seed %d: line %d: %q, then %q", seed, i, first[i], second[i])
			}
		}
	}
}
