//go:build !unix

package overlay

import (
	"os"
	"syscall"
)

// apart has nothing to set here.
func apart() *syscall.SysProcAttr { return nil }

// killed cannot be known here.
func killed(*os.ProcessState) bool { return false }
