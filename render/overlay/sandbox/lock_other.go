//go:build !linux

package sandbox

// Enter does nothing on this system: input is validated before, the environment is empty, and the parent limits time and memory.
func Enter(Limits) (filtered bool, err error) { return false, nil }
