package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

// ends makes a report of one link from its rows; a nil row is an end of which a ready cluster does not tell.
func ends(source, target *plan.Row) Report {
	p := link("west", "east")
	r := Report{}
	for _, end := range []struct {
		of  object.End
		row *plan.Row
	}{{at("east", p), target}, {at("west", p), source}} {
		s := step(end.of.Cluster)
		if end.row != nil {
			end.row.End = end.of
			s.Rows = append(s.Rows, *end.row)
		}
		r.Clusters = append(r.Clusters, Cluster{Name: end.of.Cluster, Step: s})
	}
	return r
}

func TestLinkStandsAsItsWorseEnd(t *testing.T) {
	because := object.Because("Why", "it")
	for what, c := range map[string]struct {
		source, target *plan.Row
		want           plan.Phase
		status         Status
		why            *object.Reason
	}{
		"both in place":         {&plan.Row{Phase: plan.Ready}, &plan.Row{Phase: plan.Ready}, plan.Ready, Ready, nil},
		"the target changes":    {&plan.Row{Phase: plan.Ready}, &plan.Row{Phase: plan.Changing}, plan.Changing, Progressing, nil},
		"the source is held":    {&plan.Row{Phase: plan.Blocked, Why: because}, &plan.Row{Phase: plan.Waiting}, plan.Blocked, Blocked, because},
		"a reason of either":    {&plan.Row{Phase: plan.Blocked}, &plan.Row{Phase: plan.Blocked, Why: because}, plan.Blocked, Blocked, because},
		"refused is worse":      {&plan.Row{Phase: plan.Blocked}, &plan.Row{Phase: plan.Denied, Why: because}, plan.Denied, Denied, because},
		"an end is not told of": {&plan.Row{Phase: plan.Ready}, nil, Unseen, Unknown, object.Because(reason.Unknown, "cluster east was not read")},
		"leaving":               {&plan.Row{Phase: plan.Waiting, Leaving: true, Why: because}, &plan.Row{Phase: plan.Waiting, Leaving: true}, plan.Waiting, Leaving, because},
		"an end is gone":        {nil, &plan.Row{Phase: plan.Changing, Leaving: true}, plan.Changing, Leaving, nil},
		"a refused removal":     {&plan.Row{Phase: plan.Denied, Leaving: true, Why: because}, nil, plan.Denied, Denied, because},
		"a write of a removal failed, and the other end is denied": {
			&plan.Row{Phase: plan.Changing, Leaving: true, Failed: true, Why: object.Because("X", "x")}, &plan.Row{Phase: plan.Denied, Leaving: true, Why: because}, plan.Denied, Denied, because,
		},
		"denied, and a write failed": {&plan.Row{Phase: plan.Denied, Why: because}, &plan.Row{Phase: plan.Changing, Failed: true, Why: object.Because("X", "x")}, plan.Denied, Denied, because},
		"all but gone":               {nil, &plan.Row{Phase: plan.Removed, Leaving: true}, plan.Removed, Removed, nil},
		"all but released":           {nil, &plan.Row{Phase: plan.Released}, plan.Released, Released, nil},
		"half released":              {&plan.Row{Phase: plan.Changing}, &plan.Row{Phase: plan.Released}, plan.Changing, Progressing, nil},
	} {
		rows := Links(ends(c.source, c.target))
		if len(rows) != 1 {
			t.Fatalf("%s: %d rows", what, len(rows))
		}
		got := rows[0]
		if got.Phase != c.want || got.Status() != c.status {
			t.Errorf("%s: %s, counted as %s; want %s, counted as %s", what, got.Phase, got.Status(), c.want, c.status)
		}
		if diff := cmp.Diff(c.why, got.Why); diff != "" {
			t.Errorf("%s: why: -want +got\n%s", what, diff)
		}
	}
}

// A link whose last end went in this pass has no row any more; what was done for it tells of it.
func TestLinkRemovedInThisPass(t *testing.T) {
	p := link("west", "east")
	r := ends(nil, nil)
	r.Clusters[1].Outcomes = []object.Outcome{wrote(at("west", p), object.Delete, key("Link", "east"), nil)}
	rows := Links(r)
	if len(rows) != 1 || rows[0].Phase != plan.Removed || rows[0].Target.Phase != plan.Removed {
		t.Errorf("Links: %+v, want one link, removed", rows)
	}
	r.Clusters[1].Outcomes[0].Change.Why.Code = reason.Released
	rows = Links(r)
	if len(rows) != 1 || rows[0].Status() != Released || rows[0].Target.Phase != plan.Released || rows[0].Leaving {
		t.Errorf("Links: %+v, want one link, released", rows)
	}
	r.Clusters[1].Outcomes[0].Change.Why.Code = ""
	r.Clusters[1].Step.Denied = object.Because(reason.Unreachable, "now it is down")
	if rows := Links(r); len(rows) != 0 {
		t.Errorf("Links: %+v; a cluster that is down tells nothing of what is gone", rows)
	}
}

