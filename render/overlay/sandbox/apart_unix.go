//go:build unix

package sandbox

import (
	"os"
	"syscall"
)

// Apart puts the child into its own process group, so that a Ctrl-C in the terminal does not reach it: the parent ends it.
func Apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Killed reports whether SIGKILL ended a process.
func Killed(p *os.ProcessState) bool {
	if p == nil {
		return false
	}
	status, ok := p.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
