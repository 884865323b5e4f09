//go:build unix

package source

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

var errLocked = errors.New("another process uses it")

// tryLock holds a file, and follows no link to one, until it is closed, or this process ends, however it does.
func tryLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, &os.PathError{Op: "lock", Path: name, Err: err}
}

// ownedByUs reports whether a file belongs to whom we run as.
func ownedByUs(info os.FileInfo) bool {
	at, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(at.Uid) == int64(os.Geteuid())
}
