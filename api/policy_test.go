package api

import (
	"testing"
	"time"
)

func TestEvery(t *testing.T) {
	for _, c := range []struct {
		in   SyncPolicy
		want time.Duration
		ok   bool
	}{
		{SyncPolicy{}, time.Minute, true},
		{SyncPolicy{}.WithDefaults(), DefaultInterval, true},
		{SyncPolicy{Interval: "30s"}, 30 * time.Second, true},
		{SyncPolicy{Interval: "never"}, time.Minute, true},
		{SyncPolicy{Interval: "-1s"}, time.Minute, true},
		{SyncPolicy{Schedule: "* * * * *"}, 0, false},
	} {
		if got, ok := c.in.Every(); got != c.want || ok != c.ok {
			t.Errorf("Every(%v) = %v, %v, want %v, %v", c.in, got, ok, c.want, c.ok)
		}
	}
}

func TestNext(t *testing.T) {
	now := time.Date(2026, 3, 28, 23, 59, 30, 0, time.FixedZone("", 3600)) // 22:59:30 UTC, hours before Berlin's clocks change
	for _, c := range []struct {
		in   SyncPolicy
		want string
	}{
		{SyncPolicy{}, "2026-03-28T23:00:30Z"},
		{SyncPolicy{Interval: "10s"}, "2026-03-28T22:59:40Z"},
		{SyncPolicy{Schedule: "*/5 * * * *"}, "2026-03-28T23:00:00Z"},
		{SyncPolicy{Schedule: "30 6 * * *"}, "2026-03-29T06:30:00Z"},
		{SyncPolicy{Schedule: "CRON_TZ=Europe/Berlin 30 6 * * *"}, "2026-03-29T04:30:00Z"},
		{SyncPolicy{Schedule: "CRON_TZ=UTC"}, "2026-03-28T23:00:30Z"},
		{SyncPolicy{Schedule: "0 0 30 2 *"}, "2026-03-28T23:00:30Z"},
	} {
		if got := c.in.Next(now).UTC().Format(time.RFC3339); got != c.want {
			t.Errorf("Next(%v) = %s, want %s", c.in, got, c.want)
		}
	}
}

// Any text of a schedule is refused or has a next time; the parser panics on some, if asked directly.
func FuzzSchedule(f *testing.F) {
	for _, s := range []string{"*/5 * * * *", "CRON_TZ=UTC", "TZ= ", "CRON_TZ=Europe/Berlin 0 0 1 1 *", "@hourly", "60 * * * *", "0-59/0 * * * *"} {
		f.Add(s)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, schedule string) {
		p := SyncPolicy{Schedule: schedule}
		SyncPolicyDoc{Spec: p}.Check()
		if next := p.Next(now); !next.After(now) {
			t.Errorf("Next(%q) = %v", schedule, next)
		}
	})
}

// Only what is no time at all is answered as if it were not declared.
func TestDeadline(t *testing.T) {
	for declared, want := range map[string]time.Duration{
		"": DefaultDrainDeadline, "never": DefaultDrainDeadline, "-1s": DefaultDrainDeadline, "0s": 0, "0": 0, "90s": 90 * time.Second,
	} {
		if got := (Prune{DrainDeadline: declared}).Deadline(); got != want {
			t.Errorf("Deadline(%q): %s, want %s", declared, got, want)
		}
	}
	for declared, want := range map[string]int{"": 0, "0s": 0, "90s": 0, "24h": 0, "24h1s": 1, "-1s": 1, "never": 1} {
		if found := (SyncPolicyDoc{Spec: SyncPolicy{Prune: Prune{DrainDeadline: declared}}}).Check(); len(found) != want {
			t.Errorf("Check(%q): %v", declared, found)
		}
	}
}
