package web

import (
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/sync/report"
)

// Metric is one metric of linkwright, as documented. Those of the Go runtime and of the process come beside them.
type Metric struct {
	Name, Type, Help string
	Labels           []string
}

const (
	gauge     = "gauge"
	counter   = "counter"
	histogram = "histogram"

	linkReady         = "linkwright_link_ready"
	linkReadySince    = "linkwright_link_ready_transition_timestamp_seconds"
	credentialIssued  = "linkwright_link_credential_issued_timestamp_seconds"
	credentialExpires = "linkwright_link_credential_expiry_timestamp_seconds"
	linkDrift         = "linkwright_link_drift_repairs_total"
	linkCleanup       = "linkwright_link_pending_cleanup_timestamp_seconds"
	clusterPaused     = "linkwright_cluster_paused"
	clusterReady      = "linkwright_cluster_ready"
	reconcileDuration = "linkwright_reconcile_duration_seconds"
	rolloutWorkloads  = "linkwright_rollout_workloads"
	syncDuration      = "linkwright_sync_duration_seconds"
	queueDepth        = "linkwright_queue_depth"
	requestsTotal     = "linkwright_requests_total"
)

// Metrics lists every metric of linkwright, sorted by name.
func Metrics() []Metric {
	return []Metric{
		{"linkwright_build_info", gauge, "Always 1; the label shows the version.", []string{"version"}},
		{clusterPaused, gauge, "1 while somebody has paused the cluster from inside, with the annotation linkwright.dev/paused, 0 otherwise.", []string{"cluster"}},
		{clusterReady, gauge, "1 while linkwright reads the cluster and may write to it, 0 while its status is Unknown or Denied.", []string{"cluster"}},
		{"linkwright_clusters", gauge, "Clusters by status: Ready, Unknown (unreachable, or linkwright may not read it) or Denied (read, and a rule forbids writes).", []string{"status"}},
		{"linkwright_drift_repairs_total", counter, "Writes that reverted a change of somebody else in an object of linkwright.", nil},
		{"linkwright_hook_requests_total", counter, "Requests to /hook by result: accepted, ping, refused (signature), large, cut (body), limited, standby or error (secret).", []string{"result"}},
		{"linkwright_last_sync_timestamp_seconds", gauge, "When the last sync ended, as a Unix time; 0 before the first.", nil},
		{"linkwright_leading", gauge, "1 while this replica may write, 0 while it is on standby.", nil},
		{credentialExpires, gauge, "When the link's token expires, as a Unix time; absent for a token that does not expire, or that does not show it.", []string{"source", "target"}},
		{credentialIssued, gauge, "When the link's token was issued, as a Unix time; absent if that is not known.", []string{"source", "target"}},
		{linkDrift, counter, "Writes that reverted a change of somebody else in an object of this link.", []string{"source", "target"}},
		{linkCleanup, gauge, "Since when a removed link waits to be removed from a cluster that cannot be read, as a Unix time; absent otherwise.", []string{"cluster", "source", "target"}},
		{linkReady, gauge, "1 while the link's condition Ready is True, 0 while it is not, or is unknown; absent for a link that is being removed.", []string{"source", "target"}},
		{linkReadySince, gauge, "When the link's condition Ready got its status and reason, as a Unix time; absent while its inventory records another status.", []string{"source", "target"}},
		{"linkwright_links", gauge, "Links by status after the last sync.", []string{"status"}},
		{"linkwright_oldest_pending_cleanup_timestamp_seconds", gauge, "When the oldest pending cleanup began, as a Unix time; 0: nothing is pending.", nil},
		{"linkwright_pending_cleanup", gauge, "Ends of removed links that are still in clusters that cannot be read.", nil},
		{"linkwright_problems", gauge, "Errors and warnings about the declarations in the last sync.", []string{"severity"}},
		{queueDepth, gauge, "Clusters that are due to be reconciled and wait, for their own last reconcile or for a sync to decide what applies.", nil},
		{reconcileDuration, histogram, "How long reconciles of the cluster took: reading, planning and writing.", []string{"cluster"}},
		{requestsTotal, counter, "Requests sent to a cluster, by verb, by code (2xx, 4xx, 429, 5xx, none: no answer) and by what they are about: objects, credentials (single Secrets of the control plane), or the lease or the events of the management cluster. The cluster (management) is the management cluster itself.", []string{"cluster", "verb", "code", "about"}},
		{"linkwright_revision_applied", gauge, "1 while the observed revision is the applied one, 0 while an older one or none is: see the report.", nil},
		{rolloutWorkloads, gauge, "Workloads whose owners let linkwright restart them, by state: current, restarting, outdated, failing or unknown; absent without a rollout.", []string{"cluster", "state"}},
		{"linkwright_source_last_poll_timestamp_seconds", gauge, "When linkwright last read the repository for a sync, as a Unix time; 0 before the first.", nil},
		{syncDuration, histogram, "How long syncs took, waiting for tokens, pods and mirrors included.", nil},
		{"linkwright_syncs_total", counter, "Syncs by result: clean, partial (something is blocked, denied or failed) or failed (no declarations could be read).", []string{"result"}},
		{"linkwright_writes_total", counter, "Writes to clusters by result: written or failed.", []string{"result"}},
	}
}

