package overlay

import (
	"sync"
	"testing"
)

// BenchmarkStart is a process that is started, its first job, and its end.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		c := New(Options{Children: 1})
		if _, err := c.build(b.Context(), smallJob()); err != nil {
			b.Fatal(err)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWarm is one more job for a child that has worked before.
func BenchmarkWarm(b *testing.B) {
	c := New(Options{Children: 1})
	defer func() { _ = c.Close() }()
	for b.Loop() {
		if _, err := c.build(b.Context(), smallJob()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTwenty is twenty small jobs at once, with the start and the end of the processes.
func BenchmarkTwenty(b *testing.B) {
	for b.Loop() {
		c := New(Options{})
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := c.build(b.Context(), smallJob()); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
