//go:build !race

package fleet

// raced says that this is built with the race detector.
const raced = false
