//go:build !linux

package sandbox

// Enter has nothing to take here: what is built is judged before, the environment is empty, and the parent has limits of its own.
func Enter(Limits) (filtered bool, err error) { return false, nil }
