package fleet

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// What any input may cost: processor time, for the machine may be busy, and the peak of the process, its input included.
const (
	mostTime   = 2 * time.Second
	mostMemory = 256 << 20
	childEnv   = "LINKWRIGHT_HOSTILE"
)

// cost is what a child tells.
type cost struct {
	Problems []string
	Loaded   bool
	Time     time.Duration
	Pace     time.Duration // see pace
	Peak     int           // bytes
}

// most is how long the machine may take at its pace.
func (c cost) most() time.Duration { return max(mostTime, mostTime*c.Pace/usualPace) }

func (c cost) affordable() bool { return c.Time <= c.most() && c.Peak <= mostMemory }

// Every attack is told clearly, or loads, within the bounds: each in a process of its own, so that its peak is its own.
func TestHostileInput(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute of processor time")
	}
	if name := os.Getenv(childEnv); name != "" {
		attacked(t, name)
		return
	}
	binary := plainBinary(t)
	for name, a := range attacks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cheapest(t, binary, name)
			for _, want := range a.want {
				if !slices.ContainsFunc(c.Problems, func(p string) bool { return strings.Contains(p, want) }) {
					t.Errorf("Load(%s): -want +got\n-%s\n+%s", name, want, strings.Join(c.Problems, "\n+"))
				}
			}
			if c.Loaded != (len(a.want) == 0) {
				t.Errorf("Load(%s): a fleet: %v", name, c.Loaded)
			}
			if !c.affordable() {
				t.Errorf("Load(%s) took %s and %d MiB, more than %s and %d MiB (pace %s)", name, c.Time, c.Peak>>20, c.most(), mostMemory>>20, c.Pace)
			}
		})
	}
}

// plainBinary is this test without the race detector, which takes its own share of time and memory.
func plainBinary(t *testing.T) string {
	t.Helper()
	if !raced {
		return os.Args[0]
	}
	binary := filepath.Join(t.TempDir(), "fleet.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the test: %v\n%s", err, out)
	}
	return binary
}

// cheapest tries again what is too dear: what else the machine does can only add.
func cheapest(t *testing.T, binary, name string) cost {
	t.Helper()
	for range 2 {
		if c := attack(t, binary, name); c.affordable() {
			return c
		}
	}
	return attack(t, binary, name)
}

// attack runs one attack in a process of its own, until a deadline that a slow machine does not reach either.
func attack(t *testing.T, binary, name string) (c cost) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=^TestHostileInput$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), childEnv+"="+name, "GOCOVERDIR="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("Load(%s): %v\n%s", name, err, shorten(string(out)))
	}
	line, _, _ := strings.Cut(string(out), "\n")
	if err := json.Unmarshal([]byte(line), &c); err != nil {
		t.Fatalf("Load(%s): %v\n%s", name, err, shorten(string(out)))
	}
	t.Logf("%s at a pace of %s, %d MiB, %d problems, first %s", c.Time, c.Pace, c.Peak>>20, len(c.Problems), shorten(strings.Join(c.Problems[:min(1, len(c.Problems))], "")))
	return c
}

// attacked is the child.
func attacked(t *testing.T, name string) {
	tree := attacks()[name].tree()
	runtime.GC()
	before := used(t)
	f, problems := Load("", tree)
	c := cost{Loaded: f != nil, Time: used(t) - before, Peak: peak(t)}
	c.Pace = pace(t)
	for _, p := range problems {
		if c.Problems = append(c.Problems, p.String()); len(p.String()) > 2000 {
			t.Errorf("a problem of %d bytes", len(p.String()))
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(c); err != nil {
		t.Fatal(err)
	}
}

// usualPace is that of the machine on which nothing may take longer than mostTime. A slower one has more time.
const usualPace = 100 * time.Millisecond

// pace is how long this machine takes, at this moment, for YAML in which nothing is odd.
func pace(t *testing.T) time.Duration {
	t.Helper()
	text := []byte(strings.Repeat("- {name: east, labels: {env: prod, region: us-east}, spec: [1, 2, 3]}\n", 10_000))
	before := used(t)
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		t.Fatal(err)
	}
	return used(t) - before
}

// used is the time that all threads of this process had a processor.
func used(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// peak is the largest amount of memory that this process ever had.
func peak(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("there is no /proc")
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmHWM in /proc/self/status")
	return 0
}
