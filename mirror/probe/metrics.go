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
func NewRegistry(r prometheus.Registerer) *Registry {
	out := &Registry{
		alive:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "gateway_alive", Help: "1 if the target's gateway is alive."}, []string{targetLabel}),
		latency: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "gateway_latency", Help: "Milliseconds that the last successful probe took."}, []string{targetLabel}),
		latencies: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gateway_probe_latency_ms", Help: "Milliseconds that successful probes took.", Buckets: prometheus.ExponentialBuckets(1, 2, 16),
		}, []string{targetLabel}),
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "gateway_probes", Help: "Probes of the target's gateway."}, []string{targetLabel, successLabel}),
	}
	r.MustRegister(out.alive, out.latency, out.latencies, out.probes)
	return out
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
