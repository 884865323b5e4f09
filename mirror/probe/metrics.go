package probe

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	targetLabel  = "target_cluster_name"
	successLabel = "probe_successful"
)

// Registry has the metrics of all targets, by Linkerd's names and labels (linkerd2 multicluster/service-mirror/metrics.go).
type Registry struct {
	alive, latency *prometheus.GaugeVec
	latencies      *prometheus.HistogramVec
	probes         *prometheus.CounterVec
}

// NewRegistry registers the metrics.
func NewRegistry(r *Registrar) *Registry {
	return &Registry{
		alive:     r.Gauge("gateway_alive", "1 while the target's gateway is alive, or is not probed, 0 otherwise.", targetLabel),
		latency:   r.Gauge("gateway_latency", "Milliseconds that the last successful probe took.", targetLabel),
		latencies: r.Histogram("gateway_probe_latency_ms", "Milliseconds that successful probes took.", prometheus.ExponentialBuckets(1, 2, 16), targetLabel),
		probes:    r.Counter("gateway_probes", "Probes of the target's gateway.", targetLabel, successLabel),
	}
}

// Of returns the metrics of one target.
func (r *Registry) Of(target string) Metrics { return Metrics{r, target} }

// Forget removes the metrics of a target that has no Link any more.
func (r *Registry) Forget(target string) {
	all := prometheus.Labels{targetLabel: target}
	r.alive.DeletePartialMatch(all)
	r.latency.DeletePartialMatch(all)
	r.latencies.DeletePartialMatch(all)
	r.probes.DeletePartialMatch(all)
}

// Metrics are those of one target.
type Metrics struct {
	registry *Registry
	target   string
}

func (m Metrics) alive(yes bool) {
	value := 0.0
	if yes {
		value = 1
	}
	m.registry.alive.WithLabelValues(m.target).Set(value)
}

// probed counts a probe. Only one that succeeded has a latency.
func (m Metrics) probed(ok bool, took time.Duration) {
	m.registry.probes.WithLabelValues(m.target, strconv.FormatBool(ok)).Inc()
	if ms := float64(took) / float64(time.Millisecond); ok {
		m.registry.latency.WithLabelValues(m.target).Set(ms)
		m.registry.latencies.WithLabelValues(m.target).Observe(ms)
	}
}
