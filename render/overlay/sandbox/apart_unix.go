//go:build unix

package sandbox

import (
	"os"
	"syscall"
)

// Apart keeps a Ctrl-C in the terminal from the child: the parent ends it, and knows why.
func Apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Killed reports whether a process that has ended was ended by SIGKILL.
func Killed(p *os.ProcessState) bool {
	if p == nil {
		return false
	}
	status, ok := p.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
