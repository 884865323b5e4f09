package probe

import "github.com/prometheus/client_golang/prometheus"

// Description is one metric, as documented.
type Description struct {
	Name, Type, Help string
	Labels           []string
}

// Registrar makes and registers metrics, and lists what they are.
type Registrar struct {
	Registerer   prometheus.Registerer
	Descriptions []Description // in the order in which the metrics were made
}

// Gauge makes a gauge.
func (r *Registrar) Gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return register(r, Description{name, "gauge", help, labels}, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

// Counter makes a counter.
func (r *Registrar) Counter(name, help string, labels ...string) *prometheus.CounterVec {
	return register(r, Description{name, "counter", help, labels}, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

// Histogram makes a histogram with the upper bounds of its buckets.
func (r *Registrar) Histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return register(r, Description{name, "histogram", help, labels},
		prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels))
}

func register[C prometheus.Collector](r *Registrar, d Description, c C) C {
	r.Registerer.MustRegister(c)
	r.Descriptions = append(r.Descriptions, d)
	return c
}