// metrics are those of one server, in a registry of its own.
type metrics struct {
	registry *prometheus.Registry
	gauges   map[string]*prometheus.GaugeVec
	counters map[string]*prometheus.CounterVec
	times    map[string]*prometheus.HistogramVec
	queue    *queue
	known    samples // of links and clusters; guarded by Server.mu
}

// newMetrics makes what Metrics lists, so that the two cannot differ.
func newMetrics(o Options) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		gauges:   map[string]*prometheus.GaugeVec{},
		counters: map[string]*prometheus.CounterVec{},
		times:    map[string]*prometheus.HistogramVec{},
		queue:    &queue{},
		known:    samples{},
	}
	for _, d := range Metrics() {
		m.make(d, o)
	}
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector(),
	)
	m.set("linkwright_build_info", 1, o.Version)
	m.set("linkwright_last_sync_timestamp_seconds", 0)
	m.set("linkwright_source_last_poll_timestamp_seconds", 0)
	for _, result := range []string{"clean", "partial", "failed"} {
		m.add("linkwright_syncs_total", 0, result)
	}
	for result := range hookResults() {
		m.add("linkwright_hook_requests_total", 0, result)
	}
	m.add("linkwright_writes_total", 0, "written")
	m.add("linkwright_writes_total", 0, "failed")
	m.add("linkwright_drift_repairs_total", 0)
	return m
}

func (m *metrics) make(d Metric, o Options) {
	switch {
	case d.Name == requestsTotal:
		m.registry.MustRegister(sent{prometheus.NewDesc(d.Name, d.Help, d.Labels, nil), o.Requests})
	case d.Name == queueDepth:
		m.queue.desc = prometheus.NewDesc(d.Name, d.Help, d.Labels, nil)
		m.registry.MustRegister(m.queue)
	case d.Type == gauge:
		m.gauges[d.Name] = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.Help}, d.Labels)
		m.registry.MustRegister(m.gauges[d.Name])
	case d.Type == counter:
		m.counters[d.Name] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.Labels)
		m.registry.MustRegister(m.counters[d.Name])
	case d.Type == histogram:
		m.times[d.Name] = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: buckets(d.Name)}, d.Labels)
		m.registry.MustRegister(m.times[d.Name])
	}
}

// buckets returns the bounds of a histogram in seconds: of reconciles few, since each cluster has its own.
func buckets(name string) []float64 {
	if name == reconcileDuration {
		return prometheus.ExponentialBuckets(0.01, 4, 8) // up to 3 min, for a cluster that hardly answers
	}
	return prometheus.ExponentialBuckets(0.1, 2, 13) // 0.1 s (nothing to do) to 7 min (unlinks that wait for mirrors)
}

func (m *metrics) set(name string, v float64, labels ...string) {
	m.gauges[name].WithLabelValues(labels...).Set(v)
}

