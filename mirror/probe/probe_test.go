package probe

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkwright/linkwright/render/linkerd"
)

// gateway answers probes, or does not.
type gateway struct {
	mu     sync.Mutex
	status int // 0: it never answers
	probes []time.Time
}

var errReset = errors.New("connection reset")

func (g *gateway) RoundTrip(q *http.Request) (*http.Response, error) {
	g.mu.Lock()
	status := g.status
	g.probes = append(g.probes, time.Now())
	g.mu.Unlock()
	switch {
	case status == 0:
		<-q.Context().Done()
		return nil, q.Context().Err()
	case status < 0:
		return nil, errReset
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: http.NoBody}, nil
}

func (g *gateway) set(status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.status = status
}

func (g *gateway) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.probes)
}

// probed runs a Prober of a gateway in a bubble of its own time, and counts the calls of changed.
func probed(t *testing.T, g *gateway, f func(p *Prober, metrics *prometheus.Registry, changes *atomic.Int32)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var changes atomic.Int32
		metrics := prometheus.NewRegistry()
		p := New(g, NewRegistry(&Registrar{Registerer: metrics}).Of("east"), func() { changes.Add(1) })
		done := make(chan struct{})
		go func() { p.Run(ctx); close(done) }()
		f(p, metrics, &changes)
		stop()
		<-done
	})
}

// valueOf is the value of a metric that has one target.
func valueOf(t *testing.T, metrics *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func everyThree() Spec {
	return Spec{URL: "http://probe-east:4191/ready", Period: 3 * time.Second, Timeout: 2 * time.Second, Threshold: 3}
}

// TestDead: the gateway is dead after as many failures as its threshold, however it fails, and alive again after one success. It need not have been
// alive before.
func TestDead(t *testing.T) {
	for name, status := range map[string]int{"it does not answer": 0, "it resets": -1, "503": http.StatusServiceUnavailable, "a redirect": http.StatusFound} {
		t.Run(name, func(t *testing.T) {
			g := &gateway{status: status}
			probed(t, g, func(p *Prober, metrics *prometheus.Registry, changes *atomic.Int32) {
				dies(t, p, g)
				if got := valueOf(t, metrics, "gateway_alive"); got != 0 || changes.Load() != 1 {
					t.Errorf("gateway_alive is %v, want 0, after %d changes, want 1", got, changes.Load())
				}
				g.set(http.StatusOK)
				time.Sleep(6 * time.Second)
				if p.Dead() != nil || changes.Load() != 2 {
					t.Errorf("after a success: dead %v, %d changes", p.Dead(), changes.Load())
				}
			})
		})
	}
}

// dies waits for three failures, of which the last shows that the gateway is dead.
func dies(t *testing.T, p *Prober, g *gateway) {
	t.Helper()
	p.Set(everyThree())
	for g.count() < 3 {
		if p.Dead() != nil {
			t.Fatalf("dead after %d probes, want 3", g.count())
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(2100 * time.Millisecond) // until the last has failed
	if p.Dead() == nil {
		t.Error("not dead after three failures")
	}
}

// TestNotDead: fewer failures than the threshold change nothing, also again and again.
func TestNotDead(t *testing.T) {
	g := &gateway{status: http.StatusOK}
	probed(t, g, func(p *Prober, _ *prometheus.Registry, changes *atomic.Int32) {
		p.Set(everyThree())
		for range 10 {
			for _, status := range []int{-1, -1, http.StatusOK} {
				g.set(status)
				for before := g.count(); g.count() == before; {
					time.Sleep(10 * time.Millisecond)
				}
			}
		}
		if p.Dead() != nil || changes.Load() != 0 {
			t.Errorf("dead %v, %d changes", p.Dead(), changes.Load())
		}
	})
}

// TestEdited: an edit of the Link probes at once, and a dead gateway stays dead until a probe succeeds. Without a probe, it counts as alive.
func TestEdited(t *testing.T) {
	g := &gateway{status: -1}
	probed(t, g, func(p *Prober, _ *prometheus.Registry, changes *atomic.Int32) {
		p.Set(everyThree())
		time.Sleep(10 * time.Second)
		slow := everyThree()
		slow.Period = time.Hour
		before := g.count()
		p.Set(slow)
		synctest.Wait()
		if p.Dead() == nil || g.count() != before+1 {
			t.Errorf("after an edit: dead %v, %d probes at once, want 1", p.Dead(), g.count()-before)
		}
		p.Set(slow)
		synctest.Wait()
		if g.count() != before+1 {
			t.Error("the same Spec is probed at once")
		}
		p.Set(Spec{})
		synctest.Wait()
		if p.Dead() != nil || changes.Load() != 2 {
			t.Errorf("without a probe: dead %v, %d changes, want 2", p.Dead(), changes.Load())
		}
		before = g.count()
		time.Sleep(3 * time.Hour)
		if g.count() != before {
			t.Error("it is probed nevertheless")
		}
	})
}

// TestPeriod: from one probe to the next it takes the period, give or take a tenth, and not always as long.
func TestPeriod(t *testing.T) {
	g := &gateway{status: http.StatusOK}
	probed(t, g, func(p *Prober, metrics *prometheus.Registry, _ *atomic.Int32) {
		p.Set(everyThree())
		time.Sleep(10 * time.Minute)
		g.mu.Lock()
		probes := slices.Clone(g.probes)
		g.mu.Unlock()
		var gaps []time.Duration
		for i := range probes[1:] {
			gaps = append(gaps, probes[i+1].Sub(probes[i]))
		}
		if least, most := slices.Min(gaps), slices.Max(gaps); least < 2700*time.Millisecond || most > 3300*time.Millisecond || most-least < 300*time.Millisecond {
			t.Errorf("%d probes, %s to %s apart, want 2.7s to 3.3s", len(probes), least, most)
		}
		if got := valueOf(t, metrics, "gateway_probes"); int(got) != len(probes) {
			t.Errorf("gateway_probes is %v, want %d", got, len(probes))
		}
	})
}

// TestServer: a probe of a real server. A redirect is not followed.
func TestServer(t *testing.T) {
	for path, alive := range map[string]bool{"/ready": true, "/missing": false, "/redirect": false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			switch q.URL.Path {
			case "/redirect":
				http.Redirect(w, q, "/ready", http.StatusFound)
			case "/missing":
				http.NotFound(w, q)
			}
		}))
		p := New(http.DefaultTransport, NewRegistry(&Registrar{Registerer: prometheus.NewRegistry()}).Of("east"), func() {})
		p.take(t.Context(), Spec{URL: server.URL + path, Timeout: time.Minute, Threshold: 1})
		server.Close()
		if (p.Dead() == nil) != alive {
			t.Errorf("%s: dead %v", path, p.Dead())
		}
	}
}

