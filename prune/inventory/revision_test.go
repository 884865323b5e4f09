package inventory

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// The record carries revisions beside clusters. One of an earlier release has none.
func TestRecordRevision(t *testing.T) {
	at := time.Date(2026, 11, 25, 4, 30, 0, 700, time.UTC)
	want := Revision{
		Applied: "c1", Observed: "c2", Why: object.Because(reason.InvalidDeclarations, "fleet.yaml:3:1: unknown field"), Links: 2, Suspended: []api.ClusterName{"north"},
		SuspendedLinks: []api.Pair{{Source: "west", Target: "east"}},
	}.Recorded("pod-1", at)
	if want.IsZero() || want.Since.Nanosecond() != 0 || want.By != "pod-1" {
		t.Errorf("noted: %+v", want)
	}
	o, err := Record{Revision: want}.Object(owner, "here")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadRecord(o.Key, holding(o.Key, object.Written(o), o.Body))
	if diff := cmp.Diff(want, got.Revision); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
	if o, err = (Record{}).Object(owner, "here"); err != nil || strings.Contains(string(o.Body.Bytes()), "revision") {
		t.Errorf("without one: %v %s", err, o.Body.Bytes())
	}
}

// Times and who writes are no news, nor are the words of errors that change from one try to the next.
func TestRevisionStands(t *testing.T) {
	invalid := func(m string) *object.Reason { return object.Because(reason.InvalidDeclarations, "%s", m) }
	one := Revision{Applied: "a", Observed: "b", Why: invalid("x"), Links: 1}.Recorded("p", time.Unix(1, 0))
	for name, tt := range map[string]struct {
		change func(*Revision)
		stands bool
	}{
		"moment, process":  {func(r *Revision) { r.By, r.Since = "q", time.Unix(2, 0) }, true},
		"applied":          {func(r *Revision) { r.Applied = "b" }, false},
		"observed":         {func(r *Revision) { r.Observed = "c" }, false},
		"no reason":        {func(r *Revision) { r.Why = nil }, false},
		"another code":     {func(r *Revision) { r.Why = object.Because(reason.RevisionNotRead, "x") }, false},
		"another error":    {func(r *Revision) { r.Why = invalid("y") }, false},
		"links":            {func(r *Revision) { r.Links = 2 }, false},
		"suspended":        {func(r *Revision) { r.Suspended = []api.ClusterName{"east"} }, false},
		"a suspended link": {func(r *Revision) { r.SuspendedLinks = []api.Pair{{Source: "west", Target: "east"}} }, false},
	} {
		next := one
		if tt.change(&next); one.SameState(next) != tt.stands || next.SameState(one) != tt.stands {
			t.Errorf("%s: stands %t", name, !tt.stands)
		}
	}
	a, b := Revision{Why: object.Because(reason.RepositoryNotRead, "at 1")}, Revision{Why: object.Because(reason.RepositoryNotRead, "at 2")}
	if !a.SameState(b) || !(Revision{}).SameState(Revision{}) {
		t.Error("an outage is one, whatever its words")
	}
}

// A message is one line of bounded length, and never cuts a character.
func TestRevisionMessage(t *testing.T) {
	for _, text := range []string{strings.Repeat("ä", 600), "x" + strings.Repeat("ä", 600), "a\n\tb \xff", strings.Repeat("long ", 300)} {
		got := Revision{Why: object.Because("X", "%s", text)}.Recorded("p", time.Unix(1, 0)).Why.Message
		if len(got) > maxWhyLength || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\t") {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
}

// The applied revision keeps its time when another one is observed.
func TestRevisionReplacing(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 29, 12, minute, 0, 0, time.UTC) }
	first := Revision{Applied: "a", Observed: "a"}.Recorded("p", at(1)).Replacing(Revision{})
	rejected := Revision{Applied: "a", Observed: "b", Why: object.Because(reason.InvalidDeclarations, "x")}.Recorded("p", at(2)).Replacing(first)
	next := Revision{Applied: "c", Observed: "c"}.Recorded("p", at(3)).Replacing(rejected)
	plain := Revision{Observed: "c"}.Recorded("p", at(4)).Replacing(next)
	for what, tt := range map[string]struct{ got, want time.Time }{
		"the first": {first.AppliedSince, at(1)}, "while another is observed": {rejected.AppliedSince, at(1)},
		"the next": {next.AppliedSince, at(3)}, "none": {plain.AppliedSince, time.Time{}},
	} {
		if !tt.got.Equal(tt.want) {
			t.Errorf("%s: since %s, want %s", what, tt.got, tt.want)
		}
	}
}
