package controller

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkwright/linkwright/mirror/probe"
)

// metrics are those of all links, by Linkerd's names and labels where Linkerd has them (linkerd2 multicluster/service-mirror/metrics.go).
type metrics struct {
	probes    *probe.Registry
	repairs   *prometheus.CounterVec
	connected *prometheus.GaugeVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	labels := []string{"target_cluster_name"}
	m := &metrics{
		probes:    probe.NewRegistry(r),
		repairs:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "service_mirror_endpoint_repairs", Help: "Changes of the target's gateway that were written to the Endpoints of mirrors."}, labels),
		connected: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "linkwright_mirror_target_connected", Help: "1 if the target is watched by the credential and the selectors of its Link."}, labels),
	}
	r.MustRegister(m.repairs, m.connected)
	return m
}

// forget removes the metrics of a link that is gone.
func (m *metrics) forget(link string) {
	m.probes.Forget(link)
	m.repairs.DeleteLabelValues(link)
	m.connected.DeleteLabelValues(link)
}
