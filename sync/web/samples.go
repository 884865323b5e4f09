package web

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkwright/linkwright/api"
)

// samples are the label values of the metrics that have some for each link or cluster, by name of the metric and by values. Names of clusters
// contain no comma.
type samples map[string]map[string]bool

// SeriesOfLink returns how many series of linkwright's a link has at most.
func SeriesOfLink() int { return seriesWith("target") }

// SeriesOfCluster returns how many series a cluster has at most, beside those of its links and linkwright_requests_total.
func SeriesOfCluster() int { return seriesWith("cluster") }

// seriesWith counts the series of the metrics whose last label that is.
func seriesWith(label string) (n int) {
	for _, d := range Metrics() {
		switch {
		case d.Name == requestsTotal || len(d.Labels) == 0 || d.Labels[len(d.Labels)-1] != label:
		case d.Type == histogram:
			n += len(buckets(d.Name)) + 3 // the bucket for all, the sum and the count
		default:
			n++
		}
	}
	return n
}

// note notes that a metric has a sample with these label values.
func (s samples) note(name string, labels ...string) {
	if s[name] == nil {
		s[name] = map[string]bool{}
	}
	s[name][strings.Join(labels, ",")] = true
}

// sample sets a gauge of a link or of a cluster, and notes it.
func (m *metrics) sample(now samples, name string, v float64, labels ...string) {
	now.note(name, labels...)
	m.set(name, v, labels...)
}

// forget deletes the samples of links and clusters that are gone, so that no more exist than there are links and clusters now.
func (m *metrics) forget(now samples) {
	for name, all := range m.known {
		for labels := range all {
			if !now[name][labels] {
				m.delete(name, strings.Split(labels, ",")...)
			}
		}
	}
	m.known = now
}

func (m *metrics) delete(name string, labels ...string) {
	switch {
	case m.gauges[name] != nil:
		m.gauges[name].DeleteLabelValues(labels...)
	case m.counters[name] != nil:
		m.counters[name].DeleteLabelValues(labels...)
	case m.times[name] != nil:
		m.times[name].DeleteLabelValues(labels...)
	}
}

// Reconciled implements sync.Meter.
func (s *Server) Reconciled(cluster api.ClusterName, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.metrics.known.note(reconcileDuration, string(cluster))
	s.metrics.times[reconcileDuration].WithLabelValues(string(cluster)).Observe(took.Seconds())
}

// Measure implements sync.Meter.
func (s *Server) Measure(queued func() int) (stop func()) {
	s.metrics.queue.set(queued)
	return func() { s.metrics.queue.set(nil) }
}

// queue collects the depth of the queue whenever metrics are requested, while this process leads.
type queue struct {
	desc *prometheus.Desc

	mu     sync.Mutex
	queued func() int // nil: there is no queue
}

func (q *queue) set(queued func() int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queued = queued
}

// Describe implements prometheus.Collector.
func (q *queue) Describe(to chan<- *prometheus.Desc) { to <- q.desc }

// Collect implements prometheus.Collector.
func (q *queue) Collect(to chan<- prometheus.Metric) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queued != nil {
		to <- prometheus.MustNewConstMetric(q.desc, prometheus.GaugeValue, float64(q.queued()))
	}
}