func (m *metrics) add(name string, n int, labels ...string) {
	m.counters[name].WithLabelValues(labels...).Add(float64(n))
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// lead: what a former leader saw last would stand beside what its successor sees.
func (m *metrics) lead(leading bool) {
	if leading {
		m.set("linkwright_leading", 1)
		return
	}
	m.set("linkwright_leading", 0)
	for _, d := range Metrics() {
		if ofLeader(d) {
			m.gauges[d.Name].Reset()
		}
	}
	m.forget(samples{})
}

// ofLeader reports whether a metric shows what only the leader knows now.
func ofLeader(d Metric) bool {
	return d.Type == gauge && !slices.Contains([]string{
		"linkwright_build_info", "linkwright_leading", "linkwright_last_sync_timestamp_seconds", "linkwright_source_last_poll_timestamp_seconds", queueDepth,
	}, d.Name)
}

// count adds what was done since the last report; a report between syncs is of none.
func (m *metrics) count(r report.Report, now time.Time) {
	c := r.Counts()
	m.add("linkwright_writes_total", c.Written, "written")
	m.add("linkwright_writes_total", c.Failed, "failed")
	m.repairs(r)
	if r.When != report.AtEnd {
		return
	}
	m.add("linkwright_syncs_total", 1, result(r))
	m.set("linkwright_last_sync_timestamp_seconds", float64(now.UnixMilli())/1000)
	if !r.Polled.IsZero() {
		m.set("linkwright_source_last_poll_timestamp_seconds", float64(r.Polled.UnixMilli())/1000)
	}
	if r.Took > 0 {
		m.times[syncDuration].WithLabelValues().Observe(r.Took.Seconds())
	}
}

// show sets how things stand.
func (m *metrics) show(r report.Report) {
	now := samples{}
	m.statuses(r)
	m.links(r, now)
	m.clusters(r, now)
	m.cleanup(r, now)
	m.problems(r)
	m.head(r)
	m.forget(now)
}

// repairs counts the writes by which drift was taken back: all, and those to the objects of each link.
func (m *metrics) repairs(r report.Report) {
	for _, c := range r.Clusters {
		for _, o := range c.Outcomes {
			if o.Err != nil || o.Change.Why.Code != reason.Drift {
				continue
			}
			m.add("linkwright_drift_repairs_total", 1)
			if end := o.Change.End; !end.IsBase() {
				m.add(linkDrift, 1, string(end.Link.Source), string(end.Link.Target))
				m.known.note(linkDrift, string(end.Link.Source), string(end.Link.Target))
			}
		}
	}
}

func result(r report.Report) string {
	switch {
	case r.Err != "":
		return "failed"
	case r.Clean():
		return "clean"
	}
	return "partial"
}

// statuses sets every status, also those of no link: an alert on one must not wait for it to appear.
func (m *metrics) statuses(r report.Report) {
	n := map[string]int{}
	for _, l := range report.Links(r) {
		n[string(l.Status())]++
	}
	for _, s := range report.Statuses() {
		m.set("linkwright_links", float64(n[string(s)]), string(s))
	}
}

// links sets the samples of each link that is not being removed.
func (m *metrics) links(r report.Report, now samples) {
	for _, l := range report.Links(r) {
		if l.Leaving {
			continue
		}
		pair := []string{string(l.Pair.Source), string(l.Pair.Target)}
		m.sample(now, linkReady, oneIf(l.Source.Ready()), pair...)
		times := l.Source.Times
		for name, at := range map[string]time.Time{
			linkReadySince: times.Ready, credentialIssued: times.Credential.Issued, credentialExpires: times.Credential.Expires,
		} {
			if !at.IsZero() {
				m.sample(now, name, float64(at.Unix()), pair...)
			}
		}
		m.add(linkDrift, 0, pair...)
		now.note(linkDrift, pair...)
	}
}

func (m *metrics) head(r report.Report) {
	m.set("linkwright_revision_applied", oneIf(r.Commit != "" && r.Commit == r.Head))
}

// oneIf is a truth as a sample.
func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (m *metrics) clusters(r report.Report, now samples) {
	n := map[report.Status]int{}
	for _, c := range r.Clusters {
		n[c.Status()]++
		m.sample(now, clusterReady, oneIf(c.Status() == report.Ready), string(c.Name))
		m.sample(now, clusterPaused, oneIf(c.Paused), string(c.Name))
		if r := c.Step.Rollout; r != nil && r.Declared != nil && !r.Progress.At.IsZero() {
			m.workloads(now, string(c.Name), r.Progress.Counts)
		}
		now.note(reconcileDuration, string(c.Name))
	}
	for _, s := range report.ClusterStatuses() {
		m.set("linkwright_clusters", float64(n[s]), string(s))
	}
}

// workloads counts the workloads of a cluster's rollout.
func (m *metrics) workloads(now samples, cluster string, n rollout.Counts) {
	for state, count := range map[string]int{
		"current": n.Current, "restarting": n.Restarting, "outdated": n.Outdated, "failing": n.Failing, "unknown": n.Unknown,
	} {
		m.sample(now, rolloutWorkloads, float64(count), cluster, state)
	}
}

func (m *metrics) cleanup(r report.Report, now samples) {
	var oldest time.Time
	for _, c := range r.Clusters {
		for _, d := range c.Cleanup {
			if oldest.IsZero() || d.Since.Before(oldest) {
				oldest = d.Since
			}
			m.sample(now, linkCleanup, float64(d.Since.Unix()), string(c.Name), string(d.Link.Source), string(d.Link.Target))
		}
	}
	m.set("linkwright_pending_cleanup", float64(r.Counts().Cleanup))
	m.set("linkwright_oldest_pending_cleanup_timestamp_seconds", 0)
	if !oldest.IsZero() {
		m.set("linkwright_oldest_pending_cleanup_timestamp_seconds", float64(oldest.Unix()))
	}
}

func (m *metrics) problems(r report.Report) {
	n := map[bool]int{}
	for _, p := range r.Problems {
		n[p.Warning]++
	}
	m.set("linkwright_problems", float64(n[false]), "error")
	m.set("linkwright_problems", float64(n[true]), "warning")
}
