package sandbox

import "golang.org/x/sys/unix"

func machine() uint32 { return unix.AUDIT_ARCH_X86_64 }

func machineAllowed() []uintptr { return []uintptr{unix.SYS_ARCH_PRCTL, unix.SYS_EPOLL_WAIT} }
