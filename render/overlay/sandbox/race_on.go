//go:build race

package sandbox

// overhead is by how much more memory the race detector has a program take.
const overhead = 8
