//go:build !race

package sandbox

const overhead = 1
