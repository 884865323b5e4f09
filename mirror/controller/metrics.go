package controller

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkwright/linkwright/mirror/probe"
)

// metrics are those of all links, by Linkerd's names and labels where Linkerd has them (linkerd2 multicluster/service-mirror/metrics.go).
type metrics struct {
	probes    *probe.Registry
	repairs   *prometheus.CounterVec
	connected *prometheus.GaugeVec
}

func newMetrics(r *probe.Registrar) *metrics {
	const target = "target_cluster_name"
	return &metrics{
		probes:    probe.NewRegistry(r),
		repairs:   r.Counter("service_mirror_endpoint_repairs", "Changes of the target's gateway that were written to the Endpoints of mirrors.", target),
		connected: r.Gauge("linkwright_mirror_target_connected", "1 while the target is watched by the credential and the selectors of its Link, 0 otherwise.", target),
	}
}

// Metrics lists the metrics of a Controller, sorted by name.
func Metrics() []probe.Description {
	r := &probe.Registrar{Registerer: prometheus.NewRegistry()}
	newMetrics(r)
	slices.SortFunc(r.Descriptions, func(a, b probe.Description) int { return cmp.Compare(a.Name, b.Name) })
	return r.Descriptions
}

// forget removes the metrics of a link that is gone.
func (m *metrics) forget(link string) {
	m.probes.Forget(link)
	m.repairs.DeleteLabelValues(link)
	m.connected.DeleteLabelValues(link)
}