// Of an end in a cluster that cannot be read nobody knows, and the row says why.
func TestEndInAnUnreadCluster(t *testing.T) {
	r := ends(&plan.Row{Phase: plan.Changing, Leaving: true}, nil)
	r.Clusters[0].Step.Denied = object.Because(reason.Unreachable, "it is down")
	want := object.Because(reason.Unknown, "cluster east cannot be read (Unreachable), so linkwright does not know what is left there")
	if got := Links(r)[0]; got.Phase != Unseen || cmp.Diff(want, got.Target.Why) != "" {
		t.Errorf("Links: %s, -want +got\n%s", got.Phase, cmp.Diff(want, got.Target.Why))
	}
}

func TestLinksAreSorted(t *testing.T) {
	r := first()
	slices.Reverse(r.Clusters)
	if diff := cmp.Diff(Links(first()), Links(r)); diff != "" {
		t.Errorf("Links depends on the order of clusters: -want +got\n%s", diff)
	}
}

func TestClusterState(t *testing.T) {
	for want, why := range map[Status]*object.Reason{
		Ready: nil, Unknown: object.Because(reason.Unreachable, "down"), Denied: object.Because(reason.DuplicateCluster, "twins"),
	} {
		if got := (Cluster{Name: "a", Step: plan.Step{Cluster: "a", Denied: why}}).Status(); got != want {
			t.Errorf("State(%v): %s, want %s", why, got, want)
		}
	}
	closed := plan.Step{Cluster: "a", Denied: object.Because(reason.AccessInvalid, "Secret east is missing")}
	if got := (Cluster{Name: "a", Step: closed}).Status(); got != Unknown {
		t.Errorf("State of a cluster that cannot be opened: %s", got)
	}
	if got := (Cluster{Name: "a"}).Status(); got != Unknown {
		t.Errorf("State of a cluster that had no turn: %s", got)
	}
}

// The target's end of a link that is being removed waits for the source's, which says what is being done there.
func TestLeavingLinkShowsItsSource(t *testing.T) {
	pair := api.Pair{Source: "west", Target: "east"}
	source := plan.Row{
		End: object.End{Cluster: "west", Link: pair}, Phase: plan.Changing, Leaving: true,
		Why: object.Because(reason.Draining, "2 mirrored Services left"),
	}
	target := plan.Row{
		End: object.End{Cluster: "east", Link: pair}, Phase: plan.Waiting, Leaving: true,
		Why: object.Because(reason.WaitingForSource, "the access of cluster west stays until it has removed its end of the link"),
	}
	ends := map[endOf]plan.Row{{pair, true}: source, {pair, false}: target}
	if got := linkRow(Report{}, pair, ends); got.Why != source.Why {
		t.Errorf("reason %v, want that of the source", got.Why)
	}
	delete(ends, endOf{pair, true})
	if got := linkRow(Report{}, pair, ends); got.Why != target.Why {
		t.Errorf("the source was not read: reason %v, want that of the target", got.Why)
	}
}

// Of a link whose access waits for the source, the report counts what is to be written there: a sync shows why that fails.
func TestLeavingLinkCountsItsSource(t *testing.T) {
	pair := api.Pair{Source: "west", Target: "east"}
	source := plan.Row{End: object.End{Cluster: "west", Link: pair}, Phase: plan.Changing, Leaving: true}
	target := plan.Row{
		End: object.End{Cluster: "east", Link: pair}, Phase: plan.Waiting, Leaving: true,
		Why: object.Because(reason.WaitingForSource, "the access of cluster west stays until it has removed its end of the link"),
	}
	left := []object.Change{{End: source.End, Action: object.Delete}, {End: source.End, Action: object.Delete}}
	r := Report{ReadOnly: true, Clusters: []Cluster{
		{Name: "east", Step: plan.Step{Cluster: "east", Rows: []plan.Row{target}}},
		{Name: "west", Step: plan.Step{Cluster: "west", Rows: []plan.Row{source}, Changes: left}},
	}}
	a, _ := r.LinkAnswer(pair)
	for name, text := range map[string]string{"status": writtenAs(t, r.StatusAnswer(), Text), "describe": writtenAs(t, a, Text)} {
		if !strings.Contains(text, "its removal has not ended; next: 2 changes in west") {
			t.Errorf("%s does not count what is left in the source:\n%s", name, text)
		}
	}
	r.Clusters[1].Step.Changes = nil
	r.Clusters[1].Step.Rows[0].Why = object.Because(reason.Draining, "2 mirrored Services left")
	if text := writtenAs(t, r.StatusAnswer(), Text); !strings.Contains(text, "2 mirrored Services left") {
		t.Errorf("status does not say what the source waits for:\n%s", text)
	}
}
