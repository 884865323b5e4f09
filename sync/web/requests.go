package web

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Sent is a sort of request to a cluster, by the values of the labels of linkwright_requests_total.
type Sent struct{ Cluster, Verb, Code, About string }

// sent tells, whenever metrics are asked for, what was counted until then.
type sent struct {
	desc   *prometheus.Desc
	counts func() map[Sent]int
}

// Describe implements prometheus.Collector.
func (s sent) Describe(to chan<- *prometheus.Desc) { to <- s.desc }

// Collect implements prometheus.Collector.
func (s sent) Collect(to chan<- prometheus.Metric) {
	if s.counts == nil {
		return
	}
	for k, n := range s.counts() {
		to <- prometheus.MustNewConstMetric(s.desc, prometheus.CounterValue, float64(n), k.Cluster, k.Verb, k.Code, k.About)
	}
}
