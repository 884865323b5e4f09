//go:build !unix

package sandbox

import (
	"os"
	"syscall"
)

// Apart has nothing to set here.
func Apart() *syscall.SysProcAttr { return nil }

// Killed cannot be known here.
func Killed(*os.ProcessState) bool { return false }
