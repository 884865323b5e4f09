//go:build !unix

package overlay

import "syscall"

// apart has nothing to set here.
func apart() *syscall.SysProcAttr { return nil }
