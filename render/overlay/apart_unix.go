//go:build unix

package overlay

import "syscall"

// apart keeps a Ctrl-C in the terminal from the child: the parent ends it, and knows why.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
