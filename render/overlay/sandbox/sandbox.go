// Package sandbox isolates a process that builds input of others. It irrevocably removes what a build does not
// need: files, network, other processes, root's rights, and unlimited memory and time.
package sandbox

// Limits are the resources that a process may use.
type Limits struct {
	Memory  int64 // bytes
	Seconds int64 // of processor time
}
