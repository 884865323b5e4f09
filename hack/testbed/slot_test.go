package testbed

import "testing"

// So many control planes may start as there are places, and another one once a place is given back.
func TestFreeSlot(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	first, err := freeSlot(2)
	if err != nil || first == nil {
		t.Fatalf("the first place: %v, %v", first, err)
	}
	second, err := freeSlot(2)
	if err != nil || second == nil {
		t.Fatalf("the second place: %v, %v", second, err)
	}
	defer func() { _ = second.Close() }()
	if third, err := freeSlot(2); err != nil || third != nil {
		t.Fatalf("a third place: %v, %v", third, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := freeSlot(2)
	if err != nil || again == nil {
		t.Fatalf("the place that was given back: %v, %v", again, err)
	}
	_ = again.Close()
}
