package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// slotTimeout is how long a control plane may wait for its place: many may be before it.
const slotTimeout = 15 * time.Minute

// startSlot waits until fewer than two control planes for each processor start on this machine, in all tests of a user together, and returns
// what gives the place back. If dozens start together, all become slow, and some give up. Outside of tests there is no limit.
func startSlot(ctx context.Context) (done func(), err error) {
	if !testing.Testing() {
		return func() {}, nil
	}
	var slot *os.File
	err = Eventually(ctx, slotTimeout, func(context.Context) (bool, error) {
		slot, err = freeSlot(2 * runtime.NumCPU())
		return slot != nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("wait until other control planes have started: %w", err)
	}
	return func() { _ = slot.Close() }, nil
}

// freeSlot locks one of so many files, and returns nil if all are locked. The lock ends with the file, also if this process is killed.
func freeSlot(slots int) (*os.File, error) {
	for i := range slots {
		file, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("linkwright-testbed-start-%d-%d.lock", os.Getuid(), i)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:gosec // a file descriptor is small
		if err == nil {
			return file, nil
		}
		_ = file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, err
		}
	}
	return nil, nil
}
