package inventory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// An approval that was edited badly costs neither the record nor the others: nothing follows from it, and it is kept as it stands.
func TestMalformedApprovals(t *testing.T) {
	units := []Unit{{Kind: UnitCluster, Cluster: "east"}}
	good := fmt.Sprintf(`{"hash":%q,"units":[{"kind":"cluster","cluster":"east"}],"by":"ann","at":"2026-11-25T01:02:03Z"}`, HashOf(units))
	strange := []Unit{{Kind: "everything", Cluster: "east"}}
	nameless := []Unit{{Kind: UnitLink, Source: "west"}}
	for name, bad := range map[string]string{
		"a number":       `5`,
		"null":           `null`,
		"a wrong type":   strings.Replace(good, `"ann"`, `5`, 1),
		"units of text":  strings.Replace(good, `[{"kind":"cluster","cluster":"east"}]`, `"east"`, 1),
		"no units":       fmt.Sprintf(`{"hash":%q,"units":[],"at":"2026-11-25T01:02:03Z"}`, HashOf(nil)),
		"unknown kind":   fmt.Sprintf(`{"hash":%q,"units":[{"kind":"everything","cluster":"east"}],"at":"2026-11-25T01:02:03Z"}`, HashOf(strange)),
		"half a link":    fmt.Sprintf(`{"hash":%q,"units":[{"kind":"link","source":"west"}],"at":"2026-11-25T01:02:03Z"}`, HashOf(nameless)),
		"no time":        strings.Replace(good, `,"at":"2026-11-25T01:02:03Z"`, "", 1),
		"no moment":      strings.Replace(good, `2026-11-25T01:02:03Z`, "yesterday", 1),
		"another hash":   strings.Replace(good, HashOf(units), "0123456789ab", 1),
		"other units":    strings.Replace(good, `"cluster":"east"`, `"cluster":"west"`, 1),
		"a strange word": strings.Replace(good, `"by"`, `"until":"never","by"`, 1),
	} {
		key := RecordKey(owner, "here")
		body := wrap(t, fleetKey, `{"version":1,"clusters":{"east":{"uid":"1"}},"approvals":[`+bad+`,`+good+`]}`)
		got, err := ReadRecord(key, recordOf(key, object.Ours, body))
		if err != nil || len(got.Clusters) != 1 || len(got.Approvals) != 1 || got.Approvals[0].By != "ann" || !cmp.Equal(got.Unread, []string{bad}) {
			t.Errorf("%s: %v, approvals %v, not understood %v", name, err, got.Approvals, got.Unread)
			continue
		}
		o, err := got.Object(owner, "here")
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadRecord(key, recordOf(key, object.Ours, o.Body.Bytes()))
		if diff := cmp.Diff([]any{got.Approvals, got.Unread}, []any{again.Approvals, again.Unread}); err != nil || diff != "" {
			t.Errorf("%s, written again: %v, -first +again\n%s", name, err, diff)
		}
	}
}

// What should be a list of approvals, and is none, is one that nobody understands.
func TestApprovalsThatAreNoList(t *testing.T) {
	for _, bad := range []string{`5`, `"all"`, `{"hash":"0123456789ab"}`} {
		key := RecordKey(owner, "here")
		got, err := ReadRecord(key, recordOf(key, object.Ours, wrap(t, fleetKey, `{"version":1,"approvals":`+bad+`}`)))
		if err != nil || len(got.Approvals) > 0 || !cmp.Equal(got.Unread, []string{bad}) {
			t.Errorf("%s: %v, approvals %v, not understood %v", bad, err, got.Approvals, got.Unread)
		}
	}
}

// Limits and a denial that were edited badly cost nothing else of the record, and let nothing more go: the strictest count instead, also once
// the record is written again.
func TestMalformedBounds(t *testing.T) {
	const limits = `{"commit":"c","declared":{"maxClusters":1},"former":{"maxClusters":1}}`
	units := []Unit{{Kind: UnitCluster, Cluster: "east"}}
	denied := fmt.Sprintf(`{"hash":%q,"units":[{"kind":"cluster","cluster":"east"}],"over":["1 cluster"]}`, HashOf(units))
	for name, tt := range map[string]struct {
		limits, denied string
		misread        []string
		units          []Unit // that are denied
	}{
		"limits of text":        {`"none"`, denied, []string{`limits: "none"`}, units},
		"a limit of text":       {`{"declared":{"maxClusters":"9"}}`, `null`, []string{`limits: {"declared":{"maxClusters":"9"}}`}, nil},
		"a list of denials":     {limits, `[` + denied + `]`, []string{`denied: [` + denied + `]`}, nil},
		"a denial without list": {limits, `{"hash":"0","units":"east"}`, []string{`denied: {"hash":"0","units":"east"}`}, nil},
		"both":                  {`5`, `true`, []string{`denied: true`, `limits: 5`}, nil},
	} {
		key := RecordKey(owner, "here")
		body := wrap(t, fleetKey, `{"version":1,"clusters":{"east":{"uid":"1"}},"limits":`+tt.limits+`,"denied":`+tt.denied+`}`)
		got, err := ReadRecord(key, recordOf(key, object.Ours, body))
		if err != nil || len(got.Clusters) != 1 || !cmp.Equal(got.Unreadable, tt.misread) || got.Denied == nil || !cmp.Equal(got.Denied.Units, tt.units) {
			t.Errorf("%s: %v, misread %q, denied %v", name, err, got.Unreadable, got.Denied)
			continue
		}
		if got := got.Limits.Applicable("next", api.PruneLimits{MaxClusters: 9, MaxLinks: 90, MaxMirrors: 90}); got != (api.PruneLimits{}) {
			t.Errorf("%s: judged by %+v", name, got)
		}
		o, err := got.Object(owner, "here")
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadRecord(key, recordOf(key, object.Ours, o.Body.Bytes()))
		if diff := cmp.Diff([]any{got.Limits, got.Denied}, []any{again.Limits, again.Denied}); err != nil || diff != "" || len(again.Unreadable) > 0 {
			t.Errorf("%s, written again: %v, -first +again\n%s", name, err, diff)
		}
	}
}

// A denial of which nobody knows what it was about is one of anything.
func TestDenialOfAnything(t *testing.T) {
	east, west := Unit{Kind: UnitCluster, Cluster: "east"}, Unit{Kind: UnitCluster, Cluster: "west"}
	for _, tt := range []struct {
		denied []Unit
		going  map[Unit]bool
		want   bool
	}{
		{nil, map[Unit]bool{east: true}, true},
		{nil, nil, false},
		{[]Unit{west}, map[Unit]bool{east: true}, false},
		{[]Unit{east}, map[Unit]bool{east: true}, true},
	} {
		if got := (Denial{Units: tt.denied}).Has(tt.going); got != tt.want {
			t.Errorf("denied %v, going %v: %t", tt.denied, tt.going, got)
		}
	}
	if said := (Denial{}).Why(object.Installation{}).Message; !strings.Contains(said, "no longer has what was denied") {
		t.Error(said)
	}
}
