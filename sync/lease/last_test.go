package lease

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What no sync of linkwright wrote tells of none.
func TestLastSyncReads(t *testing.T) {
	at := time.Date(2026, 11, 25, 4, 30, 0, 0, time.UTC)
	for text, want := range map[string]Last{
		"2026-11-25T04:30:00Z pod-1_7": {"pod-1_7", at}, "": {}, "2026-11-25T04:30:00Z": {}, "2026-11-25T04:30:00Z ": {}, "yesterday pod": {},
	} {
		got, ok := LastSync(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{lastSyncKey: text}}})
		if ok != (want.By != "") || ok && got != want {
			t.Errorf("%q: %+v, %t", text, got, ok)
		}
	}
}

// TestLastSync: a lease keeps whose the last sync was and when it ended, also after commands that take it for something else.
func TestLastSync(t *testing.T) {
	admin, ns := home(t)
	note := func(context.Context, int64) error { return nil }
	sync, other := start(t, ns, "x").Lock, start(t, ns, "y").Lock
	sync.Syncs = true
	before := time.Now().Truncate(time.Second)
	for _, l := range []Lock{sync, other} {
		if err := l.Once(t.Context(), note); err != nil {
			t.Fatal(err)
		}
	}
	last, ok := LastSync(read(t, admin, ns))
	if !ok || last.By != sync.Identity || last.At.Before(before) || last.At.After(time.Now()) {
		t.Errorf("the last sync: %+v, %t", last, ok)
	}
}
