package leaks

import (
	"testing"
	"time"
)

// What ends late is waited for, for longer than goleak does, and what has no end is told.
func TestLeft(t *testing.T) {
	late := make(chan struct{})
	go func() { <-late }()
	if err := within(0, nil); err == nil {
		t.Error("a goroutine that waits is not told")
	}
	time.AfterFunc(time.Second, func() { close(late) })
	if err := Left(); err != nil {
		t.Error(err)
	}
}
