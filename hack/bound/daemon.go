package bound

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/linkwright/linkwright/api"
)

// Daemon is a daemon to measure.
type Daemon struct {
	Dir     string        // for the repository and a kubeconfig
	Program string        // linkwright
	Links   int           // that the clusters have
	Env     []string      // more variables
	Settle  time.Duration // nothing is written for so long once everything is
	Rest    time.Duration // how long it is then at rest
	Log     func(format string, a ...any)
}

// Prepare declares clusters with these addresses of API servers, called as Name calls them, in a repository, and writes the kubeconfig of the
// management cluster.
func (d Daemon) Prepare(ctx context.Context, hosts []string, management []byte) error {
	var text strings.Builder
	for i, host := range hosts {
		fmt.Fprintf(&text, "---\napiVersion: %s\nkind: Cluster\nmetadata: {name: %s, labels: {mesh: all}}\nspec: {access: {kubeconfigSecret: {name: %s}}, apiServer: '%s'}\n",
			api.GroupVersion, Name(i), Name(i), host)
	}
	fmt.Fprintf(&text, "---\napiVersion: %s\nkind: Mesh\nmetadata: {name: all}\nspec: {clusters: {matchLabels: {mesh: all}}}\n", api.GroupVersion)
	repo := filepath.Join(d.Dir, "fleet")
	err := errors.Join(os.MkdirAll(repo, 0o700), os.WriteFile(filepath.Join(repo, "fleet.yaml"), []byte(text.String()), 0o600),
		os.WriteFile(filepath.Join(d.Dir, "management.yaml"), management, 0o600))
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=b", "-c", "user.email=b@example.com", "commit", "-qm", "one"}} {
		if err == nil {
			err = exec.CommandContext(ctx, "git", append([]string{"-C", repo}, args...)...).Run()
		}
	}
	return err
}

// Memory is what a process took, in bytes, and how long it was until its last write.
type Memory struct {
	Peak, Rest float64 // resident: at most, and at rest
	Live       float64 // heap that the last garbage collection left
	PeakLive   float64 // the most that one left
	Written    time.Duration
	Ready      time.Duration // until all links were reported as ready; zero: they never were
	CPU        float64       // of a core, at rest
}

func (m Memory) String() string {
	const mib = 1 << 20
	text := fmt.Sprintf("resident %.0f MiB at most, %.0f MiB at rest; live heap %.0f MiB at most, %.0f MiB at rest; settled after %s; %.2f %% of a core at rest",
		m.Peak/mib, m.Rest/mib, m.PeakLive/mib, m.Live/mib, m.Written.Round(100*time.Millisecond), 100*m.CPU)
	if m.Ready > 0 {
		text += fmt.Sprintf("; all links ready after %s", m.Ready.Round(100*time.Millisecond))
	}
	return text
}

// Measure runs a daemon until it has written everything and it has been at rest for a while.
func (d Daemon) Measure(ctx context.Context) (m Memory, err error) {
	listen, err := freeAddress(ctx)
	if err != nil {
		return m, err
	}
	c := exec.CommandContext(ctx, d.Program, "run", "--repo", filepath.Join(d.Dir, "fleet"), "--allow-file-repo", //nolint:gosec // our own
		"--kubeconfig", filepath.Join(d.Dir, "management.yaml"), "--listen", listen, "--log-level", "error", "--max-links", strconv.Itoa(d.Links))
	c.Env = append(append(os.Environ(), "GODEBUG=gctrace=1"), d.Env...)
	out, err := c.StderrPipe()
	if err != nil {
		return m, err
	}
	began := time.Now()
	if err := c.Start(); err != nil {
		return m, err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		m.readTrace(out, d.Log)
	}()
	seen, err := d.awaitSettled(ctx, listen)
	m.Written = seen.settled.Sub(began)
	if !seen.ready.IsZero() {
		m.Ready = seen.ready.Sub(began)
	}
	if err == nil {
		before := processorTime(c.Process.Pid)
		time.Sleep(d.Rest)
		m.CPU = (processorTime(c.Process.Pid) - before).Seconds() / d.Rest.Seconds()
		m.Peak, m.Rest, err = residentOf(c.Process.Pid)
	}
	err = errors.Join(err, c.Process.Signal(syscall.SIGTERM))
	<-read
	return m, errors.Join(err, c.Wait())
}

// freeAddress is an address on which nothing listens.
func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// readTrace reads how much each garbage collection left.
func (m *Memory) readTrace(out io.Reader, log func(string, ...any)) {
	trace := regexp.MustCompile(`^gc \d+ @.* \d+->\d+->(\d+) MB`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		found := trace.FindStringSubmatch(lines.Text())
		if found == nil {
			log("%s", lines.Text())
			continue
		}
		mib, _ := strconv.Atoi(found[1]) // digits
		m.Live = float64(mib) * (1 << 20)
		m.PeakLive = max(m.PeakLive, m.Live)
	}
}

// times are moments in the life of a daemon, as its metrics showed them.
type times struct {
	settled time.Time // of the last change
	ready   time.Time // all links were ready; zero: they never were
}

// awaitSettled asks for metrics until they have all links, and nothing was written for a while. Links become ready only if something plays Linkerd's
// controllers.
func (d Daemon) awaitSettled(ctx context.Context, listen string) (t times, err error) {
	synced := regexp.MustCompile(`(?m)^linkwright_last_sync_timestamp_seconds [1-9]`)
	for last := ""; ; time.Sleep(d.Settle / 16) {
		if ctx.Err() != nil {
			return t, ctx.Err()
		}
		text := metricsOf(ctx, listen)
		now, links, ready := figuresOf(text)
		if ready == d.Links && t.ready.IsZero() {
			t.ready = time.Now()
		}
		switch {
		case now != last:
			d.Log("%s", now)
			last, t.settled = now, time.Now()
		case links == d.Links && synced.MatchString(text) && time.Since(t.settled) > d.Settle:
			return t, nil
		}
	}
}

// figuresOf are the metrics that change until all is written, and the links among them: all, and those that are ready.
func figuresOf(text string) (now string, links, ready int) {
	figures := regexp.MustCompile(`(?m)^linkwright_(?:links|writes_total)\{.*\} (.+)$`)
	for _, f := range figures.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.ParseFloat(f[1], 64) // a figure
		if n == 0 {
			continue
		}
		now += f[0] + " "
		if strings.HasPrefix(f[0], "linkwright_links") {
			links += int(n)
		}
		if strings.HasPrefix(f[0], `linkwright_links{status="Ready"}`) {
			ready = int(n)
		}
	}
	return now, links, ready
}

func metricsOf(ctx context.Context, listen string) string {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listen+"/metrics", http.NoBody)
	if err != nil {
		return ""
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return "" // it does not listen yet
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}

// processorTime is what a process has used of the processors.
func processorTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // after the name, which may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11]) // in hundredths of a second: proc(5)
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// residentOf are the most and the current resident memory of a process.
func residentOf(pid int) (most, now float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			most = kib * 1024
		}
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
			now = kib * 1024
		}
	}
	return most, now, nil
}
