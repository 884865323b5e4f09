//go:build !race

package overlay

const overhead = 1
