//go:build unix

package overlay

import (
	"os"
	"syscall"
)

// apart keeps a Ctrl-C in the terminal from the child: the parent ends it, and knows why.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killed says that a process that has ended was ended by SIGKILL.
func killed(p *os.ProcessState) bool {
	if p == nil {
		return false
	}
	status, ok := p.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
