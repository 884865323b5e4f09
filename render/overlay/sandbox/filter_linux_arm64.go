package sandbox

import "golang.org/x/sys/unix"

func machine() uint32 { return unix.AUDIT_ARCH_AARCH64 }

func machineAllowed() []uintptr { return nil }
