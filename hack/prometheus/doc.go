// Package prometheus tests what deploy/monitoring holds: alerts, their tests, and the dashboard. It is a module of its own, because Prometheus is
// as large as linkwright.
package prometheus
