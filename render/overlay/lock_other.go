//go:build !linux

package overlay

// lockIn has nothing to lock with here: the gate, the empty environment and the parent's bounds stand alone.
func lockIn(hello) (filtered bool, err error) { return false, nil }
