// Package sandbox answers: what may a process still do that builds what others wrote? It takes from it, for good, all that a build does not
// need: files, network, other processes, root's rights, memory and time without a limit.
package sandbox

// Limits are what a process may use.
type Limits struct {
	Memory  int64 // bytes
	Seconds int64 // of processor time
}
