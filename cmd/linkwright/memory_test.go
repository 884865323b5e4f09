package main

import "testing"

func TestWithoutBuilds(t *testing.T) {
	const mib = 1 << 20
	for limit, want := range map[uint64]uint64{0: 0, 300 * mib: 150 * mib, 1024 * mib: 512 * mib, 4096 * mib: 3584 * mib} {
		if got := withoutBuilds(limit); got != want {
			t.Errorf("withoutBuilds(%d) = %d, want %d", limit, got, want)
		}
	}
}
