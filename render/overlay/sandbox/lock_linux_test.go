package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// probeChild has this program try what a process must not do any more.
const probeChild = "probe"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == probeChild {
		os.Exit(probe())
	}
	os.Exit(m.Run())
}

// probes are what a locked process must not be able to do; each gives the error that it met.
func probes() map[string]func() error {
	raw := func(call uintptr, args ...uintptr) func() error {
		return func() error {
			a := append(args, 0, 0, 0)
			if _, _, errno := unix.RawSyscall(call, a[0], a[1], a[2]); errno != 0 {
				return errno
			}
			return nil
		}
	}
	return map[string]func() error{
		"open":       func() error { _, err := os.Open("/dev/null"); return err },
		"create":     func() error { return os.WriteFile("/tmp/linkwright-probe", nil, 0o600) },
		"stat":       func() error { _, err := os.Stat("/"); return err },
		"remove":     func() error { return unix.Unlink("/tmp/linkwright-probe") },
		"rename":     func() error { return unix.Rename("/tmp/linkwright-probe", "/tmp/linkwright-probe-2") },
		"dial":       func() error { _, err := net.DialTimeout("tcp", "127.0.0.1:1", time.Second); return err },
		"socket":     raw(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM),
		"netlink":    raw(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW),
		"start":      func() error { _, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{}); return err },
		"exec":       func() error { return unix.Exec("/proc/self/exe", []string{"x"}, nil) },
		"signal":     raw(unix.SYS_KILL, uintptr(os.Getppid())),
		"tgkill":     raw(unix.SYS_TGKILL, uintptr(os.Getppid()), uintptr(os.Getppid())),
		"ptrace":     raw(unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(os.Getppid())),
		"owner":      raw(unix.SYS_FCNTL, 1, unix.F_SETOWN, uintptr(os.Getppid())),
		"async":      raw(unix.SYS_FCNTL, 1, unix.F_SETFL, unix.O_ASYNC),
		"set signal": raw(unix.SYS_FCNTL, 1, unix.F_SETSIG, uintptr(unix.SIGKILL)),
		"io_uring":   raw(unix.SYS_IO_URING_SETUP, 1),
		"mount":      raw(unix.SYS_MOUNT),
		"memfd":      raw(unix.SYS_MEMFD_CREATE),
		"bpf":        raw(unix.SYS_BPF),
		"prctl":      raw(unix.SYS_PRCTL, unix.PR_GET_DUMPABLE),
		"limits":     raw(unix.SYS_PRLIMIT64),
		"namespace":  raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER),
		"fork":       raw(unix.SYS_CLONE, uintptr(unix.SIGCHLD)),
		"clone3":     raw(unix.SYS_CLONE3),
		"x32":        raw(0x40000000),
	}
}

// probe locks itself in and says what it could still do: on a thread that was there before, and on one that came later.
func probe() int {
	early, late := make(chan func()), make(chan func())
	onThread := func(work chan func()) {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}
	go onThread(early)
	early <- func() {}
	locked, err := Enter(Limits{Memory: 256 << 20, Seconds: 60})
	if err != nil || !locked {
		fmt.Printf("{}")
		return 0
	}
	go onThread(late)
	out := map[string][]string{}
	for name, try := range probes() {
		for _, thread := range []chan func(){early, late} {
			done := make(chan error)
			thread <- func() { done <- try() }
			var errno unix.Errno
			errors.As(<-done, &errno)
			out[name] = append(out[name], unix.ErrnoName(errno))
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(out)
	return 0
}

func TestLock(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := exec.CommandContext(t.Context(), self, probeChild).Output()
	if err != nil {
		t.Fatalf("probe: %v\n%s", err, text)
	}
	var got map[string][]string
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("probe: %v\n%s", err, text)
	}
	if len(got) == 0 {
		t.Skip("this kernel filters no system calls")
	}
	for name := range probes() {
		want := "EPERM"
		if name == "clone3" {
			want = "ENOSYS" // the runtime then takes clone
		}
		if diff := cmp.Diff([]string{want, want}, got[name]); diff != "" {
			t.Errorf("probe %s: -want +got\n%s", name, diff)
		}
	}
}
