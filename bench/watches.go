package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// watchesPerCluster are kept of one cluster: as many as a daemon keeps of one that nothing unusual is declared for.
	watchesPerCluster = 24
	// fleetSize clusters are what the figures are told for, too.
	fleetSize = 1000
	// objectsPerKind objects are in every kind.
	objectsPerKind = 3
	// bookmarkEvery is how often an API server tells a watch how far it is.
	bookmarkEvery = time.Minute
	// settleTime is how long after the last watch began what comes with it is over.
	settleTime = 2 * time.Second
)

// Parts of the figure that are processes of their own, and the variable of the environment that says which one this is.
const (
	partVariable = "LINKWRIGHT_BENCH_WATCHES"
	serverPart   = "server"
	ourPart      = "linkwright"
	theirPart    = "client-go"
)

// part is the task of a child process.
type part struct {
	Name string
	address
	Clusters, Seconds int
	Profiles          string // directory
}

// address is where the server is.
type address struct {
	Host string
	CA   []byte // PEM
}

// measurement is the memory and work of a process with all watches open, in bytes and seconds. All but Base are increases.
type measurement struct {
	Base, Heap, Stacks, Goroutines float64 // Base: resident before the first watch
	Begun, Resident                float64 // resident just after the last began, and once garbage is given back
	CPU                            float64 // at rest
	Watches, Connections, Opening  float64 // as the server counts, and how long it took
}

// takeWatches returns what watches cost at which nothing happens: ours, and those of client-go's Reflector. The server is a
// process of its own, and so is each arm in each round.
func takeWatches(ctx context.Context, opts options) error {
	if text := os.Getenv(partVariable); text != "" {
		return runChild(ctx, text)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := startChild(ctx, part{Name: serverPart})
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		_ = server.cmd.Wait() // it was killed
	}()
	todo := part{Clusters: max(1, opts.watches/watchesPerCluster), Seconds: opts.seconds, Profiles: opts.profiles}
	if err := server.says.Decode(&todo.address); err != nil {
		return fmt.Errorf("the server does not say where it is: %w", err)
	}
	arms := []string{ourPart, theirPart}
	if opts.arms != "" {
		arms = slices.DeleteFunc(arms, func(name string) bool { return !slices.Contains(strings.Split(opts.arms, ","), name) })
	}
	took := map[string][]measurement{}
	for round := range opts.rounds {
		for _, todo.Name = range arms {
			k, err := todo.measure(ctx)
			if err != nil {
				return fmt.Errorf("round %d, %s: %w", round+1, todo.Name, err)
			}
			took[todo.Name] = append(took[todo.Name], k)
			logf("%-10s %.0f watches on %.0f connections", todo.Name, k.Watches, k.Connections)
		}
		slices.Reverse(arms)
	}
	todo.report(took)
	return nil
}

// measure has one arm measured in a new process.
func (p part) measure(ctx context.Context) (k measurement, err error) {
	arm, err := startChild(ctx, p)
	if err != nil {
		return k, err
	}
	err = arm.says.Decode(&k)
	return k, errors.Join(err, arm.cmd.Wait())
}

// childProcess is a running part.
type childProcess struct {
	cmd  *exec.Cmd
	says *json.Decoder
}

// startChild starts this program again. Both arms look after their connections alike: pings of client-go's transports come
// from the environment.
func startChild(ctx context.Context, p part) (*childProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	s := &childProcess{cmd: exec.CommandContext(ctx, self, os.Args[1:]...)}
	s.cmd.Env = append(os.Environ(), partVariable+"="+string(text), "HTTP2_READ_IDLE_TIMEOUT_SECONDS=8", "HTTP2_PING_TIMEOUT_SECONDS=5")
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.says = json.NewDecoder(out)
	return s, s.cmd.Start()
}

// runChild runs the part of a child process.
func runChild(ctx context.Context, text string) error {
	var p part
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return fmt.Errorf("read %s: %w", partVariable, err)
	}
	if p.Name == serverPart {
		return serveFake(ctx)
	}
	openAll := p.openOurs
	if p.Name == theirPart {
		openAll = p.openReflectors
	}
	k, err := p.measureOpen(ctx, openAll)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(k)
}

// measureOpen opens all watches, and measures their cost.
func (p part) measureOpen(ctx context.Context, openAll func(context.Context) error) (measurement, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if p.Profiles != "" {
		runtime.MemProfileRate = profileRate
	}
	before, goroutines := memoryInUse("", ""), runtime.NumGoroutine()
	debug.FreeOSMemory()
	k := measurement{Base: residentMemory()}
	began := time.Now()
	if err := openAll(ctx); err != nil {
		return k, err
	}
	if err := p.awaitOpen(ctx, &k); err != nil {
		return k, err
	}
	k.Opening = time.Since(began).Seconds()
	time.Sleep(settleTime)
	k.Begun = residentMemory() - k.Base
	now := memoryInUse(p.Profiles, p.Name).less(before)
	k.Heap, k.Stacks, k.Goroutines = now.heap, now.stacks, float64(runtime.NumGoroutine()-goroutines)
	debug.FreeOSMemory()
	k.Resident = residentMemory() - k.Base
	used := ownCPU()
	time.Sleep(time.Duration(p.Seconds) * time.Second)
	k.CPU = (ownCPU() - used).Seconds()
	return k, p.awaitOpen(ctx, &k)
}

