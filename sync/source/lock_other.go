//go:build !unix

package source

import (
	"errors"
	"os"
)

var errLocked = errors.New("another process may use it")

// tryLock cannot tell here who else uses a file: every process takes a temporary directory of its own.
func tryLock(string) (*os.File, error) { return nil, errLocked }

// ownedByUs cannot be told here; the directory is linkwright's own.
func ownedByUs(os.FileInfo) bool { return true }
