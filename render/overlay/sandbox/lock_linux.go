package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Enter irrevocably removes from this process all that a build does not need. It reports whether the kernel filters system
// calls: an older kernel, or one built without seccomp, does not, and then only the other limits apply.
func Enter(l Limits) (filtered bool, err error) {
	preferOOMKill()
	if err := closeInherited(); err != nil {
		return false, err
	}
	if err := dropRoot(); err != nil {
		return false, err
	}
	if err := setLimits(l); err != nil {
		return false, err
	}
	runtime.LockOSThread() // both calls are about a thread; the second one takes all others along
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return false, fmt.Errorf("forbid new privileges: %w", err)
	}
	program := filter(unix.Getpid())
	if len(program) == 0 {
		return false, nil
	}
	return installFilter(program)
}

// preferOOMKill makes the kernel kill this process before its parent when memory runs out, if it can.
func preferOOMKill() { _ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600) }

// closeInherited closes inherited files other than the standard ones. Files of its own runtime are marked close-on-exec, and inherited
// ones are not.
func closeInherited() error {
	const standard = 2
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("list open files: %w", err)
	}
	for _, f := range files {
		fd, err := strconv.Atoi(f.Name())
		if err != nil {
			return fmt.Errorf("list open files: %w", err)
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if gone := err != nil; gone || fd <= standard || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		if err := unix.Close(fd); err != nil {
			return fmt.Errorf("close file %d: %w", fd, err)
		}
	}
	return nil
}

// nobody is the user and the group without rights (Linux, Documentation/admin-guide/sysctl/fs.rst, overflowuid).
const nobody = 65534

// dropRoot changes the user of a process from root to nobody, which drops all its capabilities (capabilities(7)). It does nothing if
// that is not permitted, or if the user namespace has no nobody: the other limits apply.
func dropRoot() error {
	if os.Geteuid() != 0 {
		return nil
	}
	err := errors.Join(syscall.Setgroups(nil), syscall.Setresgid(nobody, nobody, nobody), syscall.Setresuid(nobody, nobody, nobody))
	if err == nil || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return fmt.Errorf("drop root's privileges: %w", err)
}

// setLimits sets resource limits that the process cannot raise again.
func setLimits(to Limits) error {
	const files = 16 // standard ones, and what the runtime of Go holds open
	memory, cpu := uint64(max(to.Memory, 0)), uint64(max(to.Seconds, 1))
	for _, l := range []struct {
		name     string
		resource int
		limit    uint64
	}{
		{"memory", unix.RLIMIT_DATA, overhead * (memory + 128<<20)}, // the runtime takes 64 MiB at once; the watch is more exact
		{"processor time", unix.RLIMIT_CPU, cpu},
		{"open files", unix.RLIMIT_NOFILE, files},
		{"size of files", unix.RLIMIT_FSIZE, 0},
		{"core dump", unix.RLIMIT_CORE, 0},
	} {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.limit, Max: l.limit}); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
	}
	return nil
}

// installFilter installs the system call filter for all threads, or for none.
func installFilter(program []unix.SockFilter) (bool, error) {
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&p)))
	runtime.KeepAlive(program)
	switch {
	case errno == unix.ENOSYS, errno == unix.EINVAL:
		return false, nil
	case errno != 0:
		return false, fmt.Errorf("filter system calls: %w", errno)
	case thread != 0:
		return false, errors.New("filter system calls: a thread has a filter of its own")
	}
	return true, nil
}