// residentMemory is the resident memory of this process.
func residentMemory() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err) // it is always there
	}
	_, line, _ := strings.Cut(string(text), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(line)[0])
	if err != nil {
		panic(err)
	}
	return float64(kib) * 1024
}

// awaitOpen waits until the server has every watch.
func (p part) awaitOpen(ctx context.Context, k *measurement) error {
	want := float64(p.Clusters * watchesPerCluster)
	for range 600 {
		if err := p.askOpen(ctx, k); err != nil {
			return err
		}
		if k.Watches == want {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("the server has %.0f watches, not %.0f", k.Watches, want)
}

// askOpen asks by a connection of its own, which is not counted.
func (p part) askOpen(ctx context.Context, k *measurement) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.CA)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Host+"/open", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := client.Do(ask)
	if err != nil {
		return err
	}
	var open [2]float64
	err = json.NewDecoder(answer.Body).Decode(&open)
	k.Watches, k.Connections = open[0], open[1]-1
	return errors.Join(err, answer.Body.Close())
}

// report prints what each watch takes, and what a process would that keeps those of a fleet.
func (p part) report(took map[string][]measurement) {
	fmt.Printf("\n%d clusters played by one server, %d watches each, %d objects in each; medians (least–most) over what the process held before\n\n",
		p.Clusters, watchesPerCluster, objectsPerKind)
	rows := []struct {
		what, form, unit string
		of               func(measurement) float64
	}{
		{"goroutines for each watch", "%.2f", "", func(k measurement) float64 { return k.Goroutines / k.Watches }},
		{"heap for each watch", "%.1f", " KB", func(k measurement) float64 { return k.Heap / k.Watches / 1e3 }},
		{"stacks for each watch", "%.1f", " KB", func(k measurement) float64 { return k.Stacks / k.Watches / 1e3 }},
		{"resident for each watch, just after the last began", "%.1f", " KB", func(k measurement) float64 { return k.Begun / k.Watches / 1e3 }},
		{"resident for each watch, garbage given back", "%.1f", " KB", func(k measurement) float64 { return k.Resident / k.Watches / 1e3 }},
		{"connections", "%.0f", "", func(k measurement) float64 { return k.Connections }},
		{"until all are open", "%.1f", " s", func(k measurement) float64 { return k.Opening }},
		{"CPU at rest, of a core", "%.2f", " %", func(k measurement) float64 { return p.cpuShare(k) }},
		{"resident before the first watch", "%.0f", " MiB", func(k measurement) float64 { return k.Base / (1 << 20) }},
		{fmt.Sprintf("%d clusters: resident, just after the last began", fleetSize), "%.0f", " MiB", func(k measurement) float64 { return fleetMemory(k, k.Begun) }},
		{fmt.Sprintf("%d clusters: resident, garbage given back", fleetSize), "%.0f", " MiB", func(k measurement) float64 { return fleetMemory(k, k.Resident) }},
		{fmt.Sprintf("%d clusters: CPU at rest, of a core", fleetSize), "%.1f", " %", func(k measurement) float64 { return p.cpuShare(k) / k.Watches * fleetSize * watchesPerCluster }},
	}
	var lines [][]any
	for _, r := range rows {
		cells := []any{r.what}
		for _, arm := range []string{ourPart, theirPart} {
			values := make([]float64, len(took[arm]))
			for i, k := range took[arm] {
				values[i] = r.of(k)
			}
			cells = append(cells, spreadAs(values, r.form, r.unit))
		}
		lines = append(lines, cells)
	}
	table([]any{"what", ourPart, theirPart}, lines)
}

// spreadAs is spread, with numbers in a form of their own.
func spreadAs(values []float64, form, unit string) string {
	if len(values) == 0 {
		return "–"
	}
	return fmt.Sprintf(form+"%s ("+form+"–"+form+")", median(values), unit, slices.Min(values), slices.Max(values))
}

// cpuShare is the part of a core that was used at rest, in percent.
func (p part) cpuShare(k measurement) float64 { return 100 * k.CPU / float64(p.Seconds) }

// fleetMemory is what a process would have that keeps the watches of a fleet, in MiB, if each took what it takes here.
func fleetMemory(k measurement, resident float64) float64 {
	return (k.Base + resident/k.Watches*fleetSize*watchesPerCluster) / (1 << 20)
}
