package linkerd

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// The live mark and what is to be there give the next mark; what comes back to a former value changed all the same.
func TestNextMark(t *testing.T) {
	for _, tt := range []struct{ live, print, want string }{
		{"", "a", "a.0"},
		{"a.0", "a", "a.0"},
		{"a.0", "b", "b.1"},
		{"b.1", "b", "b.1"},
		{"b.1", "a", "a.2"},
		{Foreign, "a", "a.1"},
		{"a", "a", "a.0"},
		{"a.-1", "b", "b.0"},
		{"a.b.c", "b", "b.0"},
	} {
		got := NextMark(tt.live, tt.print)
		if got != tt.want {
			t.Errorf("Remarked(%q, %q) = %q, want %q", tt.live, tt.print, got, tt.want)
		}
		if again := NextMark(got, tt.print); again != got {
			t.Errorf("Remarked(%q, %q) = %q: it moves on by itself", got, tt.print, again)
		}
		if ChangedInPlace(got) != (got[len(got)-1] != '0') {
			t.Errorf("ChangedInPlace(%q) = %t", got, ChangedInPlace(got))
		}
	}
}

// What is written is read again, and by its own installation alone.
func TestLoadedCredentials(t *testing.T) {
	l := api.Cluster{}.WithDefaults().Linkerd
	told := Loaded{At: time.Unix(1_800_000_000, 0).UTC(), Marks: []string{"a.1", "b.3"}}
	part := told.Part(object.DefaultOwner, l)
	const want = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"linkerd-destination","namespace":"linkerd"},` +
		`"spec":{"template":{"metadata":{"annotations":{"linkwright.dev/credentials":"2027-01-15T08:00:00Z a.1,b.3"}}}}}`
	if diff := cmp.Diff(want, string(part.Body.Bytes())); diff != "" {
		t.Errorf("Part: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(told, LoadedOf(object.DefaultOwner, part.Body)); diff != "" {
		t.Errorf("ToldOf: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(Loaded{}, LoadedOf("blue", part.Body)); diff != "" {
		t.Errorf("another installation reads it: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(told, LoadedOf("blue", told.Part("blue", l).Body)); diff != "" {
		t.Errorf("another installation's own: -want +got\n%s", diff)
	}
	for _, text := range []string{"", "{", `{"spec":{"template":{"metadata":{"annotations":{"linkwright.dev/credentials":"soon a.1"}}}}}`} {
		if diff := cmp.Diff(Loaded{}, LoadedOf(object.DefaultOwner, object.NewBody([]byte(text)))); diff != "" {
			t.Errorf("ToldOf(%s): -want +got\n%s", text, diff)
		}
	}
	if diff := cmp.Diff([]string{"b.4"}, told.NotLoaded([]string{"a.1", "b.4"})); diff != "" {
		t.Errorf("Lacks: -want +got\n%s", diff)
	}
}
