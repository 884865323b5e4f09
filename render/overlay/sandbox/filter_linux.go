package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Offsets into struct seccomp_data; arguments are 64 bits wide, and the lower half stands first on a little-endian machine.
const (
	dataCall     = 0
	dataArch     = 4
	dataArgument = 16
	dataSecond   = 24
)

// filter is the program that filters the system calls of a child: those in allowedCalls pass, all others fail with EPERM,
// which Go's runtime survives. It is empty if the architecture is unknown.
func filter(self int) []unix.SockFilter {
	arch, calls := machine(), allowedCalls()
	if arch == 0 {
		return nil
	}
	p := []unix.SockFilter{
		load(dataArch),
		equal(arch, 1, 0),
		result(unix.SECCOMP_RET_KILL_PROCESS), // the numbers would mean other calls
		load(dataCall),
	}
	// A new thread is allowed, a new process is not; the flags of clone3 are in memory, which a filter cannot read.
	p = append(p,
		equal(unix.SYS_CLONE3, 0, 1), result(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)),
		equal(unix.SYS_CLONE, 0, 4), load(dataArgument), anyBit(unix.CLONE_THREAD, 0, 1), result(unix.SECCOMP_RET_ALLOW), deny(),
		// The runtime signals its own threads to preempt them; signals to other processes are denied.
		equal(unix.SYS_TGKILL, 0, 4), load(dataArgument), equal(uint32(self), 0, 1), result(unix.SECCOMP_RET_ALLOW), deny(),
		// Flags of a descriptor may be read; setting a signal for input is denied.
		equal(unix.SYS_FCNTL, 0, 5), load(dataSecond), equal(unix.F_GETFL, 1, 0), equal(unix.F_GETFD, 0, 1),
		result(unix.SECCOMP_RET_ALLOW), deny(),
	)
	for _, call := range slices.Sorted(slices.Values(calls)) {
		p = append(p, equal(uint32(call), 0, 1), result(unix.SECCOMP_RET_ALLOW))
	}
	return append(p, deny())
}

// allowedCalls are the system calls of Go's runtime while it computes, reads stdin and writes stdout. None opens a file or a
// connection, starts a process, or signals one. (A call of the x32 ABI has a bit in its number that none of these has.)
func allowedCalls() []uintptr {
	return append(machineAllowed(),
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_PREAD64,
		unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MREMAP, unix.SYS_BRK, unix.SYS_MINCORE,
		unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
		unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY, unix.SYS_RESTART_SYSCALL,
		unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIPE2,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRANDOM, unix.SYS_SETITIMER,
		unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE,
		unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	)
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// equal and anyBit are conditional jumps: they skip yes or no instructions.
func equal(k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

func anyBit(k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

func result(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }

func deny() unix.SockFilter { return result(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)) }