// TestForget: the metrics of a target go with its Link.
func TestForget(t *testing.T) {
	all := prometheus.NewRegistry()
	registry := NewRegistry(&Registrar{Registerer: all})
	for _, target := range []string{"east", "north"} {
		registry.Of(target).alive(true)
		registry.Of(target).probed(true, time.Second)
	}
	registry.Forget("north")
	families, err := all.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
		for _, m := range f.GetMetric() {
			if strings.Contains(m.String(), "north") {
				t.Errorf("%s has north", f.GetName())
			}
		}
	}
	if diff := cmp.Diff([]string{"gateway_alive", "gateway_latency", "gateway_probe_latency_ms", "gateway_probes"}, names); diff != "" {
		t.Errorf("metrics: -want +got\n%s", diff)
	}
}

func TestParseSpec(t *testing.T) {
	good := Fields{ProbeSpec: linkerd.ProbeSpec{Path: "/ready", Port: "4191", Period: "3s"}}
	with := func(edit func(*Fields)) *Fields {
		out := good
		edit(&out)
		return &out
	}
	defaults := Spec{URL: "http://probe-east:4191/ready", Period: 3 * time.Second, Timeout: 30 * time.Second, Threshold: 3}
	for name, c := range map[string]struct {
		in   *Fields
		want Spec
		err  string
	}{
		"none":                {nil, Spec{}, ""},
		"no path":             {&Fields{}, Spec{}, ""},
		"defaults":            {&good, defaults, ""},
		"all":                 {with(func(p *Fields) { p.Timeout, p.FailureThreshold = "1s", "5" }), Spec{URL: defaults.URL, Period: defaults.Period, Timeout: time.Second, Threshold: 5}, ""},
		"no period":           {with(func(p *Fields) { p.Period = "" }), Spec{}, `probeSpec.period of the Link: "" is not a duration above zero, such as 3s`},
		"period of zero":      {with(func(p *Fields) { p.Period = "0s" }), Spec{}, `probeSpec.period of the Link: "0s" is not`},
		"negative period":     {with(func(p *Fields) { p.Period = "-3s" }), Spec{}, `"-3s" is not a duration above zero`},
		"period without unit": {with(func(p *Fields) { p.Period = "3" }), Spec{}, `"3" is not a duration`},
		"timeout":             {with(func(p *Fields) { p.Timeout = "soon" }), Spec{}, `probeSpec.timeout of the Link: "soon"`},
		"port":                {with(func(p *Fields) { p.Port = "mc-probe" }), Spec{}, `probeSpec.port of the Link: "mc-probe" is not a number from 1 to 65535`},
		"port of zero":        {with(func(p *Fields) { p.Port = "0" }), Spec{}, `"0" is not a number from 1`},
		"threshold":           {with(func(p *Fields) { p.FailureThreshold = "0" }), Spec{}, `probeSpec.failureThreshold of the Link: "0"`},
	} {
		got, err := ParseSpec("probe-east", c.in)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v, want %q", name, err, c.err)
		}
	}
}
